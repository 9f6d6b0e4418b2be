"""The machine under AddressSanitizer and UBSan: whatever a kernel does, it stays in its memory."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# Unaligned elements and shifts are checked by the machine itself.
FLAGS = "-O1 -g -fsanitize=address,undefined -fno-sanitize=alignment,shift -fno-sanitize-recover"
COMPILE = "from numba_simt.execution import machine; machine._library()"


def sanitizer() -> str | None:
    """Where the compiler keeps the library that must be loaded first."""
    if platform.system() != "Linux" or not shutil.which("gcc"):
        return None
    command = ["gcc", "-print-file-name=libasan.so"]
    path = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return path if os.path.isabs(path) else None


@pytest.mark.night(instead="simt/tests/profiling/test_hazards.py::test_fault_is_found")
@pytest.mark.skipif(sanitizer() is None, reason="AddressSanitizer of gcc is not installed here")
def test_no_access_outside_of_memory(tmp_path):
    """All kernels of the tests, right and faulty, every instruction, and every bad input."""
    env = {**os.environ, "NUMBA_SIMT_CACHE": str(tmp_path), "NUMBA_SIMT_CFLAGS": FLAGS, "CC": "gcc"}
    env |= {"NUMBA_SIMT_STEPS": "200000"}
    subprocess.run([sys.executable, "-c", COMPILE], env=env, capture_output=True)  # cannot load yet
    assert list(tmp_path.glob("machine-*.so"))
    env |= {"LD_PRELOAD": sanitizer(), "ASAN_OPTIONS": "detect_leaks=0"}
    script = [sys.executable, "-m", "kernels.sanitized"]
    done = subprocess.run(script, env=env, capture_output=True, text=True, cwd=TESTS)
    assert "ERROR: AddressSanitizer" not in done.stderr, done.stderr[-3000:]
    assert "runtime error" not in done.stderr, done.stderr[-3000:]
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
