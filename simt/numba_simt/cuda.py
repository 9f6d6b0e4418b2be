"""What `numba.cuda` offers, on the SIMT machine: this module stands in for it without a GPU.

What works inside kernels only is here by name, and refuses to work on the host. Numba's types and
what is seldom used are fetched when they are asked for.
"""

from contextlib import nullcontext
from difflib import get_close_matches as _near
from functools import cache as _cache
from importlib import import_module as _import

from numba_simt import errors as _errors
from numba_simt.in_kernel import TYPES, VECTORS, InKernel
from numba_simt.launching.arguments import In, InOut, Out  # noqa: F401
from numba_simt.launching.arrays import (  # noqa: F401
    device_array,
    device_array_like,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from numba_simt.launching.devices import (  # noqa: F401
    Event,
    MemoryInfo,
    Runtime,
    Stream,
    current_context,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_bfloat16_supported,
    is_float16_supported,
    is_fp8_supported,
    is_supported_version,
    list_devices,
    select_device,
    synchronize,
)
from numba_simt.launching.dispatcher import jit  # noqa: F401
from numba_simt.launching.interfaces import (  # noqa: F401
    as_cuda_array,
    from_cuda_array_interface,
)

STANDS_FOR_NUMBA_CUDA = True  # inside a kernel this module is numba.cuda
HAS_NUMBA = True
implementation = "SIMT machine"

threadIdx = InKernel("threadIdx")
blockIdx = InKernel("blockIdx")
blockDim = InKernel("blockDim")
gridDim = InKernel("gridDim")
grid = InKernel("grid")
gridsize = InKernel("gridsize")
laneid = InKernel("laneid")
warpsize = InKernel("warpsize")
shared = InKernel("shared")
local = InKernel("local")
const = InKernel("const")
atomic = InKernel("atomic")
fp16 = InKernel("fp16")
libdevice = InKernel("libdevice")
cg = InKernel("cg")
syncthreads = InKernel("syncthreads")
syncthreads_count = InKernel("syncthreads_count")
syncthreads_and = InKernel("syncthreads_and")
syncthreads_or = InKernel("syncthreads_or")
syncwarp = InKernel("syncwarp")
threadfence = InKernel("threadfence")
threadfence_block = InKernel("threadfence_block")
threadfence_system = InKernel("threadfence_system")
shfl_sync = InKernel("shfl_sync")
shfl_up_sync = InKernel("shfl_up_sync")
shfl_down_sync = InKernel("shfl_down_sync")
shfl_xor_sync = InKernel("shfl_xor_sync")
all_sync = InKernel("all_sync")
any_sync = InKernel("any_sync")
eq_sync = InKernel("eq_sync")
ballot_sync = InKernel("ballot_sync")
match_any_sync = InKernel("match_any_sync")
match_all_sync = InKernel("match_all_sync")
activemask = InKernel("activemask")
lanemask_lt = InKernel("lanemask_lt")
popc = InKernel("popc")
brev = InKernel("brev")
clz = InKernel("clz")
ffs = InKernel("ffs")
fma = InKernel("fma")
selp = InKernel("selp")
cbrt = InKernel("cbrt")
nanosleep = InKernel("nanosleep")
ldca = InKernel("ldca")
ldcg = InKernel("ldcg")
ldcs = InKernel("ldcs")
ldcv = InKernel("ldcv")
ldlu = InKernel("ldlu")
stcg = InKernel("stcg")
stcs = InKernel("stcs")
stwb = InKernel("stwb")
stwt = InKernel("stwt")

stream = Stream
default_stream = Stream
legacy_default_stream = Stream
per_thread_default_stream = Stream
event = Event
event_elapsed_time = Event.elapsed_time
runtime = Runtime()
defer_cleanup = nullcontext
profiling = nullcontext
close = synchronize
profile_start = synchronize
profile_stop = synchronize
KernelRuntimeError = _errors.KernelError
CudaSupportError = _errors.CudaSupportError


def external_stream(ptr: int) -> Stream:
    """A stream that somebody else made: all work is done in order anyway."""
    found = Stream()
    found.handle = ptr
    return found


def cuda_error() -> None:
    """What went wrong when CUDA was looked for: nothing."""


_ELSEWHERE = {  # where what is seldom used comes from
    "reduce": "numba_simt.libraries.reduction:Reduce",
    "Reduce": "numba_simt.libraries.reduction:Reduce",
    "vectorize": "numba_simt.libraries.ufuncs:vectorize",
    "guvectorize": "numba_simt.libraries.gufuncs:guvectorize",
    "random": "numba_simt.random",
    "cudadrv": "numba_simt.cudadrv",
    "devices": "numba_simt.cudadrv:devices",
    "devicearray": "numba_simt.cudadrv:devicearray",
    "driver": "numba_simt.cudadrv:driver",
    "config": "numba.core.config",
    "types": "numba.core.types",
    "literal_unroll": "numba:literal_unroll",
    "optional": "numba.core.types:Optional",
    "deferred_type": "numba.core.types:DeferredType",
}
_COMPILED = "the SIMT machine runs a kernel's source and makes no machine code: {}."
_ABSENT = {  # what numba.cuda has besides, and what to do
    _COMPILED.format("on a GPU, or where numba-cuda is installed, numba.cuda has it"): """
        compile compile_all compile_for_current_device compile_ptx compile_ptx_for_current_device
        declare_device config_default_cc numba_cuda_default_ptx_cc""",
    _COMPILED.format("write what is linked in CUDA C++ as a device function in Python"): """
        Archive CUSource Cubin Fatbin LTOIR LinkableCode Object PTXSource""",
    "device memory here is this process's own, and is neither managed nor handed over.": """
        BaseCUDAMemoryManager GetIpcHandleMixin HostOnlyCUDAMemoryManager IpcHandle MappedMemory
        MemoryPointer PinnedMemory open_ipc_array set_memory_manager""",
    "NumPy has no such numbers: use float16 or float32.": "bfloat16",
    "it is Numba's own machinery, which the SIMT machine has no part in.": """
        Dim3 GridGroup alias api api_util args cache_hints cext cg cgutils cloudpickle codegen
        compiler core cpython cuda_paths datamodel debuginfo decorators descriptor device_init
        deviceufunc dim3 dispatcher errors extending flags grid_group initialize intrinsics
        itanium_mangler kernels launchconfig literal locks lowering mathimpl memory_management misc
        models nvvm nvvmutils prepare_shape_strides_dtype reduction require_context serialize
        simulator stubs target typeconv typing ufuncs utils vectorizers""",
}


@_cache
def _vector(element: str, count: int) -> InKernel:
    """A vector type; float4 is float32x4."""
    return InKernel(f"{element}x{count}")


def __getattr__(name: str) -> object:
    if name.startswith("_"):  # Python, inspect and pytest ask for such names of everything
        raise _errors.Missing(f"The SIMT machine has no cuda.{name}.")
    if name in VECTORS:
        return _vector(*VECTORS[name])
    if name in TYPES:
        return getattr(_import("numba.core.types"), name)
    if name in _ELSEWHERE:
        module, _, inside = _ELSEWHERE[name].partition(":")
        found = _import(module)
        return getattr(found, inside) if inside else found
    for why, names in _ABSENT.items():
        if name in names.split():
            raise _errors.Missing(f"The SIMT machine has no cuda.{name}: {why}")
    near = _near(name, __dir__(), 1)
    hint = f"is it cuda.{near[0]}?" if near else "README.md of numba-simt says what it has."
    raise _errors.Missing(f"The SIMT machine has no cuda.{name}: {hint}")


def __dir__() -> list[str]:
    """The names of numba.cuda that are here."""
    own = {name for name in globals() if not name.startswith("_")}
    helpers = {"InKernel", "TYPES", "VECTORS", "STANDS_FOR_NUMBA_CUDA", "Runtime", "nullcontext"}
    return sorted(own - helpers | _ELSEWHERE.keys() | VECTORS.keys() | TYPES)
