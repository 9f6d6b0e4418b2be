"""What lies around a run: a GPU that is not used, and child processes that are not looked into."""

import os
import shutil
import sys
from pathlib import Path

_forks = 0
_watching = False


def gpu_is_there() -> bool:
    """Whether this computer has an NVIDIA GPU; its driver is not asked."""
    return Path("/dev/nvidia0").exists() or shutil.which("nvidia-smi") is not None


def count_forks() -> None:
    """From now on `about_children` knows of forks; once for a process."""
    global _forks, _watching
    _forks = 0
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
    ways = ("spawn_posix", "spawn_win32", "forkserver")
    if any(f"multiprocessing.popen_{way}" in sys.modules for way in ways):
        said.append(
            "Child processes were begun anew by multiprocessing: there numba.cuda is not the "
            'machine. Use multiprocessing.get_context("fork"), or launch in this process.'
        )
    return said
