"""tensors.py: tensors become arguments without copies; what does not fit is a sentence."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from labkit.gpu.training import tensors
from labkit.gpu.training.tensors import as_argument, fit, flat, launch, launches, ready
from numba_simt import cuda as simt


@simt.jit
def add(x, number, y):
    i = simt.grid(1)
    if i < x.size:
        y[i] = x[i] + number


@pytest.fixture(autouse=True)
def on_the_simt_machine(monkeypatch):
    monkeypatch.setattr(tensors, "cuda", simt)
    launches.clear()
    yield
    launches.clear()


def test_a_launch_is_counted_under_its_layer():
    x, y = torch.arange(5.0), torch.empty(5)
    launch((add, 1, 32), x, np.float32(2), y, layer="conv1")
    launch((add, 1, 32), x, np.float32(2), y)
    assert y.tolist() == [2, 3, 4, 5, 6]
    assert launches == {("conv1", "add"): 1, ("", "add"): 1}


def test_a_launch_that_fails_is_not_counted():
    with pytest.raises(TypeError, match=r"add takes 3 arguments \(x, number, y\), not 1\."):
        launch((add, 1, 32), torch.empty(5))
    with pytest.raises(ValueError, match="add: y, float32"):
        launch((add, 1, 32), torch.empty(5), 1, torch.empty(5, 5).T)
    assert not launches


def test_memory_is_shared():
    x = torch.zeros(3, 4, requires_grad=True)
    array = as_argument(x)
    array[1, 2] = 7
    assert x.detach()[1, 2] == 7 and array.dtype == np.float32
    assert as_argument(torch.arange(3)).dtype == np.int64
    assert as_argument(3) == 3 and type(as_argument(np.float32(3))) is np.float32


def test_shapes_of_one_are_contiguous_whatever_their_strides():
    x = torch.empty_strided((1, 4), (99, 1)).fill_(1.0)
    assert x.is_contiguous() and as_argument(x).flags.c_contiguous


def words(n: int) -> torch.Tensor:
    return torch.zeros(n, dtype=torch.int32).view(torch.uint32)


REFUSED = {
    "transposed": (lambda: torch.zeros(2, 3).T, r"float32\[3,2\] on cpu, is not contiguous.*"),
    "channels last": (
        lambda: torch.zeros(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
        "is not contiguous",
    ),
    "expanded": (lambda: torch.zeros(1).expand(4), "is not contiguous"),
    "negated view": (lambda: torch.zeros(3, dtype=torch.cfloat).conj().imag, "is not contiguous"),
    "negated": (lambda: torch.zeros(1, dtype=torch.cfloat).conj().imag, "is not contiguous"),
    "sparse": (lambda: torch.eye(2).to_sparse(), "is not contiguous"),
    "float64": (lambda: torch.zeros(2, dtype=torch.float64), r"is not float32.*use \.float\(\)"),
    "float16": (lambda: torch.zeros(2, dtype=torch.float16), "is not float32"),
    "complex": (lambda: torch.zeros(2, dtype=torch.cfloat), "neither float32 nor integers"),
    "bool": (lambda: torch.zeros(2, dtype=torch.bool), "neither float32 nor integers"),
    "empty": (lambda: torch.zeros(0), "from 1 to"),
    "unaligned": (lambda: torch.zeros(9)[1:], r"multiple of 16 bytes.*use \.clone\(\)"),
    "unaligned words": (lambda: words(9)[1:], r"uint32\[8\].* multiple of 16 bytes"),
    "elsewhere": (lambda: torch.zeros(2, device="meta"), r"outside of the SIMT machine.*\.cpu\(\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(name):
    make, words = REFUSED[name]
    with pytest.raises(ValueError, match=words) as refusal:
        as_argument(make(), "relu: x")
    assert str(refusal.value).startswith("relu: x, ") and str(refusal.value).endswith(".")


def test_integers_that_no_vector_access_reads_may_lie_anywhere():
    assert as_argument(torch.arange(9)[1:]).tolist() == [*range(1, 9)]
    assert as_argument(words(9)[4:]).dtype == np.uint32


class Large(torch.Tensor):
    """A tensor without memory that says it has some."""

    device = property(lambda self: torch.device("cpu"))


def test_elements_are_counted_in_31_bits():
    most = torch.empty(2**31 - 1, device="meta").as_subclass(Large)
    assert tensors._refusal(most) is None
    more = torch.empty(2**31, device="meta").as_subclass(Large)
    with pytest.raises(ValueError, match=r"x, float32\[2147483648\] on cpu, must have from 1 to 2"):
        as_argument(more, "x")


@pytest.mark.parametrize("value", [np.zeros(3, np.float32), [1.0], None, "x"], ids=repr)
def test_what_is_no_tensor_is_refused(value):
    with pytest.raises(TypeError, match=r"relu: x is a .*: give a tensor"):
        as_argument(value, "relu: x")


FITS = [
    (
        (torch.zeros(2, 3), torch.zeros(4, 2)),
        ValueError,
        r"x\[2,3\] and w\[4,2\] do not fit: D is 3",
    ),
    ((torch.zeros(6), torch.zeros(4, 3)), ValueError, r"x\[6\] has 1 axes; x\[N,D\] is expected"),
    ((torch.zeros(2, 3).int(), torch.zeros(4, 3)), ValueError, "holds torch.int32, not float32"),
    ((torch.zeros(2, 3), np.zeros((4, 3))), TypeError, "w is a ndarray, not a tensor"),
    ((None, torch.zeros(4, 3)), TypeError, "linear: x is a NoneType, not a tensor"),
    ((torch.zeros(0, 3), torch.zeros(4, 3)), ValueError, r"linear: x, float32\[0,3\] .* from 1 to"),
    ((torch.zeros(2, 3), torch.zeros(3, 4).T), ValueError, "linear: w, .* is not contiguous"),
]


@pytest.mark.parametrize(("given", "error", "words"), FITS)
def test_fit(given, error, words):
    fit("linear", "x[N,D] w[K,D] b[K]?", torch.zeros(2, 3), torch.zeros(4, 3), None)
    with pytest.raises(error, match=words):
        fit("linear", "x[N,D] w[K,D]", *given)


def test_a_gradient_is_copied_only_if_need_be():
    whole, view = torch.zeros(4, 4), torch.zeros(9)[1:]
    assert ready(whole) is whole
    assert ready(whole.T).is_contiguous() and ready(view).data_ptr() % 16 == 0
    assert flat(whole).data_ptr() == whole.data_ptr() and flat(whole).shape == (16,)
    assert flat(whole.T).shape == (4, 4)  # for launch to refuse


# The GPU's path, with stand-ins for what needs a GPU.


class OnGPU(torch.Tensor):
    """A tensor that says it is on a GPU."""

    number = 0
    device = property(lambda self: torch.device("cuda", self.number))

    def get_device(self) -> int:
        return self.number


def on_gpu(*values: float, number: int = 0) -> OnGPU:
    tensor = torch.tensor(values, dtype=torch.float32).as_subclass(OnGPU)
    tensor.number = number
    return tensor


class Stream:
    """Like Numba's: equal to itself only, and to none of the same handle."""

    def __init__(self, handle):
        self.handle = handle


@pytest.fixture
def gpu(monkeypatch):
    """numba.cuda as `launch` uses it, and PyTorch's idea of the current stream and device."""
    place = SimpleNamespace(kernel=None, log=[], streams=[], stream=77, device=0)

    class Kernel:
        py_func = add.py_func

        def __getitem__(self, configuration):
            return lambda *arguments: place.log.append((configuration, arguments))

    def external_stream(handle):
        place.streams.append(Stream(handle))
        return place.streams[-1]

    stand_in = SimpleNamespace(
        as_cuda_array=lambda tensor: ("array", tensor.data_ptr(), tensor.requires_grad),
        external_stream=external_stream,
    )
    monkeypatch.setattr(tensors, "cuda", stand_in)
    current = lambda: SimpleNamespace(cuda_stream=place.stream)  # noqa: E731
    monkeypatch.setattr(torch.cuda, "current_stream", current)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: place.device)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    tensors._stream.cache_clear()
    place.kernel = Kernel()
    yield place
    tensors._stream.cache_clear()


def test_on_a_gpu_kernels_get_the_tensors_memory_and_pytorchs_stream(gpu):
    x, y = on_gpu(1, 2).requires_grad_(), on_gpu(3, 4)
    launch((gpu.kernel, 3, 64), x, np.float32(5), y, layer="fc1")
    arrays = ("array", x.data_ptr(), False), np.float32(5), ("array", y.data_ptr(), False)
    (((grid, block, stream), given),) = gpu.log
    assert (grid, block, stream.handle, given) == (3, 64, 77, arrays)
    assert launches == {("fc1", "add"): 1}


def test_each_stream_of_each_device_is_one_object_however_many_launches(gpu):
    """Two streams on the first device, and the default stream of both, whose handle is 0."""
    places = [(0, 77), (0, 78), (0, 0), (1, 0)]
    for device, stream in 25 * places:
        gpu.device, gpu.stream = device, stream
        x = on_gpu(1, 2, number=device)
        launch((gpu.kernel, 3, 64), x, np.float32(5), x)
    assert [stream.handle for stream in gpu.streams] == [77, 78, 0, 0]
    used = [configuration[2] for configuration, _ in gpu.log]
    assert used == 25 * gpu.streams


@pytest.mark.filterwarnings("ignore:Grid size")
def test_numba_knows_a_launch_again(gpu):
    """Its own cache of configurations, which a new stream object for each launch never hits."""
    pytest.importorskip("numba_cuda")
    from cuda.bindings.driver import CUstream
    from numba import cuda
    from numba.cuda.cudadrv.driver import Stream

    kernel, configured = cuda.jit(add.py_func), []

    class Kernel(type(gpu.kernel)):
        def __getitem__(self, configuration):
            configured.append(kernel[configuration])
            return lambda *arguments: None

    tensors.cuda.external_stream = lambda handle: Stream(CUstream(handle), external=True)
    before, x = kernel.configure.cache_info(), on_gpu(1, 2)
    for block in 5 * (64, 128):
        launch((Kernel(), 3, block), x, np.float32(5), x)
    after = kernel.configure.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (2, 8)
    assert len({id(one) for one in configured}) == 2


def test_tensors_belong_where_the_kernels_run(gpu, monkeypatch):
    """Not where PyTorch could compute: it finds a GPU here in both cases."""
    assert tensors.kernel_device() == "cuda"
    monkeypatch.setattr(tensors, "cuda", simt)
    assert tensors.kernel_device() == "cpu"


def test_on_a_gpu_no_tensor_is_moved(gpu):
    with pytest.raises(
        ValueError, match=r"add: y, float32\[2\] on cpu, is not on the GPU.*cuda\(\)"
    ):
        launch((gpu.kernel, 3, 64), on_gpu(1, 2), 5, torch.zeros(2))
    with pytest.raises(ValueError, match="on cuda:1, is not on PyTorch's current device, cuda:0"):
        launch((gpu.kernel, 3, 64), on_gpu(1, 2, number=1), 5, on_gpu(1, 2))
    assert gpu.log == [] and not launches


def test_a_pytorch_without_cuda_is_told_what_to_do(gpu, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"kernels here: install a PyTorch for CUDA.*CUDA=simt\."):
        launch((gpu.kernel, 3, 64), torch.zeros(2), 5, torch.zeros(2))


def test_numba_types_such_arrays_as_contiguous():
    """as_cuda_array's own class, over memory that nobody touches."""
    pytest.importorskip("numba_cuda")
    from numba import types
    from numba.cuda.cudadrv.devicearray import DeviceNDArray

    for shape in [(5,), (1, 4), (4, 1), (2, 1, 3, 1), (1,)]:
        strides = tuple(4 * n for n in torch.empty(shape).stride())  # as torch hands them over
        array = DeviceNDArray(shape, strides, np.dtype(np.float32), gpu_data=object())
        assert array._numba_type_ == types.Array(types.float32, len(shape), "C")


def test_numba_launches_on_a_stream_of_somebody_else():
    pytest.importorskip("numba_cuda")
    from cuda.bindings.driver import CUstream
    from numba.cuda.cudadrv.driver import Stream, _to_core_stream

    for handle in (0, 77):  # 0 is the default stream, which PyTorch uses unless told otherwise
        stream = Stream(CUstream(handle), external=True)
        assert int(_to_core_stream(stream).handle) == handle
