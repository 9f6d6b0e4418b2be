"""The testbench in cocotb passes on a right module, fails on a wrong one, and needs no perl."""

import shutil
from pathlib import Path

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.toolchain.cpp import compiler
from labkit_lessons.fpga.timing_and_proof.cocotb_run import KEEPS_WORDS, run_cocotb

SKID = (Path(__file__).parents[4] / "tests" / "fpga" / "modules" / "skid.sv").read_text("utf-8")
SKID = SKID.replace("x_", "in_").replace("y_", "out_")
WRONG = SKID.replace("if (out_ready || !out_valid)", "if (1)")


@pytest.mark.night(
    instead="tests/fpga/toolchain/test_models.py::test_neither_perl_nor_make_is_needed"
)
def test_without_perl_and_make(tmp_path, monkeypatch):
    """The compiler keeps its full name, so that the other tests need not compile the same again."""
    monkeypatch.setenv("CXX", compiler())
    for name in ("g++", "c++", "as", "ld"):
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run_cocotb(SKID, "skid", KEEPS_WORDS)
    assert (done.tests, done.failed) == (2, 0), done.log
    assert "PASS=2 FAIL=0" in done.log


def test_a_module_that_loses_words_under_stalls_fails():
    done = run_cocotb(WRONG, "skid", KEEPS_WORDS)
    assert (done.tests, done.failed) == (2, 1), done.log


def test_a_testbench_that_does_not_start(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import nothing_of_this_name\n")
    with pytest.raises(RTLError, match="did not get as far as its tests"):
        run_cocotb(WRONG, "skid", broken)  # the module that is compiled already
