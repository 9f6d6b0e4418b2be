"""The GPU that launches stand for, where that decides what is a mistake, and how strictly.

Read from the environment at each launch: NUMBA_SIMT_CC, a compute capability such as 7.5 or 90,
and NUMBA_SIMT_STRICT, which is 1 where what is legal on that GPU alone is an error, too.
"""

import os
import re
from typing import NamedTuple

from numba_simt.errors import UsageError

CAPABILITY = "NUMBA_SIMT_CC"
STRICT = "NUMBA_SIMT_STRICT"
DEFAULT = (7, 5)
INDEPENDENT_THREADS = (7, 0)  # since then each thread has a program counter of its own


class Target(NamedTuple):
    """A GPU's compute capability (major, minor), and whether older GPUs count as well."""

    compute_capability: tuple[int, int] = DEFAULT
    strict: bool = False

    @property
    def independent_threads(self) -> bool:
        """Whether lanes of a warp may wait for each other, and barriers spare who has returned."""
        return self.compute_capability >= INDEPENDENT_THREADS and not self.strict


def target() -> Target:
    """What the environment says now; UsageError if that is no compute capability."""
    given = os.environ.get(CAPABILITY, "")
    strict = os.environ.get(STRICT, "").lower() not in ("", "0", "false", "no")
    return Target(read_capability(given) if given else DEFAULT, strict)


def read_capability(text: str) -> tuple[int, int]:
    """(7, 5) of "7.5", "75" or "sm_75"; UsageError for anything else."""
    match = re.fullmatch(r"(?:sm_|cc)?(\d{1,2}?)\.?(\d)", text.strip().lower())
    if not match:
        raise UsageError(
            f"{text!r} is no compute capability: write one such as 7.5, which is that of a T4."
        )
    major, minor = match.groups()
    return int(major), int(minor)


def choose(compute_capability: str | None = None, strict: bool | None = None) -> None:
    """Sets the target for this process and its children; None leaves what the environment says."""
    if compute_capability is not None:
        major, minor = read_capability(compute_capability)
        os.environ[CAPABILITY] = f"{major}.{minor}"
    if strict is not None:
        os.environ[STRICT] = "1" if strict else "0"
