"""`@jit`, and what lies between `kernel[grid, block](x, y)` and the machine.

What is wrong with a launch is refused before anything runs. Host arrays are copied in before and,
only after success, back.
"""

import linecache
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, update_wrapper
from numbers import Integral
from typing import NoReturn

import numpy as np

from labkit.gpu.simt import arrays
from labkit.gpu.simt.arrays import Missing, UsageError, lacking
from labkit.gpu.simt.ops import ATOMICS, OP, column
from labkit.gpu.simt.overloads import Argument, Misfit, fit, read_signature

BLOCK, GRID = (1024, 1024, 64), (2**31 - 1, 65535, 65535)
THREADS, SHARED = 1024, 49152  # per block; bytes that a kernel gets without opting in to more
OPTIONS = """device inline forceinline fastmath debug opt lineinfo cache lto max_registers
    launch_bounds shared_memory_carveout"""  # they steer the hardware's compiler: no effect here
_STORES = {OP[name]: column(name, "array") for name in ("ST", "STV", *ATOMICS)}


def jit(func_or_sig: object = None, device: bool = False, **options: object) -> object:
    """Numba's `cuda.jit`: bare, or with a signature or a list of them, and with its options."""
    known = OPTIONS.split()
    for name in options:
        if name not in known:
            offered = ", ".join(get_close_matches(name, known, 1) or known)
            raise UsageError(f"cuda.jit has no option {name!r} on the SIMT machine, but {offered}.")
    _check_carveout(options.get("shared_memory_carveout"))
    given = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
    given = [one for one in given if not (one is None or hasattr(one, "__name__"))]

    def make(function: Callable) -> "DeviceFunction":
        return (DeviceFunction if device else Kernel)(function, given, options)

    return make(func_or_sig) if hasattr(func_or_sig, "__name__") else make


COMPILED = """inspect_asm inspect_cfg inspect_disasm_cfg inspect_llvm inspect_lto_ptx inspect_sass
    inspect_sass_cfg inspect_types get_regs_per_thread get_shared_mem_per_block
    get_local_mem_per_thread get_const_mem_size get_max_threads_per_block compile_device
    get_metadata get_annotation_info dump specialize specialized specializations stats
    enable_caching recompile extensions"""  # what Numba's kernels have besides


def _check_carveout(share: object) -> None:
    """Numba refuses it before anything is compiled, and so it is refused here."""
    names = "default", "maxl1", "maxshared"
    if share is None or str(share).lower() in names:
        return
    if not isinstance(share, Integral) or not -1 <= share <= 100:
        raise UsageError(
            f"Invalid carveout value {share!r}: shared_memory_carveout must be between -1 and 100, "
            'or "default", "MaxL1" or "MaxShared".'
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
        self.py_func, self.targetoptions = function, dict(options or {})
        code = function.__code__
        self.parameters = code.co_varnames[: code.co_argcount]
        try:
            read = (read_signature(s, self.parameters, self.device) for s in signatures)
            self.given_signatures = tuple(read)
        except Misfit as error:
            self.refuse(str(error))

    def __getattr__(self, name: str) -> NoReturn:
        what = "device function" if self.device else "kernel"
        if name in COMPILED.split():
            why = f"a {what} of Numba has .{name}, the SIMT machine compiles no machine code: use "
            raise Missing(f"{why}compile_report of labkit.gpu, or profile.")
        near = get_close_matches(name, dir(self), 1)
        raise Missing(f"a {what} has no .{name}" + (f": is it .{near[0]}?" if near else "."))

    def __getitem__(self, configuration: object) -> NoReturn:
        self.refuse("a device function runs inside a kernel: only kernels are launched.")

    def __call__(self, *arguments: object, **named: object) -> None:
        self.refuse("a device function runs inside a kernel; on the host call its .py_func.")

    def refuse(self, why: str, line: int = 0, text: str = "@") -> NoReturn:
        """UsageError with a line of the kernel; without one, with that of the `def`."""
        code = self.py_func.__code__
        line = line or code.co_firstlineno - 1
        while text.startswith("@"):
            line += 1
            text = linecache.getline(code.co_filename, line).strip()
        raise UsageError(f"line {line}: `{text.strip()}`: {why}") from None


class Kernel(DeviceFunction):
    """A function that runs on a grid: `kernel[grid, block, stream, shared_bytes](...)`."""

    device = False

    def __init__(
        self, function: Callable, signatures: Sequence = (), options: dict | None = None
    ) -> None:
        super().__init__(function, signatures, options)
        self.overloads: dict[tuple, object] = {}  # Numba types -> Program
        for signature in self.given_signatures:
            self.compile(signature.args)

    @property
    def signatures(self) -> list[tuple]:
        """The types for which it is compiled."""
        return list(self.overloads)

    def __call__(self, *arguments: object, **named: object) -> None:
        example = f"{self.__name__}[blocks, threads]({', '.join(self.parameters)})"
        self.refuse(f"a kernel runs on a grid of blocks: launch it as {example}.")

    def __getitem__(self, configuration: object) -> "Launch":
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            self.refuse("a launch needs [blocks, threads] or [blocks, threads, stream, bytes].")
        return self.configure(*configuration)

    def configure(self, griddim, blockdim, stream=0, sharedmem=0) -> "Launch":
        grid, block = self._size("grid", griddim, GRID), self._size("block", blockdim, BLOCK)
        if (threads := math.prod(block)) > THREADS:
            self.refuse(f"the block {blockdim} has {threads:,} threads, more than {THREADS:,}.")
        bounds = self.targetoptions.get("launch_bounds")
        if bounds and threads > (most := bounds if isinstance(bounds, Integral) else bounds[0]):
            self.refuse(f"the block has {threads} threads, and launch_bounds allows {most}.")
        if stream and not hasattr(stream, "synchronize"):
            self.refuse(f"{stream!r} is no stream; the bytes of shared memory come fourth.")
        if not isinstance(sharedmem, Integral) or sharedmem < 0:
            self.refuse(f"the bytes of shared memory are {sharedmem!r}, not an integer >= 0.")
        if math.prod(grid) * -(-threads // 32) >= 2**31:
            self.refuse(f"the grid {griddim} has more warps than the SIMT machine can count, 2^31.")
        return Launch(self, grid, block, int(sharedmem))

    def _size(self, what: str, given: object, limits: tuple[int, ...]) -> tuple[int, int, int]:
        if isinstance(given, np.ndarray) and given.ndim:
            self.refuse(f"the {what} is an array: the order is kernel, blocks, threads, arguments.")
        sizes = tuple(given) if isinstance(given, tuple | list) else (given,)
        if not 1 <= len(sizes) <= 3:
            self.refuse(f"the {what} is {given}: it needs one to three numbers.")
        for size, limit, axis in zip(sizes, limits, "xyz", strict=False):
            if isinstance(size, bool) or not isinstance(size, Integral) or not 1 <= size <= limit:
                number = f"an integer from 1 to {limit:,}"
                self.refuse(f"the {what} is {given}, but its {axis} must be {number}.")
        return (*map(int, sizes), 1, 1)[:3]

    def forall(self, ntasks: int, tpb: int = 0, stream: object = 0, sharedmem: int = 0) -> Callable:
        """A launch of at least `ntasks` threads, in blocks of `tpb` or else 256."""
        if ntasks == 0:
            return lambda *arguments: None
        return self[-(-ntasks // (tpb or 256)), tpb or 256, stream, sharedmem]

    def compile(self, types: tuple) -> object:
        """The kernel's Program for arguments of these Numba types; compiled once."""
        if types not in self.overloads:
            from labkit.gpu.simt.program import compile_kernel  # brings Numba

            debug = self.targetoptions.get("debug") and not self.targetoptions.get("fastmath")
            self.overloads[types] = compile_kernel(self.py_func, types, bool(debug))
        return self.overloads[types]

    def read(self, values: tuple) -> list[Argument]:
        """The arguments as the machine wants them; converted to the signature if there is one."""
        if len(values) != len(self.parameters):
            names = ", ".join(self.parameters)
            self.refuse(f"it takes {len(self.parameters)} arguments ({names}), not {len(values)}.")
        try:
            read = [*map(_read, self.parameters, values)]
        except UsageError as error:
            self.refuse(str(error))
        return fit(self.given_signatures, read, self.refuse) if self.given_signatures else read


@dataclass(frozen=True)
class Launch:
    """A kernel with its grid and block; call it with the kernel's arguments."""

    __getattr__ = lacking("a launch")

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int = 0

    def __call__(self, *arguments: object, **named: object) -> None:
        if named:
            self.kernel.refuse(f"give {', '.join(named)} by position, as CUDA wants it.")
        self.run(*arguments).raise_if_stopped()

    def run(self, *arguments: object, watch: bool = False, steps: int | None = None) -> object:
        """One launch: the machine's Outcome, also of a kernel that it had to stop."""
        from labkit.gpu.simt import machine

        read = self.kernel.read(arguments)
        program = self.kernel.compile(tuple(argument.type for argument in read))
        tiles = [array for array in program.arrays if array.space == "shared"]
        total = self.shared + sum(math.prod(a.shape) * a.dtype.itemsize for a in tiles)
        if total > SHARED:
            self.kernel.refuse(f"it uses {total:,} B of shared memory; a block has {SHARED:,} B.")
        hosts = [(i, a.host) for i, a in enumerate(read) if a.host is not None]
        for i, host in hosts:
            if not host.flags.writeable and (place := _stores(program).get(i)):
                name = self.kernel.parameters[i]
                self.kernel.refuse(
                    f"argument `{name}` is a read-only array.", place.number, place.text
                )
        values = [argument.value for argument in read]
        outcome = machine.run(
            program, self.grid, self.block, values, self.shared, watch, steps=steps
        )
        for i, host in hosts:  # unchanged, if the machine had to stop the kernel
            if host.flags.writeable:
                np.copyto(host, values[i])
        return outcome


def _stores(program: object) -> dict[int, object]:
    """The numbers of the parameters whose arrays the program writes, with a line that does."""
    rows = [row for row in program.code.tolist() if row[0] in _STORES]
    written = {program.arrays[row[_STORES[row[0]]]].argument: row[-1] for row in reversed(rows)}
    return {i: program.lines[line] for i, line in written.items() if i is not None}


def _read(name: str, value: object) -> Argument:
    """A number as Python's, an array as device memory: a copy, unless it lies there already."""
    what = f"argument `{name}`"
    if isinstance(value, bool | int | float | complex | np.generic):
        number = np.asarray(value)
        return Argument(_type(arrays.number_dtype(what, number.dtype)), number.item())
    if not hasattr(value, "__array__"):
        kind = type(value).__name__
        raise UsageError(f"{what} is a {kind}; a kernel takes numbers, NumPy and device arrays.")
    if arrays.is_cuda_array(value):
        memory, host = value.memory, None
    else:
        host = arrays.host_array(what, value)
        memory = host.copy(order="K")
        if host.size and not np.may_share_memory(host, arrays.host_array(what, value)):
            raise UsageError(f"{what} gives NumPy copies: what the kernel writes would be lost.")
    layout = "C" if memory.flags.c_contiguous else "F" if memory.flags.f_contiguous else "A"
    return Argument(_type(memory.dtype, memory.ndim, layout), memory, host)


@cache
def _type(dtype: np.dtype, ndim: int | None = None, layout: str = "C") -> object:
    """Numba's type of a number, or of an array."""
    from numba import types
    from numba.np.numpy_support import from_dtype

    return from_dtype(dtype) if ndim is None else types.Array(from_dtype(dtype), ndim, layout)
