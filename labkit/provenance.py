"""Where a number comes from, in five words that are used for nothing else.

    measured   on a device, by running and timing
    counted    exactly, by a simulator or by counting the operations of an algorithm
    compiled   reported by a vendor's compiler
    predicted  by a formula
    published  by somebody else, with the source

A `Quantity` carries its word and its device or source, and prints both. A number without a source
cannot be made: `measured`, `counted`, `compiled`, `predicted` and `published` are the ways in.
"""

from dataclasses import dataclass

from labkit.machine_probe import this_machine

# What stands between a word and its device or source: "measured on", "published in".
_LINK = {"measured": "on", "counted": "by", "compiled": "by", "predicted": "by", "published": "in"}
WORDS = tuple(_LINK)
_PREFIXED = {"FLOP", "OP", "B", "FLOP/s", "OP/s", "B/s", "MAC", "MAC/s", "s", "W", "Hz"}
# SI prefixes and their factors, the largest first.
_LARGE = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}
_SMALL = {"m": 1e-3, "µ": 1e-6, "n": 1e-9}


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, its provenance word and its device or source.

    `float(q)` is the bare value in the bare unit: 3.2e9 for "3.2 GB/s".
    """

    value: float
    unit: str
    word: str
    source: str

    def __post_init__(self) -> None:
        if self.word not in WORDS:
            raise ValueError(f"{self.word!r} is no provenance word. Use: {', '.join(WORDS)}.")
        if not str(self.source).strip():
            raise ValueError(f"A {self.word} number needs its device or source; this one has none.")

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    @property
    def number(self) -> str:
        """Value and unit alone, with an SI prefix where that is usual: '3.2 GB/s', '12,345'."""
        if not self.prefixed:
            return f"{rounded(self.value)} {self.unit}".strip()
        prefix, factor = self._prefix()
        return f"{self.value / factor:.3g} {prefix}{self.unit}"

    @property
    def prefixed(self) -> bool:
        """Whether the unit usually has an SI prefix: bytes have, "times" has not."""
        return self.unit in _PREFIXED

    @property
    def origin(self) -> str:
        """The word with its device or source: 'counted by the SIMT machine'."""
        return f"{self.word} {_LINK[self.word]} {self.source}"

    def _prefix(self) -> tuple[str, float]:
        """The largest SI prefix that leaves a number of at least 1, and its factor."""
        factors = {**_LARGE, "": 1.0}
        if self.unit in {"s", "W"} and self.value:
            factors |= _SMALL
        for prefix, factor in factors.items():
            # 0.9995 rounds to 1000 of the next smaller prefix, so it already belongs to the larger.
            if abs(self.value) >= 0.9995 * factor:
                return prefix, factor
        return prefix, factor  # below the smallest

    def __str__(self) -> str:
        return f"{self.number} ({self.origin})"


def rounded(value: float) -> str:
    """A number as the course prints it: three digits; all of the whole part of a larger one."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def measured(value: float, unit: str, device: str | None = None) -> Quantity:
    """A number read off a clock or a counter of `device`; without one, of this machine."""
    if device is None:
        device = this_machine().name
    return Quantity(value, unit, "measured", device)


def counted(value: float, unit: str, by: str) -> Quantity:
    """An exact number, counted by a simulator or from an algorithm named in `by`."""
    return Quantity(value, unit, "counted", by)


def compiled(value: float, unit: str, by: str) -> Quantity:
    """A number reported by the vendor's compiler named in `by`."""
    return Quantity(value, unit, "compiled", by)


def predicted(value: float, unit: str, by: str) -> Quantity:
    """A number that the formula or the person named in `by` expects."""
    return Quantity(value, unit, "predicted", by)


def published(value: float, unit: str, source: str) -> Quantity:
    """A number that somebody else published; `source` says who and where."""
    return Quantity(value, unit, "published", source)
