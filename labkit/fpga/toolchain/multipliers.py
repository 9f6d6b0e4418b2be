"""The multipliers of a module: written, left after optimisation, and where they ended.

Synthesis removes what cannot be seen from outside: a product that feeds no output, a product with
zero. So a module can look small because it no longer does its work. `refuse` compares the products
that a simulation saw with the multipliers that are left (lesson a_multiply_accumulate_array).
"""

import re
from dataclasses import dataclass

from labkit.fpga.errors import RTLError

# What a wide multiplication is split into bears its name, a dot and more.
_WHOLE = re.compile(r"^(?P<whole>.*\$\d+)(\..*)?$")


@dataclass(frozen=True)
class Multiplier:
    """One `*` of the flattened module.

    place         where it is written: "mac.sv, line 12"; of a sum of products, where the sum is
    a_bits, b_bits   the widths of its operands; of one split into several DSPs, of the widest part
    by_constant   whether an operand is a constant
    in_dsp        whether it ended in DSP48E1s, or is in LUTs; before synthesis None
    """

    place: str
    a_bits: int
    b_bits: int
    by_constant: bool
    in_dsp: bool | None = None


@dataclass(frozen=True)
class Multipliers:
    """What became of the multipliers of a module.

    written      all, before any optimisation, with those of every instance and round of a loop
    left         those that still stand after it and take two variables
    by_constant  those that still stand and take a constant: they can do one job only, and become
                 a DSP, or shifts and additions in LUTs

    Only what is written as `*` is seen: a product made of shifts and additions, or looked up in a
    table, is none of these. A `*` by a power of two is a shift of wires, and is gone. Two products
    of the same operands are one multiplier. One with an operand of a single bit ends in LUTs.
    Yosys never puts two products into one DSP.
    """

    written: tuple[Multiplier, ...]
    left: tuple[Multiplier, ...]
    by_constant: tuple[Multiplier, ...]

    @property
    def in_dsp(self) -> int:
        """How many of `left` are in DSPs."""
        return sum(one.in_dsp for one in self.left)

    @property
    def in_lut(self) -> int:
        """How many of `left` are in LUTs."""
        return len(self.left) - self.in_dsp

    def __str__(self) -> str:
        return (
            f"{len(self.written)} multipliers written; {len(self.left)} left, "
            f"{self.in_dsp} in DSPs and {self.in_lut} in LUTs; "
            f"besides, {len(self.by_constant)} multiply by a constant"
        )


def refuse(multipliers: Multipliers, multiply_adds_per_cycle: float) -> None:
    """Raises RTLError if the module cannot do this many multiply-adds in a cycle.

    multiply_adds_per_cycle   what a simulation counted: products of two variables over the cycles
                              in which the module was fed

    Then what was synthesised is not what was simulated: an output hangs free, or weights are
    constants. A module whose products are not written as `*` is not for this question.
    """
    rate = float(multiply_adds_per_cycle)
    left = len(multipliers.left)
    if rate <= left:
        return
    written = multipliers.written
    said = f"The simulation did {rate:.4g} multiply-adds per cycle, but"
    if not written:
        raise RTLError(f"{said} the module has no multiplier: no product is written as `*`.")
    constants = len(multipliers.by_constant)
    raise RTLError(
        f"{said} of the {len(written)} multipliers in the source ({_places(written)}) synthesis "
        f"left {left} that take two variables; {constants} take a constant, and "
        f"{len(written) - left - constants} are gone, because nothing outside the module sees the "
        "product, an operand is 0 or a power of two, or another multiplier makes the same "
        "product. The report would be of another circuit. Connect every result to an output, and "
        "let data and weights come in through ports."
    )


def from_netlists(written: dict, left: dict) -> Multipliers:
    """The multipliers in Yosys's netlists of one flattened module, each as {cell: description}.

    written   the $mul cells before optimisation
    left      the $mul and DSP48E1 cells after DSPs were chosen and everything was optimised
    """
    whole: dict[str, list[dict]] = {}
    for name, cell in left.items():
        match = _WHOLE.match(name)
        whole.setdefault(match["whole"] if match else name, []).append(cell)
    standing = [_joined(parts) for parts in whole.values()]
    return Multipliers(
        written=tuple(_multiplier(cell) for cell in written.values()),
        left=tuple(one for one in standing if not one.by_constant),
        by_constant=tuple(one for one in standing if one.by_constant),
    )


def _joined(parts: list[dict]) -> Multiplier:
    """The one multiplier that was split into `parts`."""
    found = [_multiplier(part) for part in parts]
    return Multiplier(
        place=found[0].place,
        a_bits=max(one.a_bits for one in found),
        b_bits=max(one.b_bits for one in found),
        by_constant=all(one.by_constant for one in found),
        in_dsp=any(part["type"] == "DSP48E1" for part in parts),
    )


def _multiplier(cell: dict) -> Multiplier:
    """Bits of a connection are numbers of wires, or "0", "1" and "x"."""
    a = cell["connections"]["A"]
    b = cell["connections"]["B"]
    constant = any(all(isinstance(bit, str) for bit in operand) for operand in (a, b))
    return Multiplier(_place(cell), _width(a), _width(b), constant)


def _width(bits: list) -> int:
    """The bits of an operand without the copies of its sign and the zeros in front."""
    width = len(bits)
    while width > 1 and bits[width - 1] in ("0", "x"):
        width -= 1
    while width > 1 and isinstance(bits[width - 1], int) and bits[width - 1] == bits[width - 2]:
        width -= 1
    return width


def _place(cell: dict) -> str:
    """Where it is written: "mac.sv:12.17-12.26|..." of Yosys as "mac.sv, line 12"."""
    source = cell["attributes"].get("src", "").split("|")[0]
    file, _, columns = source.partition(":")
    return f"{file}, line {columns.split('.')[0]}" if columns else "no line known"


def _places(multipliers: tuple[Multiplier, ...]) -> str:
    """The places where they are written, the first four of them."""
    places = list(dict.fromkeys(one.place for one in multipliers))
    more = ["..."] if len(places) > 4 else []
    return "; ".join(places[:4] + more)
