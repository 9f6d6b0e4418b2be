"""`profile(kernel, grid, block, *args)`: one launch on the SIMT machine, counted line by line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getsourcelines
from linecache import getline
from typing import Any

from numba_simt.profiling import profile_table
from numba_simt.profiling.counters import derive

BY = "the SIMT machine"
_FIRST_SHOWN = (
    "grid",
    "block",
    "warp",
    "error",
    "warning",
    "note",
)  # scopes of races, then severities


def profile(
    kernel: Any, grid: Any, block: Any, *args: Any, shared: int = 0, steps: int | None = None
) -> "Profile":
    """Launch `kernel[grid, block, 0, shared](*args)` on the SIMT machine: a Profile.

    So do kernels of numba.cuda run there; their device arrays are copied to the host and back.
    The arrays in `args` hold the kernel's results afterwards; if it had to be stopped, they are
    untouched. `steps`: at most so many instructions in loops, instead of the usual limit.
    Raises what a launch raises for arguments that do not fit, TypeError for no kernel.
    """
    from numba_simt.launching.device_function import DeviceFunction
    from numba_simt.launching.dispatcher import Kernel

    if not hasattr(kernel, "py_func"):
        kind = type(kernel).__name__
        raise TypeError(
            f"profile(kernel, blocks, threads, *arguments) was given a {kind} as kernel: write a "
            "function under @cuda.jit, and blocks and threads as the next two arguments."
        )
    kernel = kernel if isinstance(kernel, DeviceFunction) else Kernel(kernel.py_func)
    near = [arg.copy_to_host() if _is_on_a_gpu(arg) else arg for arg in args]
    outcome = kernel[grid, block, 0, shared].run(*near, watch=True, steps=steps)
    for given, result in zip(args, near, strict=True):
        if given is not result and outcome.completed:
            given.copy_to_device(result)
    return _profile(kernel.py_func, outcome)


def _is_on_a_gpu(value: Any) -> bool:
    """Whether it is a device array of numba.cuda."""
    of_numba = type(value).__module__.startswith(("numba.", "numba_cuda."))
    return of_numba and hasattr(value, "copy_to_host")


def _profile(function: Callable, outcome: Any) -> "Profile":
    """What the machine's outcome of this kernel shows; function: as it was written."""
    counts = {place: derive(n) for place, n in outcome.by_line.items()}
    file = function.__code__.co_filename
    lines, first = getsourcelines(function)
    own = [(file, first + i) for i in range(len(lines))]
    others = sorted(set(counts) - set(own))  # of device functions
    source = []
    for place in own + others:
        _, line = place
        source.append((line, getline(*place).rstrip(), counts.get(place, {})))
    return Profile(
        name=function.__name__,
        source=tuple(source),
        counters=derive(outcome.counters),
        by_line={line: n for (where, line), n in counts.items() if where == file},
        hazards=sorted(outcome.hazards, key=_rank),
        accesses=outcome.accesses,
        completed=outcome.completed,
    )


def _rank(hazard: Any) -> int:
    """Errors first, and of these races, the wider the sooner: its cure may cure the others."""
    return _FIRST_SHOWN.index(hazard.scope if hazard.kind == "race" else hazard.severity)


@dataclass(frozen=True, repr=False)
class Profile:
    """What one launch cost, and what is wrong with it. Every number is counted, exactly."""

    name: str
    source: tuple  # (line number, text, counters) of the kernel, then of other device functions
    counters: Mapping[str, float]  # of the whole launch, derived ones included
    by_line: Mapping[int, Mapping[str, float]]  # of lines in the kernel's file that executed
    hazards: list  # errors first, then warnings and notes; `str` of each is a sentence
    accesses: tuple  # single memory instructions of single warps
    completed: bool  # False if the kernel had to be stopped; then no array was changed

    def __repr__(self) -> str:
        title = f"{self.name}: counted by {BY}"
        return profile_table.as_text(title, self.source, self.counters, self._sentences())

    def _repr_html_(self) -> str:
        return profile_table.as_html(
            self.name, f"counted by {BY}", self.source, self.counters, self._sentences()
        )

    def _sentences(self) -> list[str]:
        n = self.counters
        said = []
        if n["traffic_bytes"]:
            said.append(
                f"Global memory: {n['global_bytes']:,} B asked for, {n['traffic_bytes']:,} B in "
                f"sectors, {n['compulsory_bytes']:,} B if each is counted once."
            )
        if n["flops"]:
            said.append(f"Arithmetic: {n['flops']:,} FLOP, {n['arithmetic_intensity']:.3g} FLOP/B.")
        if not self.completed:
            said.append("The kernel was stopped: no array was changed.")
        said += [hazard.sentence for hazard in self.hazards]
        if not self.hazards:
            said.append("No hazard found.")
        return said
