"""`pytest --simt`: an error in a test's launches fails the test."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import numba_simt

TESTS = """\
import numpy as np
import pytest
from numba import cuda

from kernels import count, fill


def test_racy():
    count[4, 64](np.arange(256) % 8, np.zeros(8, np.int64))


def test_fine():
    x = np.zeros(64)
    for _ in range(5):
        fill[2, 32](x)
    assert x.sum() == 64


def test_of_its_own_fault():
    fill[2, 32](np.zeros(64))
    assert 1 == 2


def test_stopped():
    with pytest.raises(IndexError):
        fill[2, 32](np.zeros(40))


@pytest.fixture
def filled():
    x = np.zeros(32)
    count[1, 64](np.zeros(64, np.int64), np.zeros(1))
    return x


def test_with_a_racy_fixture(filled):
    assert filled.sum() == 0


@pytest.fixture
def cleared():
    yield
    count[1, 64](np.zeros(64, np.int64), np.zeros(1))


def test_with_a_racy_tear_down(cleared):
    pass
"""
KERNELS = """\
from numba import cuda


@cuda.jit
def count(x, h):
    i = cuda.grid(1)
    if i < x.size:
        h[x[i]] += 1


@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 1
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "test_kernels.py").write_text(TESTS)
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def run(folder, *words):
    """pytest in that folder, with no other plugin of ours."""
    paths = [str(Path(numba_simt.__file__).parents[1]), str(folder)]
    # What else is installed would be loaded at each start, and takes longer than the tests.
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "numba_simt.command.pytest_plugin", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout


@pytest.mark.parametrize("processes", [[], ["-p", "xdist", "-n", "2"]])
def test_each_test_has_its_own_findings(project, processes):
    if processes:
        pytest.importorskip("xdist")
    code, said = run(
        project, "--simt", *processes, "--simt-json", "o.json", "--simt-sarif", "o.sarif"
    )
    assert code == 1
    failed = set(re.findall(r"^FAILED test_kernels\.py::(\w+)", said, re.MULTILINE))
    racy = {"test_racy", "test_stopped", "test_with_a_racy_fixture"}
    assert failed == racy | {"test_of_its_own_fault"}
    assert re.findall(r"^ERROR test_kernels\.py::(\w+)", said, re.MULTILINE) == [
        "test_with_a_racy_tear_down"
    ]
    assert "E       assert 1 == 2" in said
    end = said.rpartition("= numba-simt =")[2]
    assert re.search(r"kernels\.py:8: error: race in `count`, \d+ times in 3 launches", end)
    assert "kernels.py:13: error: out of bounds in `fill`" in end
    assert "2 kernels, 10 launches: 8 watched, 2 plain." in end  # of five alike, three are watched
    told = json.loads((project / "o.json").read_text())
    assert told["launches"] == {"watched": 8, "watched_in_part": 0, "plain": 2}
    assert json.loads((project / "o.sarif").read_text())["version"] == "2.1.0"


def test_one_line_of_configuration_switches_it_on(project):
    (project / "pytest.ini").write_text("[pytest]\nsimt = true\n")
    code, said = run(project, "-k", "racy and not fixture")
    assert code == 1 and "1 error" in said and "kernels.py:8" in said


def test_the_target_is_chosen_for_the_tests_alone(project, monkeypatch):
    monkeypatch.delenv("NUMBA_SIMT_CC", raising=False)
    (project / "test_kernels.py").write_text(
        "from os import environ\ndef test_it():\n"
        "    assert environ['NUMBA_SIMT_CC'] == '6.1' and environ['NUMBA_SIMT_STRICT'] == '1'\n"
    )
    assert run(project, "--simt", "--simt-cc", "6.1", "--simt-strict")[0] == 0
    assert run(project, "--simt", "--simt-cc", "new")[0] == 4


def test_a_file_silences(project):
    (project / "known.txt").write_text("* kernels.py::count\n")
    code, said = run(project, "--simt", "--simt-ignore", "known.txt", "-k", "racy or fine")
    assert code == 0 and "silenced by known.txt:1" in said
    (project / "known.txt").write_text("race\n")
    code, said = run(project, "--simt", "--simt-ignore", "known.txt")
    assert code == 4


def test_a_hazard_that_a_test_expects_is_silenced_in_its_line(project):
    line = "x[cuda.grid(1)] = 1"
    assert run(project, "--simt", "-k", "test_stopped")[0] == 1
    (project / "kernels.py").write_text(
        KERNELS.replace(line, f"{line}  # simt: ignore[out_of_bounds]")
    )
    assert run(project, "--simt", "-k", "test_stopped")[0] == 0


def test_without_the_option_nothing_is_done(project):
    (project / "kernels.py").write_text("from numba import cuda\ncount = fill = cuda.__name__\n")
    (project / "test_kernels.py").write_text(
        "from kernels import fill\ndef test_name():\n    assert 'simt' not in fill\n"
    )
    code, said = run(project)
    assert code == 0 and "numba-simt" not in said
