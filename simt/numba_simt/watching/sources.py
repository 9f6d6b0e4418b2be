"""The source of a kernel, line by line, with the lines of device functions that it calls."""

import inspect
import linecache
from collections.abc import Iterator

from numba_simt.watching.session import KernelRecord


def lines_of(kernel: KernelRecord) -> Iterator[tuple[str, int, str]]:
    """File, number and text of its own lines; then of other lines where something was counted."""
    own = [(kernel.file, kernel.line + i) for i in range(_length(kernel))]
    others = sorted(set(kernel.lines) - set(own))
    for file, line in own + others:
        yield file, line, linecache.getline(file, line).rstrip()


def _length(kernel: KernelRecord) -> int:
    """How many lines the function has that begins at the kernel's first line, its decorator."""
    rest = linecache.getlines(kernel.file)[kernel.line - 1 :]
    try:
        return len(inspect.getblock(rest))
    except SyntaxError:
        return len(rest)
