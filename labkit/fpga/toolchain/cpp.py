"""C++ compiled on this machine: which compiler, what it says, and a cache of libraries.

A library's name holds a hash of everything that went into it. So equal things are compiled once,
changed ones again, and several processes at a time do not disturb each other.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from labkit.files import CACHE
from labkit.fpga.errors import RTLError, ToolError, ToolMissing
from labkit.fpga.toolchain import cache_limit
from labkit.fpga.toolchain.tools import run_tool
from numba_simt.owned_files import make_folder, refuse_others

DRIVER = Path(__file__).parents[1] / "driver"
LARGE = "Usually the module is very large: choose smaller parameters, or shorter loops."
FULL = "No space left on device"
FLAGS = ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-w"]


def compiler() -> str:
    """The C++ compiler: the one that CXX names, else the first of c++, g++ and clang++ on PATH.

    Raises ToolMissing with what to install when there is none.
    """
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and (path := shutil.which(name)):
            return path
    raise ToolMissing(
        "A simulation needs a C++ compiler, and there is none. Install one (Debian and Ubuntu: "
        "`sudo apt install g++`; macOS: `xcode-select --install`; conda: `cxx-compiler`) or name "
        "it in the environment variable CXX. Until then the golden model in NumPy answers alone."
    )


@cache
def compiler_version(path: str) -> str:
    """What the compiler at `path` says of itself: part of every library's key."""
    return subprocess.run([path, "--version"], capture_output=True, text=True).stdout


def driver_text() -> list[str]:
    """The C++ of labkit's own that goes into every library."""
    return [path.read_text("utf-8") for path in sorted(DRIVER.iterdir())]


def compile_cpp(arguments: list[str | Path], folder: Path) -> None:
    """Run the compiler in `folder`; raises RTLError with its first error.

    A disk that is full is a ToolError: it says nothing about the source.
    """
    command = [compiler(), *FLAGS, *map(str, arguments)]
    english = {**os.environ, "LC_ALL": "C"}
    done = run_tool("The C++ compiler", "with the model", LARGE, command, folder, english)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        first = next((line for line in lines if "error" in line), lines[-1])
        if any(FULL in line for line in lines):
            raise ToolError(
                f"{compiler()} could not compile the model: the disk is full. Make room, or name "
                "folders on another disk in the environment variables LABKIT_CACHE and TMPDIR."
            )
        raise RTLError(f"{compiler()} could not compile the model: {first}")


def kept(name: str, parts: list[str], make: Callable[[Path], None]) -> Path:
    """The file `name` made from `parts`: from the cache, or `make(path)` writes it first.

    Where the cache folder cannot be written, a temporary folder of this process takes its place.
    Raises ToolError for a folder or a file of another user's, since the file will be run, and for a
    disk that is full: what is half written never bears its name.
    """
    path = _path(name, parts)
    if path.exists():
        _trust(path)
        cache_limit.note_use(path)
        return path
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as work:
            unfinished = Path(work) / path.name
            make(unfinished)
            _finish(unfinished)
            os.replace(unfinished, path)
    except OSError as error:
        raise ToolError(
            f"What is compiled cannot be written to {path.parent}: {error.strerror}. Make room "
            "there, or name another folder in the environment variable LABKIT_CACHE."
        ) from error
    cache_limit.make_room(path)
    return path


def _finish(path: Path) -> None:
    """Waits until the disk has all of a file, which nobody else may change from now on."""
    path.chmod(path.stat().st_mode & ~0o022)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _trust(path: Path) -> None:
    """Raises ToolError where somebody else could have put something into a file or folder."""
    try:
        refuse_others(path, CACHE)
    except PermissionError as error:
        raise ToolError(str(error)) from None


def is_kept(name: str, parts: list[str]) -> bool:
    """Whether `kept` would find the file rather than make it."""
    return _path(name, parts).exists()


def _path(name: str, parts: list[str]) -> Path:
    parts = [*parts, *FLAGS, compiler(), compiler_version(compiler())]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    stem, ending = os.path.splitext(name)
    return folder() / f"{stem}-{key}{ending}"


def folder() -> Path:
    """Where compiled things are kept: in labkit's cache folder if that can be written."""
    chosen = cache_limit.folder()
    try:
        make_folder(chosen)
    except OSError:
        return Path(_own_folder().name)
    if not os.access(chosen, os.W_OK):
        return Path(_own_folder().name)
    _trust(chosen)
    return chosen


@cache
def _own_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="labkit-fpga-")  # gone when the process ends
