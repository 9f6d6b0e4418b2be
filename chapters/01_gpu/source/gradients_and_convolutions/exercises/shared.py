"""What several exercises of lesson gradients_and_convolutions need."""

from collections.abc import Callable

from labkit.provenance import counted

# The inputs are float64: rounding to float32 shows.
FLOAT64 = {
    "rtol": 1e-9,
    "atol": 1e-12,
}


def costs(*rows: tuple[str, float, str, str]) -> Callable:
    """Rows of (label, number, unit, how it is counted), for after the solution."""

    def counts() -> list:
        found = []
        for label, *count in rows:
            found.append((label, counted(*count)))
        return found

    return counts
