"""C sources, compiled on this machine once and kept in the cache folder.

`library(source, header)` compiles with the C compiler of this machine (`CC`, else `cc`), and loads
the result with ctypes. The file's name holds a hash of everything that went into it, so that a
changed source is compiled again and several processes do not disturb each other. A wheel may bring
the library compiled (tools/prebuild.py), beside its source; then no compiler is needed.
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
FLAGS = ["-std=gnu11", "-O3", "-fwrapv", "-fno-math-errno"]
FLAGS += ["-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"]
if platform.machine() == "x86_64":
    FLAGS.append("-mpopcnt")  # in every such processor since 2008


def _flags() -> list[str]:
    """FLAGS, those in NUMBA_SIMT_CFLAGS, and AVX2 where this processor has it: the same results."""
    flags = FLAGS + os.environ.get("NUMBA_SIMT_CFLAGS", "").split()
    return [*flags, "-mavx2"] if _has_avx2() else flags


def _has_avx2() -> bool:
    """Whether this processor has it; Linux says it."""
    with contextlib.suppress(OSError):
        return " avx2 " in Path("/proc/cpuinfo").read_text("utf-8")
    return False


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
    if not os.environ.get("NUMBA_SIMT_CFLAGS"):
        for brought in wheel_files(source, header, _has_avx2()):
            if brought.exists():
                return ctypes.CDLL(str(brought))
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    parts = [header, str(compiler), _version(compiler), platform.machine(), " ".join(_flags())]
    kept = cache_folder() / f"{source.stem}-{_digest(parts, source)}.so"
    try:
        for found in filter(Path.exists, (kept.parent, kept)):
            refuse_others(found, CACHE)
    except PermissionError as error:
        raise RuntimeError(str(error)) from None
    if not kept.exists():
        kept = _compile(compiler, source, header, kept, _flags())
    return ctypes.CDLL(str(kept))


def _digest(parts: list[str], source: Path) -> str:
    """Of these, and of `source` and all that lies beside it."""
    texts = [path.read_text("utf-8") for path in sorted(source.parent.glob("*.[ch]"))]
    return hashlib.sha256("\0".join(parts + texts).encode()).hexdigest()[:20]


def wheel_files(source: Path, header: str, avx2: bool) -> list[Path]:
    """Where a wheel has the library of just this source for this kind of machine, best first."""
    key = _digest([header, platform.system(), platform.machine()], source)
    plain = source.with_name(f"{source.stem}-{key}.so")
    return [plain.with_name(f"{plain.stem}-avx2.so"), plain] if avx2 else [plain]


def compile_for_wheel(source: Path, header: str = "") -> list[Path]:
    """Compiles what `wheel_files` names; RuntimeError where the compiler is missing or refuses."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    x86 = platform.machine() == "x86_64"
    made = wheel_files(source, header, avx2=x86)
    for path in made:
        extra = ["-mavx2"] if path.stem.endswith("-avx2") else []
        _compile(compiler, source, header, path, FLAGS + extra)
    return made


@cache
def _version(compiler: str | None) -> str:
    """What the compiler says of itself: a newer one compiles anew. "" where it says nothing."""
    if not compiler:
        return ""
    try:
        return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return ""


def _compile(compiler: str | None, source: Path, header: str, kept: Path, flags: list[str]) -> Path:
    """Where the library lies now: `kept`, or a temporary folder if that cannot be written."""
    if not compiler:
        raise RuntimeError(
            "The SIMT machine needs a C compiler and found none. Install one (Debian and Ubuntu: "
            "`sudo apt install gcc`; macOS: `xcode-select --install`; conda: `c-compiler`) "
            "or name it in the environment variable CC."
        )
    with contextlib.suppress(OSError):
        make_folder(kept.parent)
    if not (kept.parent.is_dir() and os.access(kept.parent, os.W_OK)):  # for this process alone
        kept = Path(tempfile.mkdtemp()) / kept.name
    with tempfile.TemporaryDirectory(dir=kept.parent) as work:
        tables, made = Path(work) / "tables.h", Path(work) / "made.so"
        tables.write_text(header, "utf-8")
        command = [compiler, *flags, "-include", tables, "-o", made, source, "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            why = f"The compiler {compiler} cannot be started ({error.strerror}): see CC."
            raise RuntimeError(why) from None
        if done.returncode:
            raise RuntimeError(f"{compiler} could not compile {source.name}:\n{done.stderr}")
        os.replace(made, kept)
    return kept
