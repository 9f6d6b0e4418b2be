"""What lies around a run: the GPU that is meant, one that is there, and child processes."""

import os
import re
import shutil
import sys
from pathlib import Path

from numba_simt.errors import UsageError

TARGET = ("NUMBA_SIMT_CC", "NUMBA_SIMT_STRICT")  # variables that the machine reads at each launch
CAPABILITIES = (3, 5), (12, 1)  # the first and the last one for which a Numba compiles
ANEW = tuple(f"multiprocessing.popen_{way}" for way in ("spawn_posix", "spawn_win32", "forkserver"))
_forks = 0
_known: set[str] = set()  # of ANEW: what was loaded before, and not by the script
_watching = False


def choose_target(capability: str | None, strict: bool) -> None:
    """For this process and its children; UsageError for what is no compute capability."""
    if capability:
        if not re.fullmatch(r"\d+\.\d", capability):
            raise UsageError(f"{capability!r} is no compute capability, a number such as 6.1.")
        first, last = CAPABILITIES
        if not first <= tuple(map(int, capability.split("."))) <= last:
            raise UsageError(
                f"there is no compute capability {capability} that Numba compiles for: give one "
                f"from {first[0]}.{first[1]} to {last[0]}.{last[1]}."
            )
        os.environ[TARGET[0]] = capability
    if strict:
        os.environ[TARGET[1]] = "1"


def gpu_is_there() -> bool:
    """Whether this computer has an NVIDIA GPU; its driver is not asked."""
    return Path("/dev/nvidia0").exists() or shutil.which("nvidia-smi") is not None


def count_children() -> None:
    """From now on `about_children` knows of what is begun; forks are counted once for a process."""
    global _forks, _known, _watching
    _forks = 0
    _known = {name for name in ANEW if name in sys.modules}
    if not _watching and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_count)
    _watching = True


def _count() -> None:
    global _forks
    _forks += 1


def about_children() -> list[str]:
    """Sentences on what child processes of this one did, which no report has."""
    said = []
    if _forks:
        many = "A child process was" if _forks == 1 else f"{_forks:,} child processes were"
        said.append(
            f"{many} forked: launches there ran on the machine, but are not in this report."
        )
    if any(name in sys.modules and name not in _known for name in ANEW):
        said.append(
            "Child processes were begun anew by multiprocessing: there numba.cuda is not the "
            'machine. Use multiprocessing.get_context("fork"), or launch in this process.'
        )
    return said
