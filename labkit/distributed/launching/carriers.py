"""The threads in which gloo carries a collective: a wait until none holds what it has carried.

PyTorch's gloo backend carries a collective in a thread of its own. The thread first says that the
call is complete, and lets go of its tensors a moment later. How long that moment is depends on how
busy the machine is, so whoever counts live tensors exactly has to let it pass.
"""

import time
from pathlib import Path

NAME = "pt_gloo_runloop"  # PyTorch's name for such a thread
THREADS = Path("/proc/self/task")  # of this process, on Linux
PAUSE = 2e-4  # seconds
LOOKS = 3  # that find every carrier asleep: one alone may come at a wrong moment


def let_go() -> None:
    """Wait until all carriers of this process sleep; a call that is still on its way may last.

    Where the system has no /proc it returns at once, and a count may be off by a buffer.
    """
    carriers = _carriers()
    asleep = 0
    while carriers and asleep < LOOKS:
        time.sleep(PAUSE)  # meanwhile the interpreter is free, should a carrier wait for it
        asleep = 0 if any(_runs(carrier) for carrier in carriers) else asleep + 1


def _carriers() -> list[Path]:
    if not THREADS.is_dir():
        return []
    return [thread for thread in THREADS.iterdir() if _text_of(thread / "comm").strip() == NAME]


def _runs(thread: Path) -> bool:
    """Whether it runs or would, if a core were free: R behind the name in brackets."""
    return _text_of(thread / "stat").rpartition(") ")[2].startswith("R")


def _text_of(file: Path) -> str:
    """What the system says of a thread; nothing of one that has ended."""
    try:
        return file.read_text()
    except OSError:
        return ""
