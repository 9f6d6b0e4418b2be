"""`@jit`, and what lies between `kernel[grid, block](x, y)` and the machine.

What is wrong with a launch is refused before anything runs.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import CO_VARARGS
from numbers import Integral
from typing import NoReturn

import numpy as np

from numba_simt.errors import CompileError, LimitError, Misfit, UsageError, lacking
from numba_simt.execution import machine
from numba_simt.launching.arguments import read_argument
from numba_simt.launching.device_function import DeviceFunction
from numba_simt.launching.grids import SHARED, Size, block_size, check_warps, grid_size
from numba_simt.ops import ATOMICS, OP, column
from numba_simt.program import RESIDENT, Line, Program
from numba_simt.reading.signatures import Argument, fit

OPTIONS = (  # they steer the hardware's compiler: no effect here
    *("device", "inline", "forceinline", "fastmath", "debug", "opt", "lineinfo", "cache", "lto"),
    *("max_registers", "launch_bounds", "shared_memory_carveout", "link", "nopython"),
)
CARVEOUTS = ("default", "maxl1", "maxshared")
# Who looks on (`command` does): runs launch(configuration, arguments), and keeps what it shows.
onlooker: Callable | None = None
_STORES = {OP[name]: column(name, "array") for name in ("ST", "STV", *ATOMICS)}


def jit(func_or_sig: object = None, device: bool = False, **options: object) -> object:
    """Numba's `cuda.jit`: bare, or with a signature or a list of them, and with its options."""
    if options.get("link"):
        raise UsageError(
            "cuda.jit(link=...) brings compiled CUDA, which the SIMT machine cannot run: write the "
            "functions in Python, with @cuda.jit(device=True)."
        )
    for name in options:
        if name not in OPTIONS:
            offered = ", ".join(get_close_matches(name, OPTIONS, 1) or OPTIONS)
            raise UsageError(f"cuda.jit has no option {name!r} on the SIMT machine, but {offered}.")
    _check_carveout(options.get("shared_memory_carveout"))
    bounds = options.get("launch_bounds")
    if isinstance(bounds, tuple) and len(bounds) > 3:
        raise UsageError(
            f"Got {len(bounds)} launch bounds: {', '.join(map(str, bounds))}. A maximum of three "
            "are supported: threads per block, blocks per multiprocessor, blocks per cluster."
        )
    kind = DeviceFunction if device else Kernel
    if hasattr(func_or_sig, "__name__"):
        return kind(func_or_sig, (), options)
    given = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
    signatures = [one for one in given if not (one is None or hasattr(one, "__name__"))]

    def make(function: Callable) -> DeviceFunction:
        return kind(function, signatures, options)

    return make


def _check_carveout(share: object) -> None:
    """Numba refuses it before anything is compiled, and so it is refused here."""
    if share is None or str(share).lower() in CARVEOUTS:
        return
    if not isinstance(share, Integral) or not -1 <= share <= 100:
        raise UsageError(
            f"Invalid carveout value {share!r}: shared_memory_carveout must be between -1 and 100, "
            'or "default", "MaxL1" or "MaxShared".'
        )


class _Programs(dict):
    """Those of a kernel; where a signature's was refused, whoever asks for it hears why."""

    def __init__(self, kernel: "Kernel") -> None:
        super().__init__()
        self._kernel = kernel

    def __missing__(self, types: tuple) -> NoReturn:
        if any(types == signature.args for signature in self._kernel.given_signatures):
            self._kernel.compile(types)
        raise KeyError(types)


class Kernel(DeviceFunction):
    """A function that runs on a grid: `kernel[grid, block, stream, shared_bytes](...)`."""

    device = False

    def __init__(
        self, function: Callable, signatures: Sequence = (), options: dict | None = None
    ) -> None:
        super().__init__(function, signatures, options)
        self.overloads: dict[tuple, Program] = _Programs(self)  # by Numba's types of arguments
        for signature in self.given_signatures:
            with suppress(LimitError):  # Numba compiles it: a launch is refused, no import
                self.compile(signature.args)

    @property
    def signatures(self) -> list[tuple]:
        """The types for which it is compiled."""
        return list(self.overloads)

    def __call__(self, *arguments: object, **named: object) -> None:
        """Refuses: a launch needs a grid and a block."""
        example = f"{self.__name__}[blocks, threads]({', '.join(self.parameters)})"
        self.refuse(f"a kernel runs on a grid of blocks: launch it as {example}.")

    def __getitem__(self, configuration: object) -> "LaunchConfiguration":
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            self.refuse("a launch needs [blocks, threads] or [blocks, threads, stream, bytes].")
        return self.configure(*configuration)

    def configure(
        self, griddim: Size, blockdim: Size, stream: object = 0, sharedmem: int = 0
    ) -> "LaunchConfiguration":
        """kernel[griddim, blockdim, stream, sharedmem]; UsageError for what CUDA refuses."""
        try:
            grid = grid_size(griddim)
            block = block_size(blockdim, self.targetoptions.get("launch_bounds"))
            if stream and not hasattr(stream, "synchronize"):
                self.refuse(f"{stream!r} is no stream; the bytes of shared memory come fourth.")
            if not isinstance(sharedmem, Integral) or sharedmem < 0:
                self.refuse(f"the bytes of shared memory are {sharedmem!r}, not an integer >= 0.")
            check_warps(griddim, grid, block)
        except Misfit as error:
            self.refuse(str(error))
        return LaunchConfiguration(self, grid, block, int(sharedmem))

    def forall(self, ntasks: int, tpb: int = 0, stream: object = 0, sharedmem: int = 0) -> Callable:
        """A launch of at least `ntasks` threads, in blocks of `tpb` or else 256."""
        if ntasks == 0:
            return lambda *arguments: None
        threads = tpb or 256
        blocks = -(-ntasks // threads)
        return self[blocks, threads, stream, sharedmem]

    def compile(self, types: tuple) -> Program:
        """The kernel's Program for arguments of these Numba types; compiled once."""
        if types not in self.overloads:
            from numba_simt.translation.frontend import compile_kernel  # brings Numba

            debug = self.targetoptions.get("debug") and not self.targetoptions.get("fastmath")
            try:
                self.overloads[types] = compile_kernel(self.py_func, types, bool(debug))
            except CompileError as error:  # its line counts, not the compiler's
                raise error.with_traceback(None) from None
        return self.overloads[types]

    def bind(self, values: tuple) -> list[Argument]:
        """The arguments of a launch; converted to the signature if there is one."""
        if self.py_func.__code__.co_flags & CO_VARARGS:
            plain = len(self.parameters) - 1
            values = (*values[:plain], values[plain:])
        if len(values) != len(self.parameters):
            names = ", ".join(self.parameters)
            self.refuse(f"it takes {len(self.parameters)} arguments ({names}), not {len(values)}.")
        try:
            arguments = [read_argument(*pair) for pair in zip(self.parameters, values, strict=True)]
        except UsageError as error:
            self.refuse(str(error))
        if not self.given_signatures:
            return arguments
        try:
            return fit(self.given_signatures, arguments)
        except Misfit as error:
            self.refuse(str(error))


@dataclass(frozen=True)
class LaunchConfiguration:
    """A kernel with its grid and block; call it with the kernel's arguments."""

    __getattr__ = lacking("a launch")

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int = 0  # bytes of dynamic shared memory

    def __call__(self, *arguments: object, **named: object) -> None:
        """One launch; raises HazardError where the machine had to stop the kernel."""
        if named:
            self.kernel.refuse(f"give {', '.join(named)} by position, as CUDA wants it.")
        outcome = onlooker(self, arguments) if onlooker else self.run(*arguments)
        outcome.raise_if_stopped()

    def run(
        self, *arguments: object, watch: bool = False, steps: int | None = None
    ) -> machine.Outcome:
        """One launch: its outcome, also of a kernel that the machine had to stop.

        `watch`: count, and look for races; `steps`: the most instructions in loops.
        """
        return self.execute(*self.prepare(arguments), watch=watch, steps=steps)

    def prepare(self, arguments: tuple) -> tuple[Program, list[Argument]]:
        """The program for these arguments, and what it is given; KernelError for a refusal."""
        given = self.kernel.bind(arguments)
        program = self.kernel.compile(tuple(argument.type for argument in given))
        flat = [leaf for argument in given for leaf in argument.leaves()]
        self._check_shared_memory(program)
        self._check_cooperative(program)
        self._check_read_only(program, flat)
        return program, given

    def execute(self, program: Program, given: list[Argument], **how: object) -> machine.Outcome:
        """Runs what `prepare` gave; `how`: what machine.run takes besides, such as watch."""
        flat = [leaf for argument in given for leaf in argument.leaves()]
        outcome = machine.run(
            program,
            self.grid,
            self.block,
            [argument.value for argument in flat],
            hosts=[i for i, argument in enumerate(flat) if argument.host],
            shared=self.shared,
            **how,
        )
        for argument in flat:
            if argument.back is not None and outcome.completed:
                np.copyto(argument.back, argument.value)
        return outcome

    def _check_cooperative(self, program: Program) -> None:
        """Refuses more blocks than can wait for each other."""
        blocks = math.prod(self.grid)
        if program.cooperative and blocks > RESIDENT:
            self.kernel.refuse(
                f"a kernel with this_grid() runs all its blocks at once, {RESIDENT:,} at most: the "
                f"grid has {blocks:,}."
            )

    def _check_shared_memory(self, program: Program) -> None:
        total = self.shared
        for array in program.arrays:
            if array.space == "shared" and not array.alias:
                total += math.prod(array.shape) * array.dtype.itemsize
        if total > SHARED:
            self.kernel.refuse(f"it uses {total:,} B of shared memory; a block has {SHARED:,} B.")

    def _check_read_only(self, program: Program, given: list[Argument]) -> None:
        """Refuses a read-only array of the host that the program writes."""
        for i, argument in enumerate(given):
            if argument.host and not argument.value.flags.writeable:
                line = _line_that_writes(program, i)
                if line:
                    name = next(array.name for array in program.arrays if array.argument == i)
                    why = f"argument `{name}` is a read-only array."
                    self.kernel.refuse(why, line.number, line.text)


def _line_that_writes(program: Program, argument: int) -> Line | None:
    """The first instruction's line that writes the array of this argument, if there is one."""
    for row in program.code.tolist():
        if row[0] in _STORES:
            array = program.arrays[row[_STORES[row[0]]]]
            if array.argument == argument:
                return program.lines[row[-1]]
    return None
