"""labkit.fpga.timing: the same answer twice, and a pipelined module is faster."""

from pathlib import Path

import pytest

from labkit.fpga import timing as module
from labkit.fpga.errors import RTLError
from labkit.fpga.sources import read_sources
from labkit.fpga.timing import place_and_route

DESIGNS = Path(__file__).parent / "designs"


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def plain(cache):
    return place_and_route(DESIGNS / "multiply_add.sv", "multiply_add", {"N": 2})


def test_the_path_adds_up_to_the_clocks_period(plain):
    path = sum(step.ns for step in plain.critical_path)
    assert path == pytest.approx(1e9 / float(plain.fmax), rel=1e-5)
    assert plain.critical_path[0].what == "register"
    kinds = {step.what for step in plain.critical_path}
    assert "multiplier" in kinds and "wire" in kinds and "cell" not in kinds


def test_the_label_says_which_fpga_it_is_and_which_not(plain):
    assert plain.fmax.word == "compiled" and plain.fmax.unit == "Hz"
    assert "Lattice ECP5" in plain.fmax.source and "not for the XC7Z020" in plain.fmax.source


def test_the_way_from_an_input_to_the_register_counts(plain):
    # Between the module's own registers there is only the hand-shake, without a multiplier.
    assert plain.critical_path[1].line == "multiply_add.sv, line 3"
    assert "in_data" in plain.critical_path[1].name


def test_a_register_between_product_and_sum_is_faster(plain):
    pipelined = place_and_route(DESIGNS / "pipelined.sv", "pipelined", {"N": 2})
    assert float(pipelined.fmax) > float(plain.fmax)


@pytest.mark.night(instead="tests/fpga/test_timing.py::test_of_several_seeds_the_worst_counts")
def test_the_same_source_gives_the_same_answer(plain, monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    again = place_and_route(DESIGNS / "multiply_add.sv", "multiply_add", {"N": 2})
    assert again == plain and len(list(tmp_path.rglob("timing/*.json"))) == 1


def test_of_several_seeds_the_worst_counts(plain):
    found = place_and_route(DESIGNS / "multiply_add.sv", "multiply_add", {"N": 2}, seeds=(2, 1))
    assert list(found.by_seed) == [2, 1] and found.by_seed[1] == float(plain.fmax)
    assert float(found.fmax) == min(found.by_seed.values())
    path = sum(step.ns for step in found.critical_path)
    assert path == pytest.approx(1e9 / float(found.fmax), rel=1e-5), "the worst one's path"


def test_a_module_without_a_clock_is_timed_too():
    adder = "module adder (input logic [3:0] a, b, output logic [3:0] sum);\n"
    found = place_and_route(f"{adder}    assign sum = a + b;\nendmodule", "adder")
    assert float(found.fmax) > 0


def test_no_way_between_registers_is_said():
    constant = "module one (input logic clk, output logic q);\n    assign q = 1;\nendmodule"
    with pytest.raises(RTLError, match="no way from one register to another"):
        place_and_route(constant, "one")


def test_what_is_larger_than_the_fpga_is_told_so():
    said = "ERROR: Unable to place cell 'a_MULT18X18D', no BELs remaining to implement cell type "
    error = module._refusal(f"{said}'MULT18X18D'\n", "array")
    assert "array is larger than the Lattice ECP5" in str(error) and "multiplier" in str(error)


def test_other_words_of_nextpnr_are_passed_on():
    assert "refuses the module m: no" in str(module._refusal("ERROR: no\n", "m"))


def test_the_name_of_the_generated_module_is_taken():
    text = "module between_registers (input logic a, output logic b);\nassign b = a;\nendmodule"
    sources = read_sources(text, "between_registers")
    with pytest.raises(RTLError, match="call your file differently"):
        module.wrapped(sources, "between_registers", "")


def test_a_second_clock_is_named():
    source = """
module two (input logic clk, a, output logic y);
  logic n, q;
  assign n = ~clk;
  always_ff @(posedge n) q <= a;
  always_ff @(posedge clk) y <= q;
endmodule
"""
    with pytest.raises(RTLError, match="another clock beside clk"):
        place_and_route(source, "two")
