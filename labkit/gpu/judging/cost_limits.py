"""What a right kernel may cost: about as much as ours, on the same arguments.

Every kernel exercise shares these limits. They compare counts of the SIMT machine, which are the
same on every computer, and leave room for other styles: a kernel may read a number several times,
or let half of the threads idle. Each limit is a function that gives a sentence where it is passed.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from numba_simt import ops

# How many times as much as our kernel a learner's may need, and what is allowed besides: small
# launches are ragged.
SECTORS_PER_REQUEST = 2
MORE_SECTORS = 128
BYTES = 8
MORE_BYTES = 4096
CONFLICTS = 2
MORE_CONFLICTS = 64
ATOMICS = 4
FEW = 3  # our kernel has so many times the threads at work
WARP = 32
GLOBAL = ops.SPACES.index("global")


@dataclass(frozen=True)
class ProfiledLaunch:
    """One launch of a kernel: what it counted, and what its arrays were."""

    kernel: Any
    arguments: tuple
    outputs: tuple
    profile: Any  # labkit.gpu.profile

    @property
    def counters(self) -> dict[str, float]:
        """What was counted in the whole launch, by name."""
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
        at_work: dict[tuple[int, int], np.ndarray] = {}  # warp -> which of its lanes
        for record in records:
            if record.space == GLOBAL:
                active = np.frombuffer(record.addresses, np.int64) >= 0
                warp = (record.block, record.warp)
                at_work[warp] = at_work.get(warp, False) | active
        return sum(int(active.sum()) for active in at_work.values())


def over_limit(theirs: ProfiledLaunch, ours: ProfiledLaunch, anywhere: bool = False) -> str | None:
    """What costs too much in a kernel whose numbers are right, as the end of a sentence.

    anywhere    whether its requests may touch as many sectors as they like
    """
    for limit in (few_threads, atomics, repeats if anywhere else traffic, conflicts):
        if sentence := limit(theirs, ours):
            return sentence
    return float64(theirs)


def few_threads(theirs: ProfiledLaunch, ours: ProfiledLaunch) -> str | None:
    """Most threads leave the work to a few. Only requests to global memory count as work."""
    threads = theirs.threads
    could = ours.threads
    if threads is None or could is None or could < WARP or threads * FEW > could:
        return None
    return (
        f"of all threads {threads:,} alone asked for anything in global memory, where {could:,} "
        "could: a few do the work of all. Share it out among all threads of the launch."
    )


def traffic(theirs: ProfiledLaunch, ours: ProfiledLaunch) -> str | None:
    """Sectors for each request, and bytes asked for again and again; loads and stores apart."""
    for access in ("load", "store"):
        sentence = scattered(theirs, ours, access) or repeated(theirs, ours, access)
        if sentence:
            return sentence
    return None


def repeats(theirs: ProfiledLaunch, ours: ProfiledLaunch) -> str | None:
    """Bytes asked for again and again; loads and stores."""
    return repeated(theirs, ours, "load") or repeated(theirs, ours, "store")


def scattered(theirs: ProfiledLaunch, ours: ProfiledLaunch, access: str) -> str | None:
    """A warp's requests touch more sectors than ours, for each request and in all."""
    name = f"global_{access}_sectors"
    sectors = theirs.counters[name]
    enough = ours.counters[name]
    each = f"{name}_per_request"
    if theirs.counters[each] <= SECTORS_PER_REQUEST * max(1, ours.counters[each]):
        return None
    if sectors <= SECTORS_PER_REQUEST * enough + MORE_SECTORS:
        return None
    line, found = worst_line(theirs.profile, access)
    where = f"in line {line} a warp's {access}"
    if not found:  # only the functions that it calls ask for memory, and lie elsewhere
        where, found = f"in a function that it calls a warp's {access}", theirs.counters[each]
    return (
        f"{where} touches {found:.0f} sectors of global memory; in all, "
        f"{sectors:,} sectors where {enough:,} would do. Let neighbouring threads touch "
        "neighbouring elements."
    )


def repeated(theirs: ProfiledLaunch, ours: ProfiledLaunch, access: str) -> str | None:
    """The same bytes are loaded or stored several times."""
    name = f"global_{access}_bytes"
    asked = theirs.counters[name]
    enough = ours.counters[name]
    if asked <= BYTES * enough + MORE_BYTES:
        return None
    if access == "load":
        done, again = "asks for", "asked for"
    else:
        done, again = "stores", "stored"
    return (
        f"it {done} {asked:,} B in global memory where {enough:,} B would do: the same is {again} "
        "again and again."
    )


def conflicts(theirs: ProfiledLaunch, ours: ProfiledLaunch) -> str | None:
    """More conflicts than ours has; one for every eight requests is free."""
    counters = theirs.counters
    met = counters["bank_conflicts"]
    enough = ours.counters["bank_conflicts"]
    requests = counters["shared_load_requests"] + counters["shared_store_requests"]
    free = MORE_CONFLICTS + requests / 8
    if met <= CONFLICTS * enough + free:
        return None
    return (
        f"its {requests:,} requests to shared memory have {met:,} bank conflicts, ours has "
        f"{enough:,}: lanes of a warp ask one bank for different words. "
        "Let neighbouring threads touch neighbouring words."
    )


def atomics(theirs: ProfiledLaunch, ours: ProfiledLaunch) -> str | None:
    """More atomic operations than ours has; one for each result is free."""
    asked = theirs.counters["atomic_lanes"]
    enough = ours.counters["atomic_lanes"]
    results = sum(output.size for output in theirs.outputs)
    if asked <= ATOMICS * enough + results:
        return None
    return (
        f"{asked:,} atomic operations are asked for, where {enough:,} would do. "
        "Those on one address run one after the other."
    )


def float64(theirs: ProfiledLaunch) -> str | None:
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


def float64_operations(profile: Any, kernel: Any, x: np.ndarray) -> str | None:
    """Any addition, multiplication or division in float64: the limit of an exercise that has one.

    Numba makes them of 0.0, -math.inf and 1 beside float32. No compiler is asked.
    """
    in_float64 = profile.counters["flops_fp64"] / x.size
    all_sizes = profile.counters["flops"] / x.size
    if not in_float64:
        return None
    return (
        f"{in_float64:.2g} of its {all_sizes:.2g} additions, multiplications and divisions for "
        "each element are in float64. Look at each number that is written in the kernel: what type "
        "has it, and what type has the result?"
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


def worst_line(profile: Any, access: str) -> tuple[int, float]:
    """The line whose global "load" or "store" touches most sectors per request, and how many."""
    name = f"global_{access}_sectors_per_request"
    sectors = {line: counters[name] for line, counters in profile.by_line.items()}
    worst = max(sectors, key=sectors.get, default=0)  # an empty kernel has no lines
    return worst, sectors.get(worst, 0)


def owner_alone(profile: Any, kernel: Any, *inputs: Any) -> str | None:
    """For `limit`: who owns a result collects it and writes it, so nothing is added atomically.
    (Lessons convolution_kernels and convolution_kernels_backwards.)
    """
    if not (atomics := profile.counters["atomic_lanes"]):
        return None
    return (
        f"{atomics:,} additions are atomic. Here each result has an owner, who alone writes it: "
        "collect in a variable, and no addition needs to be atomic."
    )
