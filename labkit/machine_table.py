"""What the table of machines is made of, and how `hardware.toml` is read and checked.

The file's header says how the figures were obtained. A figure is published, quoted from its source,
or predicted, where it names the formula that made it from figures of its source.
"""

import math
import tomllib
from dataclasses import dataclass

from labkit.provenance import Quantity, predicted, published

KINDS = ("cpu", "gpu", "tpu", "fpga")
# Number formats, and the unit of a rate in them.
FORMATS = {f: "FLOP/s" for f in ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4")}
FORMATS |= {f: "OP/s" for f in ("int8", "int4")}
# The units of the other figures; the first one where an entry names none.
UNITS = {"bandwidth": ("B/s",), "memory": ("B",), "on_chip": ("B",), "power": ("W",)}
UNITS |= {"price": ("USD", "USD/h")}


@dataclass(frozen=True)
class Machine:
    """A machine's limits. Peaks are dense rates per number format: no sparsity counted."""

    key: str
    name: str
    kind: str  # one of KINDS
    year: int | None
    peak: dict[str, Quantity]  # FLOP/s for fp.., tf32, bf16; OP/s for int..
    bandwidth: Quantity  # B/s, main memory
    memory: Quantity  # B
    power: Quantity | None = None  # W
    price: Quantity | None = None  # USD, or USD/h in a cloud
    on_chip: Quantity | None = None  # B, block RAM of an FPGA
    notes: str = ""

    def rate(self, number_format: str = "fp32") -> Quantity:
        """The peak in this format; ValueError names the formats that there are, if not this one."""
        if number_format not in self.peak:
            has = ", ".join(self.peak)
            raise ValueError(f"{self.name} has no peak rate in {number_format!r}. It has: {has}.")
        return self.peak[number_format]

    def ridge(self, number_format: str = "fp32") -> float:
        """peak / bandwidth: the FLOP/B at which memory and arithmetic take equally long."""
        return float(self.rate(number_format)) / float(self.bandwidth)


def parse(text: str) -> dict[str, Machine]:
    """Machines by key from the table's text; ValueError names the machine and field at fault."""
    data = tomllib.loads(text)
    for key, source in data["sources"].items():
        if not source.get("title") or not source.get("url", "").startswith("https://"):
            raise ValueError(
                f"hardware.toml: source {key!r}: it needs a title and an https address."
            )
    return {key: _machine(key, row, data["sources"]) for key, row in data["machines"].items()}


def _machine(key: str, row: dict, sources: dict[str, dict]) -> Machine:
    where, peak = f"hardware.toml: machine {key!r}", row.get("peak", {})
    if row.get("kind") not in KINDS:
        raise ValueError(f"{where}, kind: {row.get('kind')!r} is not one of {', '.join(KINDS)}.")
    if strange := peak.keys() - FORMATS:
        raise ValueError(f"{where}, peak: no number format is called {min(strange)!r}.")

    def figure(name: str, entry: dict, units: tuple[str, ...]) -> Quantity:
        return _figure(entry, units, sources, f"{where}, {name}")

    peak = {f: figure(f"peak.{f}", entry, (FORMATS[f],)) for f, entry in peak.items()}
    figures = {name: figure(name, row[name], UNITS[name]) for name in UNITS if name in row}
    try:
        return Machine(key, **{**row, **figures, "peak": peak})
    except TypeError as error:  # a field is missing, or is none
        raise ValueError(f"{where}: {error}.") from error


def _figure(entry: dict, units: tuple[str, ...], sources: dict[str, dict], where: str) -> Quantity:
    entry = entry if isinstance(entry, dict) else {"value": f"{entry!r} without a source"}
    value, source = entry.get("value"), sources.get(entry.get("source"))
    if isinstance(value, bool | str) or not value or not 0 < value < math.inf:
        raise ValueError(f"{where}: the value must be a positive number, not {value!r}.")
    if source is None:
        raise ValueError(f"{where}: its source {entry.get('source')!r} is not in [sources].")
    unit = entry.get("unit", units[0])
    if unit not in units:
        raise ValueError(f"{where}: the unit {unit!r} is not one of {', '.join(units)}.")
    says = f"{source['title']}, {source['url']}"
    if formula := entry.get("formula"):
        return predicted(float(value), unit, f"{formula}; figures of {says}")
    return published(float(value), unit, says)
