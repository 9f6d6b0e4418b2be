"""How much memory a learner's function may take: most of what is free, and then MemoryError.

Without a limit, the system would end the process that takes the last of it, or another one.
"""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SHARE = 0.75  # of the free memory


@contextmanager
def limited_memory(share: float = 1.0) -> Iterator[None]:
    """Within the block this process gets at most so much more memory; where Linux can do that.

    share   of what may be taken at all, where several processes take it at a time
    """
    free = free_memory()
    if not free:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _taken() + int(SHARE * share * free)
    for limit in (soft, hard):
        if limit != resource.RLIM_INFINITY:
            most = min(most, limit)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def free_memory() -> int:
    """Bytes that processes may take, of the machine or of its container; 0 where nobody says."""
    free = 0
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        values = {line.partition(":")[0]: line.split()[1] for line in lines}
        free = int(values.get("MemAvailable", 0)) * 1024
    group = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):  # "max" is no number: there is no limit
        left = int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
        free = min(free, max(left, 0))
    return free


def _taken() -> int:
    """Bytes of data that this process has by now: what the limit counts."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
