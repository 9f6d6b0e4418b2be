"""The names of `numba.cuda` that mean something inside kernels only, and those of its types.

`cuda.py` offers each of them to the host as an `InKernel`, which refuses to work there; the front
end knows them by that class, and the real ones of numba-cuda by their names.
"""

from numba_simt.errors import UsageError

IN_KERNELS = (
    *("threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize", "laneid", "warpsize"),
    *("shared", "local", "const", "atomic", "fp16", "libdevice", "cg"),
    *("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp"),
    *("threadfence", "threadfence_block", "threadfence_system"),
    *("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"),
    *("all_sync", "any_sync", "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync"),
    *("activemask", "lanemask_lt"),
    *("popc", "brev", "clz", "ffs", "fma", "selp", "cbrt", "nanosleep"),
    *("ldca", "ldcg", "ldcs", "ldcv", "ldlu", "stcg", "stcs", "stwb", "stwt"),
)
TYPES = frozenset(  # of Numba, that are names of numba.cuda as well
    """b1 bool_ boolean byte c16 c8 char complex128 complex64 double f4 f8 ffi ffi_forced_object
    float32 float64 float_ i1 i2 i4 i8 int16 int32 int64 int8 int_ intc intp long_ longlong none
    short size_t ssize_t u1 u2 u4 u8 uchar uint uint16 uint32 uint64 uint8 uintc uintp ulong
    ulonglong ushort void""".split()
)
_ELEMENTS = {  # of vector types: float32x4 is float4, too
    "int8": "int8x char",
    "int16": "int16x short",
    "int32": "int32x int",
    "int64": "int64x long longlong",
    "uint8": "uint8x uchar",
    "uint16": "uint16x ushort",
    "uint32": "uint32x uint",
    "uint64": "uint64x ulong ulonglong",
    "float32": "float32x float",
    "float64": "float64x double",
}
VECTORS = {  # name -> the type of the elements, and how many there are
    f"{prefix}{count}": (element, count)
    for element, prefixes in _ELEMENTS.items()
    for prefix in prefixes.split()
    for count in (1, 2, 3, 4)
}
_USES = (
    *("call", "getitem", "len", "index", "int", "float", "bool"),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "floordiv", "mod", "lt", "gt"),
)


class InKernel:
    """A name of `numba.cuda` that means something inside a kernel only; `path` is the name."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> "InKernel":
        if name.startswith("_"):
            raise AttributeError(name)
        return InKernel(f"{self.path}.{name}")

    def refuse(self, *_: object, **__: object) -> None:
        """Raises UsageError, whatever the host does with the name."""
        where = "inside a kernel only, in a function under @cuda.jit"
        raise UsageError(f"cuda.{self.path} works {where}.")


for _use in _USES:  # what Python looks up in the class: a call, an index, an operator
    setattr(InKernel, f"__{_use}__", InKernel.refuse)
