"""What a launch on the SIMT machine asked of memory, and how many of its lanes worked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.provenance import Quantity, counted
from numba_simt.profiling.counters import SECTOR, WARP

if TYPE_CHECKING:
    from labkit.gpu.profiler import Profile
    from numba_simt.execution.machine import Access

BY = "the SIMT machine"


def asked_per_used(profile: Profile) -> Quantity:
    """Bytes of all sectors that a launch's reads touch, for each byte that its lanes read.
    (Lesson memory_and_warps.)
    """
    counters = profile.counters
    asked = SECTOR * counters["global_load_sectors"]
    return counted(asked / counters["global_load_bytes"], "B per B", BY)


def asked_per_element(profile: Profile, elements: int) -> Quantity:
    """Bytes of all sectors that a launch touches, reading and writing, for each of its elements.
    (Lesson memory_and_warps.)
    """
    return counted(profile.counters["traffic_bytes"] / elements, "B", BY)


def first_read(profile: Profile, array: str) -> Access:
    """A launch's first read of the array that its kernel calls by this name.
    (Lesson memory_and_warps.)
    """
    for access in profile.accesses:
        if (access.array, access.kind) == (array, "load"):
            return access
    raise ValueError(f"No lane reads an array that is called {array!r}.")


def passes_per_read(profile: Profile) -> Quantity:
    """Passes over the banks that a warp's read of shared memory takes, on average.
    (Lesson memory_and_warps.)
    """
    counters = profile.counters
    passes = counters["shared_load_transactions"] / counters["shared_load_requests"]
    return counted(passes, "passes", BY)


def lanes_at_work(profile: Profile) -> Quantity:
    """The share of lanes that work in the lines of a kernel that compute floating-point numbers.
    (Lesson memory_and_warps.)
    """
    lines = [counts for counts in profile.by_line.values() if counts["flops"]]
    lanes = sum(counts["lanes"] for counts in lines)
    instructions = sum(counts["instructions"] for counts in lines)
    return counted(100 * lanes / (WARP * instructions), "%", BY)
