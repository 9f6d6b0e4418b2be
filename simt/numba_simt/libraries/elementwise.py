"""Kernels that are written by Python: one thread calls a device function for its elements."""

import linecache
from collections.abc import Callable
from itertools import count

from numba_simt.errors import UsageError
from numba_simt.in_kernel import InKernel
from numba_simt.launching.device_function import DeviceFunction
from numba_simt.launching.dispatcher import Kernel, jit

_numbers = count()
_TEXT = """\
def {name}({parameters}):
    thread = cuda.grid(1)
    if thread < {length}:
        {call}
"""


def kernel_that_calls(
    function: Callable, signature: object, parameters: list[str], length: str, call: str
) -> tuple[Kernel, DeviceFunction]:
    """A kernel whose threads run the statement `call`, in which `core` is the function.

    length   an expression: how many threads do so
    """
    core = jit(signature, device=True)(function)
    name = function.__name__.replace("<lambda>", "a_lambda")
    text = _TEXT.format(name=name, parameters=", ".join(parameters), length=length, call=call)
    place = f"<{name} on each element, {next(_numbers)}>"
    linecache.cache[place] = len(text), None, text.splitlines(keepends=True), place
    names = {"cuda": InKernel(""), "core": core}
    exec(compile(text, place, "exec"), names)
    return jit(names[name]), core


def refuse_options(what: str, options: dict) -> None:
    """UsageError for an option that the CUDA target of vectorize and guvectorize has not."""
    if options.pop("cache", False):
        raise UsageError(f"{what} for target='cuda' is not cached: leave out cache=True.")
    if not options.pop("nopython", True):
        raise UsageError(f"{what} for target='cuda' compiles always: leave out nopython=False.")
    if options:
        names = ", ".join(map(repr, options))
        raise UsageError(f"The following target options are not supported: {names}")
