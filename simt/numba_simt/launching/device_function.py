"""`@cuda.jit(device=True)`: a function that kernels may call, and what is known of it."""

import linecache
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import update_wrapper
from inspect import CO_VARARGS
from typing import NoReturn

from numba_simt.errors import Misfit, Missing, UsageError
from numba_simt.reading.signatures import read_signature

COMPILED = (  # what Numba's kernels have besides
    *("inspect_asm", "inspect_cfg", "inspect_disasm_cfg", "inspect_llvm", "inspect_lto_ptx"),
    *("inspect_sass", "inspect_sass_cfg", "inspect_types"),
    *("get_regs_per_thread", "get_shared_mem_per_block", "get_local_mem_per_thread"),
    *("get_const_mem_size", "get_max_threads_per_block", "get_metadata", "get_annotation_info"),
    *("compile_device", "dump", "specialize", "specialized", "specializations", "stats"),
    *("enable_caching", "recompile", "extensions"),
)


class DeviceFunction:
    """What a kernel may call."""

    device = True

    def __init__(
        self, function: Callable, signatures: Sequence = (), options: dict | None = None
    ) -> None:
        if not hasattr(function, "__code__"):
            raise UsageError(f"cuda.jit takes a Python function, not {function!r}.")
        update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = dict(options or {})
        code = function.__code__
        plain = code.co_argcount
        self.parameters = code.co_varnames[:plain]
        if code.co_flags & CO_VARARGS:
            self.parameters += (code.co_varnames[plain + code.co_kwonlyargcount],)
        try:
            given = [read_signature(one, self.parameters, self.device) for one in signatures]
        except Misfit as error:
            self.refuse(str(error))
        self.given_signatures = tuple(given)

    def __getattr__(self, name: str) -> NoReturn:
        what = "device function" if self.device else "kernel"
        if name.startswith("_"):  # asked by tools, which need no advice: it takes a millisecond
            raise Missing(f"a {what} has no .{name}.")
        if name in COMPILED:
            why = f"a {what} of Numba has .{name}, the SIMT machine compiles no machine code: use "
            raise Missing(f"{why}numba.cuda.compile_ptx, or profile.")
        near = get_close_matches(name, dir(self), 1)
        raise Missing(f"a {what} has no .{name}" + (f": is it .{near[0]}?" if near else "."))

    def __getitem__(self, configuration: object) -> NoReturn:
        self.refuse("a device function runs inside a kernel: only kernels are launched.")

    def __call__(self, *arguments: object, **named: object) -> None:
        """Refuses: the host cannot call it."""
        self.refuse("a device function runs inside a kernel; on the host call its .py_func.")

    def refuse(self, why: str, line: int = 0, text: str = "@") -> NoReturn:
        """UsageError with a line of the kernel; without one, with that of the `def`."""
        code = self.py_func.__code__
        line = line or code.co_firstlineno - 1
        while text.startswith("@"):
            line += 1
            text = linecache.getline(code.co_filename, line).strip()
        raise UsageError(f"line {line}: `{text.strip()}`: {why}") from None
