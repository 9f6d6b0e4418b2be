"""The command in this process, and in one of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import numba_simt
from numba_simt.command.main import main

RACY = """\
import numpy as np
from numba import cuda

@cuda.jit
def count(x, h):
    i = cuda.grid(1)
    if i < x.size:
        h[x[i]] += 1

count[4, 64](np.arange(256) % 8, np.zeros(8, np.int64))
print("counted")
"""
FINE = """\
import numpy as np
from numba import cuda

@cuda.jit
def fill(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = i

x = np.zeros(100)
fill[4, 32](x)
print("sum", int(x.sum()))
"""


class Done(NamedTuple):
    code: int
    out: str
    said: str  # on stderr


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder; what the command sets in the environment is forgotten."""
    monkeypatch.chdir(tmp_path)
    for name in ("NUMBA_SIMT_CC", "NUMBA_SIMT_STRICT", "MPLBACKEND"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def command(here, capsys):
    """command(text, *options) runs a script in this process; `file` is what it is called."""

    def run(text, *options, file="script.py", arguments=()):
        if text is not None:
            Path(file).write_text(text)
        capsys.readouterr()
        code = main([*options, file, *arguments])
        return Done(code, *capsys.readouterr())

    return run


def begin(*words, **how):
    """`python -m numba_simt` in a process of its own, which Ctrl-C reaches as from a terminal."""
    folder = str(Path(numba_simt.__file__).parents[1])
    env = os.environ | {"PYTHONPATH": folder}
    words = [sys.executable, "-m", "numba_simt", *words]
    interruptible = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    return subprocess.Popen(words, text=True, env=env, preexec_fn=interruptible, **pipes)


def finished(process, words=None):
    """What became of such a process."""
    out, said = process.communicate(words, timeout=600)
    return Done(process.returncode, out, said)
