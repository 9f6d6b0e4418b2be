"""C sources, compiled on this machine once and kept in the cache folder.

`library(source, header)` compiles with the C compiler of this machine (`CC`, else `cc`), and loads
the result with ctypes. The file's name holds a hash of everything that went into it, so that a
changed source is compiled again and several processes do not disturb each other.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from numba_simt.owned_files import make_folder, refuse_others

CACHE = "NUMBA_SIMT_CACHE"  # the environment variable that names another folder

# Wrapping integers, no fused multiply-add, no errno: the same results on every machine.
FLAGS = ["-std=gnu11", "-O2", "-ftree-vectorize", "-fwrapv", "-fno-math-errno"]
FLAGS += ["-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"]
if platform.machine() == "x86_64":
    FLAGS.append("-mpopcnt")  # in every such processor since 2008


def _flags() -> list[str]:
    """FLAGS, those in NUMBA_SIMT_CFLAGS, and AVX2 where this processor has it: the same results."""
    flags = FLAGS + os.environ.get("NUMBA_SIMT_CFLAGS", "").split()
    with contextlib.suppress(OSError):  # Linux says here what a processor has
        if " avx2 " in Path("/proc/cpuinfo").read_text("utf-8"):
            flags.append("-mavx2")
    return flags


def cache_folder() -> Path:
    """Where compiled libraries lie: NUMBA_SIMT_CACHE, or a folder in the user's cache.

    Without links, which might lead elsewhere once `refuse_others` has followed them.
    """
    home = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    usual = Path(os.environ.get("XDG_CACHE_HOME") or home, "numba-simt")
    return Path(os.environ.get(CACHE) or usual).expanduser().resolve()


def library(source: Path, header: str = "") -> ctypes.CDLL:
    """The shared library of `source`, with `header` before its first line.

    Files beside `source` that it includes count as part of it. Raises RuntimeError with what to
    install when there is no C compiler, with the compiler's words when it refuses, and for a
    library that somebody else may have put into the cache folder.
    """
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    parts = [header, str(compiler), _version(compiler), platform.machine(), " ".join(_flags())]
    parts += [path.read_text("utf-8") for path in sorted(source.parent.glob("*.[ch]"))]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    kept = cache_folder() / f"{source.stem}-{key}.so"
    try:
        for found in filter(Path.exists, (kept.parent, kept)):
            refuse_others(found, CACHE)
    except PermissionError as error:
        raise RuntimeError(str(error)) from None
    if not kept.exists():
        kept = _compile(compiler, source, header, kept)
    return ctypes.CDLL(str(kept))


@cache
def _version(compiler: str | None) -> str:
    """What the compiler says of itself: a newer one compiles anew. "" where it says nothing."""
    if not compiler:
        return ""
    try:
        return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return ""


def _compile(compiler: str | None, source: Path, header: str, kept: Path) -> Path:
    """Where the library lies now: `kept`, or a temporary folder if that cannot be written."""
    if not compiler:
        raise RuntimeError(
            "The SIMT machine needs a C compiler and found none. Install one (Debian and Ubuntu: "
            "`sudo apt install gcc`; macOS: `xcode-select --install`; conda: `c-compiler`) "
            "or name it in the environment variable CC."
        )
    with contextlib.suppress(OSError):
        make_folder(kept.parent)
    if not os.access(kept.parent, os.W_OK):  # a read-only home: for this process alone
        kept = Path(tempfile.mkdtemp()) / kept.name
    with tempfile.TemporaryDirectory(dir=kept.parent) as work:
        tables, made = Path(work) / "tables.h", Path(work) / "made.so"
        tables.write_text(header, "utf-8")
        command = [compiler, *_flags(), "-include", tables, "-o", made, source, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{compiler} could not compile {source.name}:\n{done.stderr}")
        os.replace(made, kept)
    return kept
