"""`numba-simt` on the clock: from the command to the report, and to the report after Ctrl-C.

    python benchmarks/gpu/command.py        results go to results/gpu_command.json

All are goals, in seconds on an idle machine with two cores: none is red. Before anything is timed
the machine's core is compiled, which happens once.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from table import Row, report  # noqa: E402

from labkit.provenance import measured  # noqa: E402

KERNEL = """
import time
import numpy as np
from numba import cuda

@cuda.jit
def scale(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]
"""
SMALL = KERNEL + "x = np.ones(256)\nscale[4, 64](x, np.zeros(256))\n"
MANY = (
    KERNEL
    + """
x, out = cuda.to_device(np.ones(64)), cuda.device_array(64)
for _ in range(10):
    scale[1, 64](x, out)
start = time.perf_counter()
for _ in range(10_000):
    scale[1, 64](x, out)
print((time.perf_counter() - start) / 10_000)
"""
)
STREAM = (
    KERNEL
    + """
n = 10_000_000
x, out = cuda.to_device(np.ones(n, np.float32)), cuda.device_array(n, np.float32)
for _ in range(TIMES):
    start = time.perf_counter()
    scale[-(-n // 256), 256](x, out)
    print(time.perf_counter() - start)
"""
)
ENDLESS = (
    KERNEL
    + """
@cuda.jit
def spin(x, n):
    for i in range(n):
        x[cuda.grid(1)] += x[(cuda.grid(1) + i) % x.size]
print(flush=True)
spin[64, 256](np.zeros(16384), 1 << 50)
"""
)


def command(text: str, *options: str) -> subprocess.Popen:
    """A script under `numba-simt`, begun; what it prints comes through a pipe."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as script:
        script.write(text)
    env = os.environ | {"PYTHONPATH": str(ROOT / "simt")}
    words = [sys.executable, "-P", "-m", "numba_simt", *options, script.name]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, text=True, env=env, **pipes)


def printed(text: str, *options: str) -> list[float]:
    """The numbers that the script prints."""
    out, said = (process := command(text, *options)).communicate()
    if process.returncode:
        raise SystemExit(f"A benchmark's script failed:\n{said}")
    return [float(line) for line in out.split()]


def to_the_report() -> float:
    """Seconds of the whole command, for one small kernel that is watched."""
    start = time.perf_counter()
    printed(SMALL)
    return time.perf_counter() - start


def after_ctrl_c() -> float:
    """Seconds from Ctrl-C in a watched launch to the end of the report."""
    process = command(ENDLESS)
    process.stdout.readline()
    time.sleep(3)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    process.communicate()
    return time.perf_counter() - start


def rows() -> Iterator[Row]:
    printed(SMALL)
    times = [to_the_report() for _ in range(5)]
    yield Row(
        "command to report, one small kernel", measured(statistics.median(times), "s"), goal=2
    )
    each = measured(printed(MANY)[0] * 1e6, "us")
    yield Row("a plain launch of a small kernel under the command", each, goal=100)
    first, *_, last = printed(STREAM.replace("TIMES", "2"), "--launches", "1")
    yield Row("10 million threads of a streaming kernel, watched", measured(first, "s"))
    yield Row("10 million threads of a streaming kernel, plain", measured(last, "s"), goal=10)
    slowest = max(after_ctrl_c() for _ in range(3))
    yield Row("Ctrl-C to the end of the report, slowest of 3", measured(slowest, "s"), goal=1)


if __name__ == "__main__":
    sys.exit(report("gpu_command", rows()))
