"""`profile(kernel, grid, block, *args)`: numba_simt's, with numbers that say who counted them."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from labkit.provenance import Quantity, counted
from numba_simt.profiling import profiler
from numba_simt.profiling.counters import COUNTERS


def profile(
    kernel: Any,
    grid: Any,
    block: Any,
    *args: Any,
    **options: int | None,
) -> "Profile":
    """Launch `kernel[grid, block](*args)` on the SIMT machine, as numba_simt's `profile` does."""
    found = profiler.profile(kernel, grid, block, *args, **options)
    return Profile(**vars(found))


@dataclass(frozen=True, repr=False)
class Profile(profiler.Profile):
    """What one launch cost, and what is wrong with it. Every number is counted, exactly."""

    def quantity(self, name: str) -> Quantity:
        """The counter `name` with its unit and provenance; ValueError if there is none."""
        if name not in self.counters:
            near = get_close_matches(name, self.counters, 3, 0) or sorted(self.counters)
            raise ValueError(f"There is no counter {name!r}. Near it: {', '.join(near)}.")
        return counted(self.counters[name], COUNTERS[name].unit, profiler.BY)
