"""The names of `numba.cuda` that mean something inside kernels only.

`api.py` offers each of them to the host as an `InKernel`, which refuses to work there; the front
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
)
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
