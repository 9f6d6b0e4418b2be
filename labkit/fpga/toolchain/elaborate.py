"""One process of Yosys for a module: its ports, what Yosys's check finds, and its C++.

Yosys takes many times longer to start than to work on a module of a lesson. So it is asked for all
of this at once, and the answer is kept in the cache, unless Yosys found fault with the module.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit.fpga.errors import RTLError, ToolError
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain import yosys
from labkit.fpga.toolchain.cached import cached, text_of
from labkit.fpga.toolchain.yosys import (
    on_a_copy,
    read_commands,
    refusal,
    start_yosys,
    yosys_version,
)

PORTS, CPP = "ports.json", "design.cpp"
CHECKED = "The check ends here."  # a line of what Yosys prints
NO_FAULT = "Found and reported 0 problems."
# Processes become logic.
SCRIPT = ["proc", f"write_json {PORTS}", *on_a_copy(["flatten", "opt_clean", "check"])]
SCRIPT += [f"log {CHECKED}"]
# Checks for `prove` go, and unknown bits are 0 as in the other engine.
WRITE_CPP = ["chformal -remove", "memory_collect", "setundef -zero", f"write_cxxrtl -O6 -g4 {CPP}"]
# The end of a file that is whole; the latter where a module has nothing inside.
END_OF_CPP = ("\n}", "\n} // namespace cxxrtl_design")


@dataclass(frozen=True)
class Elaborated:
    """A module with its parameters settled. What Yosys did not get to is None.

    ports     the ports of the top as Yosys describes them: direction, bits, signed
    checked   what it printed up to the end of its check
    cpp       the module as C++; also None where nobody has asked for it
    refused   sentence and line of the error with which Yosys ended early
    """

    ports: dict[str, dict]
    checked: str | None
    cpp: str | None
    refused: tuple[str, int | None] | None

    def refusal(self) -> RTLError:
        """The error with which Yosys ended before it got to something that is None."""
        return RTLError(*self.refused)


def elaborated(sources: Sources, parameters: dict[str, int] | None, cpp: bool) -> Elaborated:
    """What Yosys says of the module, from the cache if it was asked before.

    cpp   whether the C++ is wanted as well, now or soon

    Raises RTLError where Yosys does not get as far as the ports.
    """
    chosen = sorted((parameters or {}).items())
    depends_on = [sources.digest, repr(chosen), yosys_version()]
    depends_on.append(text_of(__file__, yosys.__file__))

    def enough(kept: dict) -> bool:
        return not cpp or kept["cpp"] is not None

    def run() -> dict:
        answer = _run(sources, parameters, cpp)
        if answer.refused or NO_FAULT not in (answer.checked or ""):
            raise _NotKept(answer)
        return asdict(answer)

    try:
        return Elaborated(**cached("elaborated", depends_on, run, enough))
    except _NotKept as error:
        return error.answer


class _NotKept(Exception):
    """Carries an answer past the cache."""

    def __init__(self, answer: Elaborated) -> None:
        super().__init__()
        self.answer = answer


def _run(sources: Sources, parameters: dict[str, int] | None, cpp: bool) -> Elaborated:
    script = [*read_commands(sources, parameters), *SCRIPT, *(WRITE_CPP if cpp else [])]
    with sources.laid_out() as folder:
        done = start_yosys(script, folder, sources)
        error = refusal(done.stderr + done.stdout, sources) if done.returncode else None
        netlist = _netlist(folder / PORTS)
        written = _text(folder / CPP)
    ports = _ports(netlist)
    if ports is None and error:
        raise error
    if broken := _broken_text(netlist):
        raise RTLError(
            f"The text {broken!r} in the module {sources.top} has a line break or ends with a "
            "backslash. The tools copy texts into what they write, so keep to one line."
        )
    before, checked, _ = done.stdout.rpartition(f"\n{CHECKED}\n")
    if not error and (ports is None or (cpp and not written.rstrip().endswith(END_OF_CPP))):
        raise ToolError(
            f"What Yosys writes of the module {sources.top} is not whole. Is the disk full? Make "
            f"room in {folder.parent}, or name another folder in the environment variable TMPDIR."
        )
    return Elaborated(
        ports,
        before if checked else None,
        written if cpp and not error else None,
        (str(error), error.line) if error else None,
    )


def _netlist(path: Path) -> dict:
    """What Yosys wrote of all modules; nothing where it is not whole."""
    with suppress(OSError, ValueError):
        return json.loads(path.read_text("utf-8"))["modules"]
    return {}


def _ports(netlist: dict) -> dict[str, dict] | None:
    """The ports of the top in a netlist; None without one."""
    tops = [m for m in netlist.values() if int(m["attributes"].get("top", "0"), 2)]
    return tops[0]["ports"] if tops else None


def _broken_text(part: Any) -> str | None:
    """A name, or the text of an attribute, that would not stay in a comment of the C++.

    There its next line would be C++, which is compiled and run.
    """
    if isinstance(part, str):
        return part if part.endswith("\\") or not part.isprintable() else None
    inside = (*part, *part.values()) if isinstance(part, dict) else part
    answer = map(_broken_text, inside if isinstance(part, dict | list) else ())
    return next(filter(None, answer), None)


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
