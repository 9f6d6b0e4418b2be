"""Every public name of numba.cuda is in numba_simt.cuda, or missing with a reason of its own."""

from types import ModuleType

import pytest

from numba_simt import cuda
from numba_simt.errors import KernelError, Missing
from numba_simt.in_kernel import VECTORS

numbas = pytest.importorskip("numba.cuda")


def is_of_numba(thing):
    """Whether it is no module that numba.cuda happened to import: os, numpy."""
    return not isinstance(thing, ModuleType) or thing.__name__.startswith("numba.")


NAMES = [
    name for name in dir(numbas) if not name.startswith("_") and is_of_numba(getattr(numbas, name))
]


def test_there_are_names_to_compare():
    assert {"jit", "grid", "float32x4", "reduce", "compile_ptx"} <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there_or_says_why_not(name):
    try:
        found = getattr(cuda, name)
    except Missing as error:
        assert "is it cuda." not in str(error) and "README.md" not in str(error)
    else:
        assert found is not None
        assert name in dir(cuda)


def test_types_are_numbas():
    import numba

    types = [n for n in NAMES if isinstance(getattr(numbas, n), numba.types.Type)]
    for name in {*types} - {"bfloat16", "dim3", "grid_group"}:
        assert getattr(cuda, name) == getattr(numba.types, name), name


def test_vector_types_are_numbas():
    stubs = pytest.importorskip("numba.cuda.stubs")._vector_type_stubs
    names = {name for stub in stubs for name in (stub.__name__, *stub.aliases)}
    assert names == VECTORS.keys()
    for stub in stubs:
        for alias in stub.aliases:
            assert getattr(cuda, alias) is getattr(cuda, stub.__name__)


def test_what_scripts_ask_of_the_host():
    device, context = cuda.get_current_device(), cuda.current_context()
    assert device.compute_capability == (7, 5) and device.MAX_THREADS_PER_BLOCK == 1024
    assert device.COMPUTE_CAPABILITY_MAJOR == 7 and device.MAX_SHARED_MEMORY_PER_BLOCK == 49152
    assert "SIMT machine" in repr(cuda.gpus[0]) and cuda.gpus[0]._device.name == device.name
    assert context.get_memory_info().total >= context.get_memory_info().free > 0
    assert len(context.deallocations) == 0 and context.deallocations.clear() is None
    with cuda.defer_cleanup(), context.deallocations.disable(), cuda.gpus[0]:
        pass
    assert cuda.runtime.get_version() >= (11, 0) and cuda.devices.gpus is cuda.gpus
    assert len(cuda.gpus.lst) == 1 and cuda.external_stream(17).synchronize() is None
    assert issubclass(cuda.cudadrv.driver.CudaAPIError, KernelError)
    assert cuda.cudadrv.devicearray.is_cuda_ndarray(cuda.to_device([1.0]))
    assert cuda.config.DISABLE_JIT in (0, 1) and cuda.HAS_NUMBA and not hasattr(cuda, "shm")


def test_only_public_names_are_suggested():
    for typo in ("nullcontex", "TYPE", "InKernels", "runtimes", "syncthread"):
        with pytest.raises(Missing) as caught:
            getattr(cuda, typo)
        for inner in ("nullcontext", "TYPES", "cuda.InKernel?", "cuda.time", "cuda.os", "cuda._"):
            assert inner not in str(caught.value)
    assert "is it cuda.syncthreads?" in str(caught.value)
