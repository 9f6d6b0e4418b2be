"""A few cycles of a simulation as a table in plain text, for what `check` says of a wrong word.

Dense: a cell of the table is made and aligned in one expression.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labkit.fpga.ports import Port

BEFORE, AFTER = 3, 2  # cycles shown around the one in question


class Lane(NamedTuple):
    """One of the signed numbers that a port holds side by side, lane 0 in the lowest bits."""

    port: str
    lane: int
    bits: int

    def value(self, word: int) -> int:
        """The number in a value of the port."""
        number = int(word) >> self.bits * self.lane & (1 << self.bits) - 1
        return number - (number >> self.bits - 1 << self.bits)


def wave_table(
    trace: Mapping[str, Sequence[int]],
    cycle: int,
    ports: Mapping[str, Port] | None = None,
    lane: Lane | None = None,
) -> str:
    """All ports in six cycles around one: a column for each cycle, a row for each port.

    trace   the value of each port in each cycle
    ports   the ports by their names, where the trace does not know them
    lane    one that has a row of its own, below its port

    Ports that hold several numbers side by side are in hexadecimal, the low digits of wide ones.
    """
    length = min(len(values) for values in trace.values())
    shown = range(max(0, cycle - BEFORE), min(length, cycle + AFTER + 1))
    signals = ports or getattr(trace, "signals", {})
    rows = [("cycle", [str(c) for c in shown])]
    for name, values in trace.items():
        port = signals.get(name)
        label = f"{name}, hex" if is_packed(port) else name
        rows.append((label, [as_shown(values[c], port) for c in shown]))
        if lane and name == lane.port:
            numbers = [str(lane.value(values[c])) for c in shown]
            rows.append((f"{name}, lane {lane.lane}", numbers))
    return aligned(rows)


def as_shown(value: int, port: Port | None) -> str:
    """The value of a port in decimal; of one that holds several numbers, in hexadecimal."""
    return hexadecimal(value, port.width) if is_packed(port) else str(int(value))


def is_packed(port: Port | None) -> bool:
    """Whether a port is wider than one number and has no sign: then it holds several, in bytes."""
    return port is not None and not port.signed and port.width > 8


def hexadecimal(value: int, bits: int) -> str:
    """The value of a port of so many bits in hexadecimal digits; of many, the last eight."""
    digits = (bits + 3) // 4
    text = f"{int(value):0{digits}x}"
    return text if digits <= 12 else f"…{text[-8:]}"


def aligned(rows: Sequence[tuple[str, list[str]]]) -> str:
    """Rows (name, cells) as lines: names to the left, the cells of each column to the right."""
    names, cells_of_rows = zip(*rows, strict=True)
    longest_name = max(map(len, names))
    widths = [max(map(len, column)) for column in zip(*cells_of_rows, strict=True)]
    lines = []
    for name, cells in rows:
        padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join([name.ljust(longest_name), *padded]))
    return "\n".join(lines)
