"""labkit.fpga.synthesize: counts of known cells, and sentences for what cannot become gates."""

import re
import sys
from pathlib import Path

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.sources import read_sources
from labkit.fpga.synthesize import synthesize

module = sys.modules["labkit.fpga.synthesize"]  # the package gives its function this name
DESIGNS = Path(__file__).parent / "designs"


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABKIT_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def four_lanes(cache):
    return synthesize(DESIGNS / "multiply_add.sv", "multiply_add")


@pytest.fixture(scope="module")
def products(cache):
    return synthesize(DESIGNS / "products.sv", "products")


@pytest.fixture
def no_yosys(monkeypatch):
    def run(*arguments):
        raise AssertionError("Yosys ran")

    monkeypatch.setattr(module, "run_yosys", run)


def test_each_lane_is_a_dsp_and_every_number_is_compiled(four_lanes):
    assert float(four_lanes.dsp) == 4 == len(four_lanes.multipliers.left)
    assert float(four_lanes.bram36) == 0
    for quantity in (four_lanes.lut, four_lanes.ff, four_lanes.dsp, four_lanes.bram36):
        assert quantity.word == "compiled"
        assert "Yosys 0." in quantity.source and "XC7Z020" in quantity.source
    assert four_lanes.fits and four_lanes.share("dsp") == 4 / 220


def test_a_share_is_asked_by_its_name(four_lanes):
    with pytest.raises(ValueError, match="lut, ff, dsp, bram36"):
        four_lanes.share("bram")


def test_no_frequency_is_claimed(four_lanes):
    said = repr(four_lanes).lower()
    assert not any(unit in said for unit in ("hz", " ns", "fmax"))


def test_memories_and_shift_registers_are_counted_by_their_cells():
    storage = synthesize(DESIGNS / "storage.sv", "storage")
    assert float(storage.bram36) == 1.5
    cells = storage.cells
    assert (cells["RAMB36E1"], cells["RAMB18E1"], cells["RAM32M"]) == (1, 1, 1)
    logic = sum(count for kind, count in cells.items() if kind.startswith(("LUT", "INV")))
    shift = sum(count for kind, count in cells.items() if kind.startswith("SRL"))
    assert shift == 1
    assert float(storage.lut) == logic + shift + 4  # a RAM32M is four LUTs
    assert float(storage.ff) == sum(cells.get(kind, 0) for kind in ("FDRE", "FDSE"))


@pytest.mark.night(
    instead="tests/fpga/test_synthesize.py::test_memories_and_shift_registers_are_counted_by_their_cells"
)
def test_without_memories_the_step_that_maps_them_changes_nothing(four_lanes):
    sources = read_sources(DESIGNS / "multiply_add.sv", "multiply_add")
    whole = module._run(sources, module._script(sources, None))
    assert whole["cells"] == four_lanes.cells
    with pytest.raises(RTLError, match=re.escape(module._HAS_MEMORIES)):
        sources = read_sources(DESIGNS / "storage.sv", "storage")
        module._run(sources, module._script(sources, None, memories=False))


def test_cells_of_other_families_change_nothing(four_lanes):
    """`synth_xilinx` would begin with them, too; we read those of the 7-series ourselves."""
    sources = read_sources(DESIGNS / "multiply_add.sv", "multiply_add")
    script = module._script(sources, None, memories=False)
    place = script.index(module._CELLS)
    whole = [*script[:place], f"{module._SYNTHESIS} -run begin:coarse", *script[place + 3 :]]
    assert script[place + 2].endswith("-run prepare:coarse")
    assert module._run(sources, whole)["cells"] == four_lanes.cells


def test_the_second_answer_comes_from_the_cache(four_lanes, no_yosys):
    again = synthesize(DESIGNS / "multiply_add.sv", "multiply_add")
    assert again == four_lanes


@pytest.mark.parametrize("change", ["parameter", "source", "version", "script"])
def test_any_change_asks_anew(four_lanes, no_yosys, monkeypatch, change):
    source = (DESIGNS / "multiply_add.sv").read_text("utf-8")
    parameters = {"N": 3} if change == "parameter" else None
    if change == "source":
        source = source.replace("sum = 0", "sum = 1")
    if change == "version":
        monkeypatch.setattr(module, "yosys_version", lambda: "0.71")
    if change == "script":
        monkeypatch.setattr(module, "_SYNTHESIS", module._SYNTHESIS + " -nodsp")
    with pytest.raises(AssertionError, match="Yosys ran"):
        synthesize(source, "multiply_add", parameters)


def test_parameters_are_those_of_the_top_and_no_cache_is_needed(monkeypatch, tmp_path):
    file = tmp_path / "a file where the folder should be"
    file.write_text("")
    monkeypatch.setenv("LABKIT_CACHE", str(file))
    two = synthesize(DESIGNS / "multiply_add.sv", "multiply_add", {"N": 2})
    assert float(two.dsp) == 2
    assert file.read_text() == ""


def lines(multipliers):
    return sorted(int(one.place.split()[-1]) for one in multipliers)


def test_every_product_ends_where_it_should(products):
    found = products.multipliers
    assert lines(found.written) == [14, 15, 16, 17, 18, 19, 20, 21, 22, 24]
    assert lines(found.left) in ([14, 15, 20, 21], [15, 16, 20, 21])  # 14 and 16 are equal
    assert lines(found.by_constant) == [18]
    assert lines(one for one in found.left if not one.in_dsp) == [20]
    assert (found.in_dsp, found.in_lut) == (3, 1)
    assert float(products.dsp) > 4  # the wide one takes several


def test_a_report_is_refused_when_the_multipliers_went(products, no_yosys):
    source = DESIGNS / "products.sv"
    assert synthesize(source, "products", multiply_adds_per_cycle=4) == products
    with pytest.raises(RTLError, match=r"10 multipliers .* left 4 .* 1 take a constant, and 5 are"):
        synthesize(source, "products", multiply_adds_per_cycle=4.1)


BAD = {
    "latch": (
        "module m (input logic a, b, output logic q);\n    always_comb\n        if (a) q = b;\n"
        "endmodule",
        "m.sv, line 2: .*[Ll]atch",
        2,
    ),
    "latch of always @*": (
        "module m (input logic a, b, output logic q);\n    always @*\n        if (a) q = b;\n"
        "endmodule",
        "m.sv, line 2: .*[Ll]atch",
        2,
    ),
    "two drivers": (
        "module m (input logic clk, a, b, output logic q);\n"
        "    always_ff @(posedge clk) q <= a;\n    always_ff @(posedge clk) q <= b;\nendmodule",
        "q is driven in several places",
        3,
    ),
    "two edges": (
        "module m (input logic clk, a, output logic q);\n"
        "    always_ff @(posedge clk or negedge clk) q <= a;\nendmodule",
        "m.sv, line 2: the falling edge of the clock",
        2,
    ),
    "a loop without a bound": (
        "module m (input logic [3:0] a, output logic [3:0] q);\n    always_comb begin\n"
        "        q = 0;\n        while (q < a) q = q + 1;\n    end\nendmodule",
        "m.sv, line 4: `while` is outside",
        4,
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_become_gates_is_told_with_its_line(kind, cache):
    source, words, line = BAD[kind]
    before = sorted(cache.rglob("*"))
    with pytest.raises(RTLError, match=words) as caught:
        synthesize(source, "m")
    assert caught.value.line == line
    assert sorted(cache.rglob("*")) == before  # an error is not kept
