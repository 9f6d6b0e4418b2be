"""The machines of the course and the roofline: how fast can a kernel run on a machine at best?

`machine("t4")` looks a machine up in `hardware.toml`, where every figure has its source;
`measure_this_machine()` measures the one you sit at; `roofline()` says which of two limits holds:

    attainable [FLOP/s] = min(peak [FLOP/s], intensity [FLOP/B] x bandwidth [B/s])

Source of the model: Williams, Waterman and Patterson, "Roofline", Communications of the ACM, 2009.
"""

import math
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from labkit import extras, machine_rates
from labkit.errors import row_of
from labkit.machine_probe import this_machine
from labkit.provenance import Quantity, measured, predicted, published

# Number formats, and the unit of a rate in them; then the units of the other figures.
FORMATS = {
    "fp64": "FLOP/s",
    "fp32": "FLOP/s",
    "tf32": "FLOP/s",
    "fp16": "FLOP/s",
    "bf16": "FLOP/s",
    "fp8": "FLOP/s",
    "fp4": "FLOP/s",
    "int8": "OP/s",
    "int4": "OP/s",
}
MONTH = r"20\d\d-\d\d"
STANDS_IN = {  # what does a machine's work where there is none
    "gpu": "the SIMT machine stands in for a GPU",
    "tpu": "the TPU's real compiler needs no TPU, and eight virtual devices stand in for its cores",
    "fpga": "real tools make your circuits and run them, and a virtual board stands in for a Pynq",
    "distributed": "processes of this computer stand in for the machines of a cluster",
}
UNITS = {
    "bandwidth": "B/s",
    "memory": "B",
    "on_chip": "B",
    "ici": "B/s",
    "power": "W",
    "die": "mm²",
    "price": "USD",
}


@dataclass(frozen=True)
class Machine:
    """A machine's limits. Peaks are dense rates per number format: no sparsity counted."""

    key: str
    name: str
    kind: str  # "cpu", "gpu", "tpu" or "fpga"
    year: int | None
    peak: dict[str, Quantity]  # FLOP/s for fp.., tf32, bf16; OP/s for int..
    bandwidth: Quantity  # B/s, main memory
    memory: Quantity  # B; of NVIDIA's and AMD's GPUs as their driver reports it
    clock: float | str = "not given"  # Hz, at which the peaks are told
    power: Quantity | None = None  # W
    die: Quantity | None = None  # mm², area of the chip; of a TPU an upper limit
    price: Quantity | None = None  # USD, or USD/h in a cloud
    price_with_host: bool | None = None  # whether its host computer is in the price; None: not said
    on_chip: Quantity | None = None  # B, block RAM of an FPGA
    ici: Quantity | None = None  # B/s, all links of a TPU to its neighbours, both ways counted
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


@cache
def machines() -> Mapping[str, Machine]:
    """All machines of the table, by key. A figure made by a formula is predicted, not published.

    Raises ValueError for a price whose source has no month, or does not say whether the host
    computer is in it.
    """
    text = Path(__file__).with_name("hardware.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)

    found = {}
    for key, row in table["machines"].items():
        found[key] = _machine(key, row, table["sources"])
    return MappingProxyType(found)


def _machine(key: str, row: dict, sources: dict) -> Machine:
    """One machine from its row of the table."""
    if "price" in row and not re.fullmatch(MONTH, sources[row["price"]["source"]].get("date", "")):
        raise ValueError(
            f"hardware.toml: the price of {key} comes from {row['price']['source']}, which has no "
            'month. Add the month that its prices are of, as date = "2026-05".'
        )
    fields = dict(row)
    if "price" in row:
        fields["price_with_host"] = _with_host(key, row["price"]["source"], sources)
    for name, unit in UNITS.items():
        if name in row:
            fields[name] = _figure(row[name], unit, sources)
    peak = {}
    for number_format, entry in row["peak"].items():
        peak[number_format] = _figure(entry, FORMATS[number_format], sources)
    fields["peak"] = peak
    return Machine(key, **fields)


def _with_host(key: str, source: str, sources: dict) -> bool:
    """Whether the prices of this source include the host computer."""
    if "with_host" not in sources[source]:
        raise ValueError(
            f"hardware.toml: the price of {key} comes from {source}, which does not say whether "
            "the host computer is in its prices. Add with_host = true or false."
        )
    return sources[source]["with_host"]


def _figure(entry: dict, usual_unit: str, sources: dict) -> Quantity:
    """An entry of the table, such as { value = 70, source = "nvidia_t4" }, as a quantity."""
    value = float(entry["value"])
    unit = entry.get("unit", usual_unit)
    source = sources[entry["source"]]
    cited = f"{source['title']}, {source['url']}"
    if usual_unit == UNITS["price"]:
        cited = f"{source['title']} ({source['date']}), {source['url']}"
    if "formula" in entry:
        return predicted(value, unit, f"{entry['formula']}; figures of {cited}")
    return published(value, unit, cited)


def machine(key: str) -> Machine:
    """The machine with this key, as "t4" or "tpu_v5e". ValueError names the near matches."""
    return row_of(machines(), key, "machine")


@dataclass(frozen=True)
class Roof:
    """The best that a kernel of one intensity can reach on a machine, and which limit it meets."""

    attainable: Quantity  # FLOP/s or OP/s
    bound: str  # "memory" or "compute"
    ridge: float  # FLOP/B

    def __str__(self) -> str:
        return f"{self.attainable}, {self.bound}-bound (ridge at {self.ridge:.3g} FLOP/B)"


def roofline(machine: Machine, intensity: float, number_format: str = "fp32") -> Roof:
    """min(peak, intensity x bandwidth) for `intensity` in FLOP/B; from the ridge on: compute-bound.

    Raises ValueError for a negative intensity and for a format in which the machine has no peak.
    """
    if math.isnan(intensity) or intensity < 0:
        raise ValueError(f"Intensity is FLOP per byte moved, a number >= 0, not {intensity}.")
    peak = machine.rate(number_format)
    ridge = machine.ridge(number_format)
    attainable = min(float(peak), intensity * float(machine.bandwidth))
    bound = "memory" if intensity < ridge else "compute"
    formula = f"the roofline of {machine.name} in {number_format}"
    return Roof(predicted(attainable, peak.unit, formula), bound, ridge)


def measure_this_machine(seconds: float = 1.0) -> Machine:
    """The machine you sit at, its two limits measured in about `seconds`.

    peak["fp32"]  the best float32 matrix product of NumPy, 2 n^3 FLOP each; once PyTorch is loaded
                  its best convolution too, which may use instructions that NumPy does not
    bandwidth     the best copy, on all cores, of an array far larger than the caches; bytes read
                  plus bytes written. Where a cache first fetches the line that is overwritten
                  (write-allocate), up to half as much again moves; this is not counted.
    `notes` says with which sizes. Raises ValueError unless 0 < seconds <= 60.
    """
    if not 0 < seconds <= 60:
        raise ValueError(f"seconds to measure for: above 0 and up to 60, not {seconds}.")
    here = this_machine()
    flops, product = machine_rates.best_product(seconds / 2)
    if "torch" in sys.modules:
        torch_flops, convolution = machine_rates.best_convolution(seconds / 2)
        if torch_flops > flops:
            flops, product = torch_flops, convolution
    bandwidth, copy = machine_rates.best_copy(seconds / 2, here.memory, here.cores)
    return Machine(
        key="this_machine",
        name=here.name,
        kind="cpu",
        year=None,
        peak={"fp32": measured(flops, "FLOP/s")},
        bandwidth=measured(bandwidth, "B/s"),
        memory=measured(here.memory, "B"),
        notes=f"{product}; {copy}.",
    )


def stands_in(chapter: str) -> str:
    """What does the work of a chapter's machine here, as "the SIMT machine stands in for a GPU"."""
    gpu = this_machine().accelerators.get("CUDA GPU", "")
    return f"kernels run on the {gpu}" if chapter == "gpu" and gpu else STANDS_IN[chapter]


def runs_on(chapter: str = "") -> None:
    """Print, in one line, what a lesson runs on: the line that every lesson begins with.

    chapter    "gpu", "tpu", "fpga" or "distributed": what stands in for its machine is said, and
               which of its packages are missing
    """
    missing = extras.what_to_run(chapter) if chapter else ""
    here = f"; {stands_in(chapter)}" if chapter else ""
    print(f"Runs on: {this_machine()}{here}.")
    if missing:
        print(missing)
