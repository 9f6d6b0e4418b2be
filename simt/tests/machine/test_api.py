"""The host's side of `cuda` on the SIMT machine: launches that run, and those that are refused."""

import inspect
import re
import subprocess
import sys
import types as python_types

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import CompileError, KernelError, UsageError
from numba_simt.in_kernel import IN_KERNELS

numba = pytest.importorskip("numba")


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def scale(a, x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = a * x[i]


@cuda.jit
def where(out):
    i = cuda.grid(1)
    out[i, 0] = cuda.blockIdx.x
    out[i, 1] = cuda.blockDim.x
    out[i, 2] = cuda.gridDim.x


@cuda.jit
def copy(x, y):
    i = cuda.grid(1)
    y[i] = x[i]


@cuda.jit
def tile(out):
    t = cuda.shared.array(1024, np.float32)
    d = cuda.shared.array(0, np.float32)
    t[cuda.threadIdx.x] = 1.0
    d[cuda.threadIdx.x] = 2.0
    out[cuda.threadIdx.x] = t[cuda.threadIdx.x] + d[cuda.threadIdx.x]


@cuda.jit(device=True)
def twice(x):
    return 2 * x


def floats(n=8):
    return np.arange(n, dtype=np.float32)


def line(text):
    """The number of the first line of this file with that text."""
    lines = inspect.getsource(sys.modules[__name__]).splitlines()
    return next(n for n, found in enumerate(lines, 1) if text in found)


def test_host_arrays_go_there_and_back():
    x, y, out = floats(), 2 * floats(), np.zeros(8, np.float32)
    assert add[2, 4](x, y, out) is None
    np.testing.assert_array_equal(out, 3 * floats())
    np.testing.assert_array_equal(x, floats())


def test_device_arrays_stay_there():
    x, out = cuda.to_device(floats()), cuda.device_array(8, np.float32)
    add[1, 8](x, x, out)
    np.testing.assert_array_equal(out.copy_to_host(), 2 * floats())
    add[1, 4](out[::2], out[1::2], out[::2])  # views alias
    np.testing.assert_array_equal(out.copy_to_host(), [2, 2, 10, 6, 18, 10, 26, 14])
    scale[1, 8](np.float32(2), out.reshape(2, 4)[1])
    np.testing.assert_array_equal(out.copy_to_host(), [2, 2, 10, 6, 36, 20, 52, 28])


@pytest.mark.parametrize(
    "grid, block", [(2, 4), ((2,), [4]), ((2, 1, 1), (4, 1)), (np.int64(2), 4)]
)
def test_a_grid_is_a_number_or_one_to_three(grid, block):
    out = np.zeros((8, 3), np.int32)
    where[grid, block](out)
    np.testing.assert_array_equal(out[:, 0], [0] * 4 + [1] * 4)
    assert (out[:, 1] == 4).all() and (out[:, 2] == 2).all()


def test_streams_and_configure_and_forall():
    x = floats()
    stream = cuda.stream()
    scale[2, 4, stream](2, x)
    scale[2, 4, stream, 0](2, x)
    scale.configure(1, 8, stream=cuda.default_stream(), sharedmem=16)(2, x)
    np.testing.assert_array_equal(x, 8 * floats())
    for launch in (scale.forall(8), scale.forall(8, 4), scale.forall(np.int64(8), tpb=5)):
        launch(0.5, x)
    np.testing.assert_array_equal(x, floats())
    assert scale.forall(8, tpb=3).grid == (3, 1, 1)
    scale.forall(0)(2, x)
    np.testing.assert_array_equal(x, floats())
    with pytest.raises(UsageError, match="grid"):
        scale.forall(-1)


def test_an_array_twice_is_two_copies_as_in_numba():
    @cuda.jit
    def both(a, b):
        a[0], b[1] = 5, 6

    x = floats(3)
    both[1, 1](x, x)
    np.testing.assert_array_equal(x, [0, 6, 2])  # the copy of b came back last
    d = cuda.to_device(floats(3))
    both[1, 1](d, d)
    np.testing.assert_array_equal(d.copy_to_host(), [5, 6, 2])


def test_mapped_arrays_need_no_copy():
    m = cuda.mapped_array(8, np.float32)
    m[:] = floats()
    add[1, 4](m[:4], m[4:], m[:4])
    np.testing.assert_array_equal(m, [4, 6, 8, 10, 4, 5, 6, 7])
    host = floats()
    with cuda.mapped(host) as d:
        scale[1, 8](3, d)
    np.testing.assert_array_equal(host, 3 * floats())


def test_tensors_share_their_memory():
    torch = pytest.importorskip("torch")
    x = torch.arange(8, dtype=torch.float32)
    out = torch.zeros(8, requires_grad=True)
    add[1, 8](x, x, out)
    assert torch.equal(out.detach(), 2 * x)


@pytest.mark.parametrize(
    "value, type",
    [
        (3, "int64"),
        (2**63, "uint64"),
        (2.5, "float64"),
        (True, "bool"),
        (1j, "complex128"),
        *[(np.dtype(d).type(1), d) for d in ("int8", "uint16", "float16", "float32", "complex64")],
    ],
)
def test_numbers_keep_their_type(value, type):
    (argument,) = copy.bind((value, floats()))[:1]
    assert str(argument.type) == type and argument.value == value


def test_arrays_are_typed_as_numba_types_them():
    typeof = numba.typeof
    for a in (floats(), np.zeros((2, 3), order="F"), np.zeros(()), np.zeros((1, 2, 0), np.int8)):
        assert copy.bind((a, a))[0].type == typeof(a)
    d = cuda.to_device(np.zeros((4, 4)))
    assert copy.bind((d[:, 1:3], d))[0].type == typeof(np.zeros((4, 4))[:, 1:3])


def test_a_program_is_compiled_once_for_its_types():
    @cuda.jit
    def kernel(x, a):
        x[cuda.grid(1)] = a

    x = floats()
    for a in (1.0, 2.0, 3, 4, np.float32(5)):
        kernel[1, 8](x, a)
        assert (x == float(a)).all()
    assert len(kernel.overloads) == 3
    types = tuple(argument.type for argument in kernel.bind((x, 6)))
    assert kernel.compile(types) is kernel.compile(types)


def test_a_signature_converts_or_refuses():
    @cuda.jit("void(float32[:], int32, float32, complex64)")
    def kernel(x, i, f, c):
        x[i] = f + c.real

    assert len(kernel.overloads) == 1  # compiled when it was decorated
    x = floats(3)
    kernel[1, 1](x, 1, 2, 0.5)
    kernel[1, 1](cuda.to_device(x)[:], True, np.float16(2), 1j)
    assert x[1] == 2.5 and len(kernel.overloads) == 1
    for wrong in (
        (x, 1.5, 2, 0),
        (x, 2**31, 2, 0),
        (x, 1, 1j, 0),
        (x.astype("f8"), 1, 2, 0),
        (1,) * 4,
    ):
        with pytest.raises(TypeError, match="signature"):
            kernel[1, 1](*wrong)
    assert x.tolist() == [0, 2.5, 2]


def test_signatures_in_every_form():
    from numba import float32, float64, int32, void

    def kernel(x, a):
        x[0] = a

    both = ["void(float64[:], float32)", void(float64[::1], float64), "void(float32[:], float32)"]
    for given in ("(float32[:], int32)", void(float32[:], int32), (float32[:], int32), both):
        x = floats(2)
        cuda.jit(given)(kernel)[1, 1](x, 3)
        assert x[0] == 3
    y = np.zeros(2)
    cuda.jit(both)(kernel)[1, 1](y, 0.1)
    assert y[0] == 0.1
    for wrong in (42, "float32[:]", "void(float32[:])", "int32(float32[:], int32)"):
        with pytest.raises((TypeError, ValueError)):
            cuda.jit(wrong)(kernel)


def test_jit_takes_numbas_options():
    def kernel(x):
        x[0] = 1

    for options in (
        {},
        {"debug": True, "opt": False},
        {"fastmath": True, "inline": "always", "forceinline": True, "lineinfo": True},
        {"max_registers": 64, "cache": True, "launch_bounds": (64, 2), "lto": False},
    ):
        x = floats(1)
        cuda.jit(**options)(kernel)[1, 1](x)
        assert x[0] == 1
    assert cuda.jit(kernel).py_func is kernel
    with pytest.raises(UsageError, match=r"no option 'fastmat'.* fastmath\."):
        cuda.jit(fastmat=True)
    for wrong in (print, int, add):
        with pytest.raises(UsageError, match="takes a Python function"):
            cuda.jit(wrong)
    with pytest.raises(UsageError, match="no option 'link'"):
        cuda.jit("void()", link=["f.cu"])


def test_a_kernel_looks_like_its_function():
    assert add.__name__ == "add" and list(inspect.signature(add).parameters) == ["x", "y", "out"]
    assert isinstance(add.py_func, python_types.FunctionType)
    assert twice.py_func(4) == 8


@pytest.mark.parametrize(
    "launch, said",
    [
        (lambda x: add(x, x, x), r"launch it as add\[blocks, threads\]\(x, y, out\)"),
        (lambda x: add[8](x, x, x), r"\[blocks, threads\]"),
        (lambda x: add[1, 8, 0, 0, 0](x, x, x), r"\[blocks, threads\]"),
        (lambda x: add[1, 8](x, x), r"takes 3 arguments \(x, y, out\), not 2"),
        (lambda x: add[1, 8](x, x, x, x), "arguments .* not 4"),
        (lambda x: add[1, 8](x, x, out=x), "give out by position"),
        (lambda x: add[1, 1025](x, x, x), "block is 1025, but its x must be .* 1 to 1,024"),
        (lambda x: add[1, (32, 33)](x, x, x), r"\(32, 33\) has 1,056 threads, more than 1,024"),
        (lambda x: add[1, (1, 1, 65)](x, x, x), "its z must be an integer from 1 to 64"),
        (lambda x: add[1, 0](x, x, x), "block is 0"),
        (lambda x: add[-1, 8](x, x, x), "grid is -1"),
        (lambda x: add[8 / 4, 8](x, x, x), r"grid is 2\.0, but its x must be an integer"),
        (lambda x: add[True, 8](x, x, x), "grid is True"),
        (lambda x: add[None, 8](x, x, x), "grid is None"),
        (lambda x: add["1", 8](x, x, x), "grid is 1, but its x must be an integer"),
        (lambda x: add[(1, 65536), 8](x, x, x), "its y must be an integer from 1 to 65,535"),
        (lambda x: add[2**31, 8](x, x, x), "from 1 to 2,147,483,647"),
        (lambda x: add[(1, 1, 1, 1), 8](x, x, x), "needs one to three numbers"),
        (lambda x: add[(), 8](x, x, x), "needs one to three numbers"),
        (lambda x: add[1, 8, 1024](x, x, x), "1024 is no stream; .* fourth"),
        (lambda x: add[1, 8, 0, -4](x, x, x), "-4, not an integer"),
        (lambda x: add[1, 8, 0, 4.0](x, x, x), r"4\.0, not an integer"),
        (lambda x: add[1, 8, 0, 49153](x, x, x), "49,153 B of shared memory; .* 49,152 B"),
        (lambda x: add[1, 8](x.tolist(), x, x), "argument `x` is a list"),
        (lambda x: add[1, 8](x, None, x), "argument `y` is a NoneType"),
        (lambda x: add[1, 8](x, x, "out"), "argument `out` is a str"),
        (lambda x: add[1, 8](x, (1, "b"), x), r"argument `y\[1\]` is a str"),
        (lambda x: add[1, 8](x, 2**64, x), "argument `y` holds object"),
        (lambda x: add[1, 8](x, np.longdouble(1), x), "`y` holds (float128|longdouble)"),
        (lambda x: add[1, 4](x[::2], x, x), r"`x` is not contiguous: .*\(8,\) B.*ascontiguous"),
        (lambda x: add[1, 8](x, x.astype(">f4"), x), "`y` holds >f4"),
        (lambda x: add[1, 8](x, x.astype(object), x), "`y` holds object"),
        (lambda x: add[1, 8](x, np.zeros(8, "U1"), x), "`y` holds <U1"),
        (lambda x: add[1, 8](x, np.zeros(8, "M8[s]"), x), "`y` holds datetime64"),
        (lambda x: add[1, 8](x, np.zeros(8, [("a", object)]), x), "`y` holds"),
        (lambda x: add[1, 8](x, np.zeros(8, "i4,O")[0], x), "`y` holds"),
    ],
)
def test_a_wrong_launch_is_refused_with_its_line(launch, said):
    x = floats()
    with pytest.raises(UsageError, match=said) as error:
        launch(x)
    assert f"line {line('def add')}: `def add(x, y, out):`: " in str(error.value)
    assert isinstance(error.value, KernelError | ValueError | TypeError)
    np.testing.assert_array_equal(x, floats())


def test_shared_memory_counts_what_the_kernel_declares():
    out = np.zeros(32, np.float32)
    tile[1, 32, 0, 32 * 4](out)
    assert (out == 3).all()
    with pytest.raises(
        UsageError, match="49,156 B of shared memory; a block has 49,152 B"
    ) as error:
        tile[1, 32, 0, 49156 - 4096](out)
    assert f"line {line('def tile')}: " in str(error.value)
    tile[1, 32, 0, 49152 - 4096](out)


def test_a_read_only_array_may_be_read_but_not_written():
    x, out = floats(), np.zeros(8, np.float32)
    x.flags.writeable = False
    add[1, 8](x, x, out)
    np.testing.assert_array_equal(out, 2 * floats())
    with pytest.raises(UsageError, match="argument `out` is a read-only array") as error:
        add[1, 8](out, out, x)
    assert f"line {line('out[i] = x[i] + y[i]')}: `out[i] = x[i] + y[i]`" in str(error.value)
    np.testing.assert_array_equal(x, floats())


def test_an_atomic_writes_too():
    @cuda.jit
    def count(x):
        cuda.atomic.add(x, 0, 1)

    x = floats()
    count[2, 32](x)
    assert x[0] == 64
    x.flags.writeable = False
    with pytest.raises(UsageError, match=r"`cuda\.atomic\.add\(x, 0, 1\)`: .*`x` is a read-only"):
        count[2, 32](x)


def test_a_copy_that_numpy_is_shown_would_lose_the_results():
    class Copies:
        def __array__(self, dtype=None, copy=None):
            return floats()

    with pytest.raises(UsageError, match="`y` gives NumPy copies"):
        copy[1, 8](floats(), Copies())


def test_after_an_error_the_arrays_are_untouched():
    @cuda.jit
    def beyond(x):
        i = cuda.grid(1)
        x[i] = -1
        x[i + 1] = -2

    x, d = floats(), cuda.to_device(floats())
    for array in (x, d):
        with pytest.raises(KernelError, match=r"x\[i \+ 1\] = -2"):
            beyond[1, 8](array)
    np.testing.assert_array_equal(x, floats())
    np.testing.assert_array_equal(d.copy_to_host(), floats())
    beyond[1, 7](x)  # and the next launch works


def test_a_compile_error_keeps_its_sentence():
    @cuda.jit
    def kernel(x):
        print(x)

    @cuda.jit
    def returns(x):
        return x[0]

    for wrong in (kernel, returns):
        with pytest.raises(CompileError, match=r"line \d+"):
            wrong[1, 1](floats())


def test_device_functions_are_for_kernels():
    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = twice(x[cuda.grid(1)])

    x = floats()
    kernel[1, 8](x)
    np.testing.assert_array_equal(x, 2 * floats())
    with pytest.raises(UsageError, match=rf"line {line('def twice')}: .*\.py_func"):
        twice(3)


@pytest.mark.parametrize("name", IN_KERNELS)
def test_names_for_kernels_refuse_to_work_on_the_host(name):
    thing = getattr(cuda, name)
    sentence = rf"cuda\.{name}(\.x)? works inside a kernel only"
    for use in (
        lambda: thing(1),
        lambda: thing.x(1, axis=0),
        lambda: 1 + thing.x,
        lambda: thing < 2,
    ):
        with pytest.raises(UsageError, match=sentence):
            use()
    for use in (lambda: range(thing), lambda: float(thing.x), lambda: thing[0]):
        with pytest.raises(UsageError, match=sentence):
            use()


def test_names_that_are_not_here():
    with pytest.raises(AttributeError, match=r"cuda\.syncthread: is it cuda\.syncthreads\?"):
        cuda.syncthread()
    for name in ("reduce", "vectorize", "compile_ptx", "open_ipc_array"):
        with pytest.raises(AttributeError, match=rf"no cuda\.{name}"):
            getattr(cuda, name)
    assert not hasattr(cuda, "float32x4")


def test_streams_and_events(monkeypatch):
    moments = iter([2.0, 2.5, 3.0])  # seconds on the host's clock, one for each record
    clock = python_types.SimpleNamespace(perf_counter=lambda: next(moments))
    monkeypatch.setattr(cuda, "time", clock)
    start, end = cuda.event(), cuda.event(timing=True)
    assert start.query() and start.synchronize() is None
    stream = cuda.stream()
    start.record(stream)
    with stream.auto_synchronize():
        end.record()
    end.wait(stream), stream.synchronize(), cuda.synchronize()
    assert start.elapsed_time(end) == 500  # milliseconds
    assert cuda.event_elapsed_time(start, end) == start.elapsed_time(end)
    with pytest.raises(UsageError, match="two recorded events"):
        start.elapsed_time(cuda.event())
    untimed = cuda.event(timing=False)
    untimed.record()
    for a, b in ((start, untimed), (untimed, end)):
        with pytest.raises(UsageError, match="timing"):
            a.elapsed_time(b)
    called = []
    stream.add_callback(lambda *given: called.append(given), "x")
    assert called == [(stream, 0, "x")]


def test_the_device(capsys):
    assert cuda.is_available() is True
    device = cuda.get_current_device()
    assert device.name == "SIMT machine" and device.WARP_SIZE == 32
    assert (device.MAX_THREADS_PER_BLOCK, device.MAX_SHARED_MEMORY_PER_BLOCK) == (1024, 49152)
    assert (device.MAX_BLOCK_DIM_Z, device.MAX_GRID_DIM_X) == (64, 2**31 - 1)
    assert device.compute_capability == (7, 5) and device.MULTIPROCESSOR_COUNT == 1
    assert len(cuda.gpus) == 1 == len(cuda.list_devices()) and cuda.gpus.current is device
    assert cuda.select_device(0) is device
    with pytest.raises(IndexError):
        cuda.select_device(1)
    with cuda.gpus[0], cuda.defer_cleanup(), cuda.profiling():
        free, total = cuda.current_context().get_memory_info()
    assert 0 < free <= total and cuda.current_context().device is device
    assert cuda.detect() and "SIMT machine" in capsys.readouterr().out
    cuda.close()
    assert cuda.is_float16_supported() and not cuda.is_bfloat16_supported()


def test_the_import_is_light():
    code = "import sys, numba_simt.cuda as c; c.jit(lambda: 0); print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"^\w+|(?<= )\w+", run.stdout))
    assert not loaded & {"numba", "torch", "scipy", "matplotlib"}


def test_what_numba_documents_is_here():
    """Every public name of the simulator's kernel API, and the host's, unless named as missing."""
    missing = {"cg", "get_ipc_handle"}
    from numba.cuda.simulator.kernelapi import FakeCUDAModule

    names = {n for n in vars(FakeCUDAModule) if not n.startswith("_")} - missing
    assert names <= set(vars(cuda)) | {"threadIdx", "vector"}, names - set(vars(cuda))
