"""Kernels that tests make from text get a source that can be read, as those in files have.

`exec` of a text, and `python -c` with one, which runs in this process, where the machine is.
"""

import builtins
import contextlib
import io
import itertools
import linecache
import subprocess
import sys
import warnings
from collections.abc import Callable

_numbers = itertools.count()


def install() -> None:
    builtins.exec = _readable(builtins.exec)
    subprocess.run = _here(subprocess.run)


def _readable(original: Callable) -> Callable:
    def run(code: object, scope: dict | None = None, local: object = None, **named: object) -> None:
        if scope is None:
            caller = sys._getframe(1)
            scope, local = caller.f_globals, caller.f_locals
        if isinstance(code, str):
            name = f"<text {next(_numbers)}>"
            linecache.cache[name] = len(code), None, code.splitlines(True), name
            code = compile(code, name, "exec")
        original(code, scope, scope if local is None else local, **named)

    return run


def _here(original: Callable) -> Callable:
    def run(command: list, *rest: object, **options: object) -> subprocess.CompletedProcess:
        if command[0] != sys.executable or "-c" not in command:
            return original(command, *rest, **options)
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            exec(command[command.index("-c") + 1], {"__name__": "__main__"})
        text = options.get("text") or options.get("universal_newlines")
        both = out.getvalue(), "\n".join(str(one.message) for one in warned)
        said, to_stderr = both if text else (one.encode() for one in both)
        return subprocess.CompletedProcess(command, 0, said, to_stderr)

    return run
