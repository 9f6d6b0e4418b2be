"""What a right kernel may cost: about as much as ours, on the same arguments.

Every kernel exercise shares these limits. They compare counts of the SIMT machine, which are the
same on every computer, and leave room for other styles: a kernel may read a number several times,
or let half of the threads idle. Each limit is a function that gives a sentence where it is passed.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from labkit.gpu.simt import ops

# Times as much as our kernel needs, and what is allowed besides: small launches are ragged.
SECTORS_PER_REQUEST, MORE_SECTORS = 2, 128
BYTES, MORE_BYTES = 8, 4096
CONFLICTS, MORE_CONFLICTS = 2, 32
ATOMICS = 4
FEW = 3  # our kernel has so many times the threads at work
WARP = 32
GLOBAL = ops.SPACES.index("global")


@dataclass(frozen=True)
class Launched:
    """One launch of a kernel: what it counted, and what its arrays were."""

    kernel: Any
    arguments: tuple
    outputs: tuple
    profile: Any  # labkit.gpu.profile

    @property
    def counters(self) -> dict[str, float]:
        return self.profile.counters

    @property
    def threads(self) -> int | None:
        """How many threads of the launch ask for something in global memory.

        None where the machine has met more requests than it keeps.
        """
        records = self.profile.accesses.records
        requests = [self.counters[name] for name in self.counters if name.endswith("_requests")]
        if sum(requests) + self.counters["atomics"] > len(records):
            return None
        lanes: dict[tuple[int, int], np.ndarray] = {}
        for record in records:
            if record.space == GLOBAL:
                active = np.frombuffer(record.addresses, np.int64) >= 0
                warp = (record.block, record.warp)
                lanes[warp] = lanes.get(warp, False) | active
        return sum(int(active.sum()) for active in lanes.values())


def too_dear(theirs: Launched, ours: Launched) -> str | None:
    """What is too dear about a kernel whose numbers are right, as the end of a sentence."""
    for limit in (few_threads, atomics, traffic, conflicts):
        if sentence := limit(theirs, ours):
            return sentence
    return float64(theirs)


def few_threads(theirs: Launched, ours: Launched) -> str | None:
    threads, could = theirs.threads, ours.threads
    if threads is None or could is None or could < WARP or threads * FEW > could:
        return None
    return (
        f"of all threads {threads:,} alone asked for anything in global memory, where {could:,} "
        "could: a few do the work of all. Share it out among all threads of the launch."
    )


def traffic(theirs: Launched, ours: Launched) -> str | None:
    """Sectors for each request, and bytes asked for again and again; loads and stores apart."""
    for way in ("load", "store"):
        sentence = scattered(theirs, ours, way) or repeated(theirs, ours, way)
        if sentence:
            return sentence
    return None


def scattered(theirs: Launched, ours: Launched, way: str) -> str | None:
    name = f"global_{way}_sectors"
    sectors, enough = theirs.counters[name], ours.counters[name]
    each = f"{name}_per_request"
    if theirs.counters[each] <= SECTORS_PER_REQUEST * max(1, ours.counters[each]):
        return None
    if sectors <= SECTORS_PER_REQUEST * enough + MORE_SECTORS:
        return None
    line, found = worst_line(theirs.profile, way)
    return (
        f"in line {line} a warp's {way} touches {found:.0f} sectors of global memory; in all, "
        f"{sectors:,} sectors where {enough:,} would do. Let neighbouring threads touch "
        "neighbouring elements."
    )


def repeated(theirs: Launched, ours: Launched, way: str) -> str | None:
    name = f"global_{way}_bytes"
    asked, enough = theirs.counters[name], ours.counters[name]
    if asked <= BYTES * enough + MORE_BYTES:
        return None
    done, again = ("asks for", "asked for") if way == "load" else ("stores", "stored")
    return (
        f"it {done} {asked:,} B in global memory where {enough:,} B would do: the same is {again} "
        "again and again."
    )


def conflicts(theirs: Launched, ours: Launched) -> str | None:
    n = theirs.counters["bank_conflicts"]
    requests = theirs.counters["shared_load_requests"] + theirs.counters["shared_store_requests"]
    free = MORE_CONFLICTS + requests / 8
    if n <= CONFLICTS * ours.counters["bank_conflicts"] + free:
        return None
    return (
        f"its {requests:,} requests to shared memory have {n:,} bank conflicts, ours has "
        f"{ours.counters['bank_conflicts']:,}: lanes of a warp ask one bank for different words. "
        "Let neighbouring threads touch neighbouring words."
    )


def atomics(theirs: Launched, ours: Launched) -> str | None:
    n = theirs.counters["atomic_lanes"]
    results = sum(output.size for output in theirs.outputs)
    if n <= ATOMICS * ours.counters["atomic_lanes"] + results:
        return None
    return (
        f"{n:,} atomic operations are asked for, where {ours.counters['atomic_lanes']:,} would do. "
        "Those on one address run one after the other."
    )


def float64(theirs: Launched) -> str | None:
    """Float64 in the compiled kernel. The compiler is asked where the machine met any at all.

    Much of what Numba types as float64 is float32 again when the compiler is done: only it knows.
    """
    if not theirs.counters["float64"]:
        return None
    report = _compiled(theirs.kernel, _types(theirs.arguments))
    if report is None or not report.fp64:
        return None
    where = next((said for said in report.lint if "float64" in said), "")
    where = where.partition(": a Python float")[0]
    return (
        f"it computes in float64, which many GPUs do 32 or 64 times slower. Compiled, it has "
        f"{where or 'float64 instructions'}. A Python number such as 0.5 brings float64 in, and so "
        "does 0 beside a float32: write `np.float32(...)`."
    )


@lru_cache(maxsize=16)
def _compiled(kernel: Any, types: tuple) -> Any:
    """The compiler's report, once for all launches; None without a compiler: nobody is blamed."""
    from labkit.gpu import compile_report

    try:
        return compile_report(kernel, types, "sm_75")
    except (ImportError, ValueError):
        return None


def _types(arguments: tuple) -> tuple:
    from numba import typeof

    return tuple(typeof(argument) for argument in arguments)


def worst_line(profile: Any, way: str) -> tuple[int, float]:
    """The line whose global "load" or "store" touches most sectors per request, and how many."""
    by = {line: n[f"global_{way}_sectors_per_request"] for line, n in profile.by_line.items()}
    line = max(by, key=by.get, default=0)  # an empty kernel has no lines
    return line, by.get(line, 0)
