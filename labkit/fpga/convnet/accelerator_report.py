"""What the accelerator takes on the XC7Z020, for some foldings, as Yosys reported it once.

    stored(Folding(conv2=2)).budget()

Synthesis of the whole accelerator takes a minute or two, so that `tools/accelerator_report.py` has
stored the reports. One of other sources than today's is refused. Lesson folding_under_a_budget.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from labkit.fpga import synthesize
from labkit.fpga.convnet import budget
from labkit.fpga.convnet.accelerator import TOP
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.fpga.convnet.accelerator_words import CONV2_CHANNEL_LANES, FC2_LANES, FC2_PRODUCTS
from labkit.fpga.cycle_formulas import array_multipliers, conv_multipliers
from labkit.fpga.errors import RTLError
from labkit.fpga.library import library
from labkit.fpga.sources import read_sources, without_comments
from labkit.fpga.synthesize import Synthesis
from labkit.fpga.toolchain.multipliers import Multiplier, Multipliers
from labkit.fpga.toolchain.tools import without_patch
from labkit.fpga.toolchain.yosys import yosys_version
from labkit.provenance import compiled

STORED = Path(__file__).parents[2] / "data" / "accelerator.synthesis.json"
COMMAND = "python tools/accelerator_report.py"
FOLDINGS = (
    Folding(conv1=1, conv2=1, fc1=8),
    Folding(conv1=1, conv2=2, fc1=8),
    Folding(conv1=2, conv2=1, fc1=8),
    Folding(conv1=1, conv2=2, fc1=16, resident=True),
)


def multipliers_of(folding: Folding) -> int:
    """Multipliers that multiply inputs by weights: 27 conv1 + 72 conv2 + fc1 + 8."""
    return (
        conv_multipliers(3, folding.conv1)
        + conv_multipliers(CONV2_CHANNEL_LANES, folding.conv2)
        + array_multipliers(folding.fc1, 1)
        + array_multipliers(FC2_LANES, FC2_PRODUCTS)
    )


def stored(folding: Folding, path: Path = STORED) -> Synthesis:
    """The stored report of a folding.

    Raises RTLError where there is none, and where it is of other sources than today's.
    """
    reports = json.loads(path.read_text("utf-8"))
    found = [report for report in reports if report["folding"] == asdict(folding)]
    if not found:
        there = "; ".join(str(Folding(**report["folding"])) for report in reports)
        raise RTLError(
            f"No report of {folding} is stored, only of {there}. `synthesize` makes one: "
            'synthesize(library("accelerator"), "accelerator", folding.parameters), 1 to 2 minutes.'
        )
    report = found[0]
    if report["digest"] != digest(folding):
        raise RTLError(
            f"The stored report of {folding} is of other sources than today's, so that it says "
            f"nothing of them. Make it again: {COMMAND}"
        )
    return _read(report)


def digest(folding: Folding) -> str:
    """SHA-256 over the parameters and the accelerator's sources without comments and blanks."""
    return digest_of(TOP, folding.parameters)


def digest_of(top: str, parameters: Mapping[str, int]) -> str:
    """SHA-256 over the parameters and a module's sources without comments and blanks."""
    parts = [f"{name}={value}" for name, value in sorted(parameters.items())]
    for name, text in read_sources(library(top), top).files:
        parts += [name, *without_comments(text).split()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def fresh(folding: Folding) -> dict:
    """Synthesises a folding, as what is stored of it; a minute or two.

    Raises RTLError where synthesis has removed multipliers that the formula asks for.
    """
    at_once = multipliers_of(folding)
    found = synthesize(library(TOP), TOP, folding.parameters, multiply_adds_per_cycle=at_once)
    return {
        "folding": asdict(folding),
        "digest": digest(folding),
        "yosys": yosys_version(),
        "cells": found.cells,
        "multipliers": {
            kind: _grouped(getattr(found.multipliers, kind))
            for kind in ("written", "left", "by_constant")
        },
    }


def write(reports: Iterable[dict], path: Path = STORED) -> None:
    """Stores reports of `fresh`, one on each line."""
    lines = ",\n".join(json.dumps(report) for report in reports)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def differences(report: dict, path: Path = STORED) -> list[str]:
    """In which entries a report of `fresh` differs from what is stored of its folding."""
    for kept in json.loads(path.read_text("utf-8")):
        if kept["folding"] == report["folding"]:
            return [name for name in report if kept.get(name) != report[name]]
    return ["folding"]


def _grouped(multipliers: Iterable[Multiplier]) -> list[dict]:
    """Equal multipliers once, with their number; of a place only the file."""
    rows = Counter(
        (one.place.partition(",")[0], one.a_bits, one.b_bits, one.by_constant, one.in_dsp)
        for one in multipliers
    )
    names = ("place", "a_bits", "b_bits", "by_constant", "in_dsp")
    return [
        {"count": count} | dict(zip(names, row, strict=True))
        for row, count in sorted(rows.items(), key=str)
    ]


def _spread(groups: Iterable[dict]) -> tuple[Multiplier, ...]:
    """The multipliers of `_grouped` one by one."""
    found = []
    for group in groups:
        fields = dict(group)
        count = fields.pop("count")
        found += [Multiplier(**fields)] * count
    return tuple(found)


def _read(report: dict) -> Synthesis:
    cells = report["cells"]
    by = f"Yosys {without_patch(report['yosys'])} for the {budget.device_name()}"
    taken = {
        resource: compiled(budget.taken(resource, cells), unit, by)
        for resource, unit in budget.RESOURCES.items()
    }
    kinds = {kind: _spread(groups) for kind, groups in report["multipliers"].items()}
    return Synthesis(TOP, multipliers=Multipliers(**kinds), cells=cells, **taken)
