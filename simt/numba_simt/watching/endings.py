"""How a program ended: its exit code, and what it raised."""

import os
import runpy
import traceback
from dataclasses import dataclass
from pathlib import Path

from numba_simt.errors import KernelError

PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
INTERRUPTED = 130  # the exit code after Ctrl-C, as shells have it


@dataclass
class Ending:
    """How a program ended: its exit code, and what it raised."""

    code: int = 0
    error: BaseException | None = None

    @property
    def interrupted(self) -> bool:
        """Ctrl-C ended it."""
        return isinstance(self.error, KeyboardInterrupt)

    @property
    def traceback(self) -> str:
        """As Python prints it, from the program's own first frame on; "" where nothing was raised.

        Of what the machine refuses or stops, without the machine's own frames.
        """
        if self.error is None:
            return ""
        ours = isinstance(self.error, KernelError | KeyboardInterrupt)
        told = traceback.TracebackException.from_exception(self.error)
        frames = list(told.stack)
        own = [i for i, frame in enumerate(frames) if not _of_the_machine(frame.filename)]
        kept = [frames[i] for i in own] if ours else frames[own[0] if own else len(frames) :]
        told.stack = traceback.StackSummary.from_list(kept)
        if ours:
            told.__cause__ = told.__context__ = None
        return "".join(told.format())

    @property
    def place(self) -> tuple[str, int]:
        """File and line of the program's last frame; ("", 0) where there is none."""
        frames = traceback.extract_tb(self.error.__traceback__ if self.error else None)
        own = [frame for frame in frames if not _of_the_machine(frame.filename)]
        return (own[-1].filename, own[-1].lineno or 0) if own else ("", 0)


def _of_the_machine(file: str) -> bool:
    return file.startswith((PACKAGE, "<frozen ")) or file == runpy.__file__
