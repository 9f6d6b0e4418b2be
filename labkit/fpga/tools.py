"""What all the tools share: a package with a version, a limit of time, and last words."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from labkit.fpga.errors import OutOfTime, ToolError, ToolMissing

# Seconds after which a tool is stopped. This only ends a hang: the largest module of the course
# takes a tenth of it.
PATIENCE = 600


def run_tool(
    tool: str,
    work: str,
    cause: str,
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess:
    """Run a tool in `folder`; what it prints is in `stdout` and `stderr`.

    tool, work   for the error: "Yosys", "while it read the module mac"
    cause        what usually keeps it from finishing, and what to do: a sentence or two

    Raises OutOfTime after `PATIENCE` seconds, and ToolError where the system ends it. When the time
    is up, or the learner interrupts, every process ends that the tool has started.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, to be ended as a whole
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            _end(process)
            raise OutOfTime(
                f"{tool} did not finish within {PATIENCE:g} s {work}, and was stopped. {cause}"
            ) from None
        except BaseException:  # such as the notebook's stop button
            _end(process)
            raise
    if process.returncode < 0:  # often for want of memory
        name = signal.Signals(-process.returncode).name
        raise ToolError(f"{tool} was ended by the system ({name}) {work}. {cause}")
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def _end(process: subprocess.Popen) -> None:
    """Ends a tool and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def installed_version(package: str, tool: str) -> str:
    """The version of a tool's package, a part of the key of all that is kept of its answers.

    Raises ToolMissing with what to install when it is missing.
    """
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise ToolMissing(
            f"{tool} is not installed. `pip install {package}` brings it, and so does `make lab`."
        ) from error


def without_patch(version: str) -> str:
    """A version's first two numbers, as tables name a tool: "0.70" of "0.70.0.0.post1118"."""
    return ".".join(version.split(".")[:2])


def last_line(output: str) -> str:
    """The last words of a tool, for a failure that has no better reason."""
    lines = output.strip().splitlines()
    return lines[-1] if lines else "no reason given"
