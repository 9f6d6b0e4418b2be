"""Runs a script, a module or a notebook in this process, as Python would, and says how it ended."""

import ast
import builtins
import inspect
import os
import runpy
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from numba_simt.command.notebooks import Cell, read_cells
from numba_simt.watching.endings import INTERRUPTED, Ending


class CannotRun(Exception):
    """What was named is nothing to run: a sentence."""


@dataclass
class Program:
    """What is run: a path, or with `module` a name as behind python's -m."""

    name: str
    arguments: list[str]
    module: bool = False
    cells: list[Cell] | None = None  # of a notebook

    def check(self) -> None:
        """CannotRun where there is nothing to run; reads a notebook."""
        if self.module:
            return
        path = Path(self.name)
        if not path.exists():
            raise CannotRun(f"There is no file {self.name}.")
        if path.is_dir() and not (path / "__main__.py").exists():
            raise CannotRun(f"{self.name} is a folder without __main__.py: name a script in it.")
        if path.suffix == ".ipynb":
            try:
                self.cells = read_cells(path)
            except (ValueError, OSError) as error:
                raise CannotRun(str(error)) from None


def run(program: Program) -> Ending:
    """Runs it to its end, threads included; nothing that it raises comes through."""
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    streams, here = (sys.stdin, sys.stdout, sys.stderr), os.getcwd()
    folder = os.getcwd() if program.module else _folder(program.name)
    sys.argv = [program.name, *program.arguments]
    if sys.flags.safe_path:
        sys.path.insert(0, folder)
    else:  # what stands there is the folder of the command, or where it was called
        sys.path[0] = folder
    try:
        _execute(program)
        _wait_for_threads()
    except SystemExit as end:
        return Ending(_exit_code(end))
    except KeyboardInterrupt as stopped:
        return Ending(INTERRUPTED, stopped)
    except BaseException as error:
        return Ending(1, error)
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = before
        sys.stdin, sys.stdout, sys.stderr = streams
        with suppress(OSError):  # where it was called, unless that is gone
            os.chdir(here)
    return Ending()


def _folder(name: str) -> str:
    """The folder from which a script imports first: its own, links followed, as in Python."""
    path = Path(name).resolve()
    return str(path if path.is_dir() else path.parent)


def _execute(program: Program) -> None:
    path = Path(os.path.abspath(program.name))
    if program.module:
        runpy.run_module(program.name, run_name="__main__", alter_sys=True)
    elif path.is_dir():
        runpy.run_path(str(path), run_name="__main__")
    elif program.cells is None:
        _run_in_main([(path.read_bytes(), str(path))], path)
    else:
        os.environ.setdefault("MPLBACKEND", "Agg")  # no window opens for pictures
        _run_in_main([(cell.code, cell.file) for cell in program.cells], path, display=print)


def _run_in_main(texts: Iterable[tuple[str | bytes, str]], path: Path, **names: object) -> None:
    """Texts with their file names, one after the other, in a fresh module __main__."""
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=str(path), **names)
    sys.modules["__main__"] = main
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if names else 0  # as a notebook has it
    for text, file in texts:
        code = compile(text, file, "exec", flags, dont_inherit=True)
        if code.co_flags & inspect.CO_COROUTINE:
            import asyncio  # which takes as long as all else, and is seldom needed

            asyncio.run(eval(code, main.__dict__))
        else:
            exec(code, main.__dict__)


def _wait_for_threads() -> None:
    """Python itself does it after the last line; here a report comes first."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _exit_code(end: SystemExit) -> int:
    """As Python has it: None is 0, and words are printed and count as 1."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1
