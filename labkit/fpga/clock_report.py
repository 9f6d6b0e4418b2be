"""How fast modules of the course can be clocked on the ECP5, as nextpnr reported it once.

    stored("maxpool2x2").fmax       # Hz, of the worst of five seeds

Each takes a minute or more, so that `tools/clock_report.py` has stored the clocks. One of other
sources than today's is refused. Lesson timing_and_proof.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from labkit.fpga.convnet.accelerator_report import digest_of
from labkit.fpga.errors import RTLError
from labkit.fpga.library import library
from labkit.fpga.ports import CLOCK
from labkit.fpga.sources import RTL
from labkit.fpga.timing import (
    DEVICE,
    SEEDS,
    nextpnr_version,
    place_and_route,
)
from labkit.fpga.toolchain.tools import patient, without_patch
from labkit.fpga.toolchain.yosys import yosys_version
from labkit.provenance import Quantity, compiled

STORED = Path(__file__).parent.parent / "data" / "clocks.ecp5.json"
COMMAND = "python tools/clock_report.py"
ENOUGH = 100e6  # Hz: the clock that the course reckons with
HOURS = 4  # that one tool may take
NOT_PLACED = ("accelerator", "convnet")  # whole networks: hours for five seeds, never waited for
MODULES = tuple(sorted(path.stem for path in RTL.glob("*.sv")))
# A module that its usual parameters make larger than the ECP5.
PARAMETERS = {"weight_store": {"DEPTH": 4096}}


@dataclass(frozen=True)
class Clock:
    """What is stored of a module.

    fmax     the highest clock, Hz, of the worst seed
    by_seed  the highest clock of each seed, MHz
    path     the critical path of the worst seed: what, name and ns of each step
    """

    fmax: Quantity
    by_seed: dict[int, float]
    path: list[tuple[str, str, float]]


def stored(module: str, path: Path = STORED) -> Clock:
    """The stored clock of a module; raises RTLError where there is none of today's sources."""
    report = _kept(path).get(module)
    if report is None or report["digest"] != digest_of(module, PARAMETERS.get(module, {})):
        raise RTLError(
            f"No clock of {module} is stored that is of today's sources. Make it: "
            f"{COMMAND} {module}"
        )
    by_seed = {int(seed): mhz for seed, mhz in report["mhz"].items()}
    tools = f"nextpnr {without_patch(report['nextpnr'])}, {len(by_seed)} seeds"
    worst = compiled(1e6 * min(by_seed.values()), "Hz", f"{tools}, for a {DEVICE}")
    return Clock(worst, by_seed, [tuple(step) for step in report["path"]])


def fresh(module: str, seeds: Iterable[int] = SEEDS) -> dict:
    """Places a module from each seed, as what is stored of it."""
    parameters = PARAMETERS.get(module, {})
    with patient(HOURS * 3600):
        found = place_and_route(_sources(module), module, parameters, tuple(seeds))
    return {
        "module": module,
        "digest": digest_of(module, parameters),
        "yosys": yosys_version(),
        "nextpnr": nextpnr_version(),
        "mhz": {str(seed): round(hertz / 1e6, 2) for seed, hertz in found.by_seed.items()},
        "path": [[step.what, step.name, round(step.ns, 3)] for step in found.critical_path],
    }


def write(reports: Iterable[dict], path: Path = STORED) -> None:
    """Stores reports of `fresh`, one on each line, in place of those of the same modules."""
    kept = _kept(path) | {report["module"]: report for report in reports}
    lines = ",\n".join(json.dumps(kept[module]) for module in sorted(kept))
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def differences(report: dict, path: Path = STORED) -> list[str]:
    """In which entries a report of `fresh` differs from what is stored of its module."""
    kept = _kept(path).get(report["module"], {})
    return [name for name in report if kept.get(name) != report[name]]


def _sources(module: str) -> list[Path | str]:
    """Its files, where the module's own clock is called clk; a bus of AMD's calls it aclk."""
    text = (RTL / f"{module}.sv").read_text("utf-8")
    return library(module, own={module: text.replace("aclk", CLOCK)})


def _kept(path: Path) -> dict[str, dict]:
    if not path.exists():
        return {}
    return {report["module"]: report for report in json.loads(path.read_text("utf-8"))}
