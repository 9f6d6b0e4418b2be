"""The sources: lint-clean, without a trick, with no more multipliers than the formula."""

import json
import re

import numpy as np
import pytest

from labkit.fpga import cycle_formulas as formulas
from labkit.fpga.library import library
from labkit.fpga.sources import RTL, modules, read_sources, without_comments
from labkit.fpga.toolchain.subset import CONSTRUCTS, refuse_foreign
from labkit.fpga.toolchain.verilated import run_verilator
from labkit.fpga.toolchain.yosys import read_commands, run_yosys
from tests.fpga.circuits.rtl_cases import int8

FILES = sorted(RTL.glob("*.sv"))
LESSONS = (
    "int8_from_the_formula",
    "a_multiply_accumulate_array",
    "a_convolution_as_a_stream",
    "timing_and_proof",
    "the_network_as_a_pipeline",
    "folding_under_a_budget",
    "the_overlay",
    "video_in_video_out",
)
# Neither weights nor anything else may be in a source, or come from outside but through a port.
TRICKS = (
    r"\bimport\b",
    r"\bexport\b",
    r"\breal\b",
    r"\bshortreal\b",
    r"\binitial\b",
    r"\$(?!error\b|clog2\b)\w+",  # $readmemh, $fopen, $random, $display ...
    r"\bcase\b.*\b\d{4,}",
    r"`",  # no `include, `define, `ifdef: one text for simulation and synthesis
    r"synthesis\s+translate_off|verilator\s+lint_off",
    r"'[hb][0-9a-fA-F_]{9,}",  # a table of constants
)
CONV2 = {
    "HEIGHT": 16,
    "WIDTH": 16,
    "IN_CHANNELS": 32,
    "OUT_CHANNELS": 64,
    "CHANNEL_LANES": 8,
    "LANES": 2,
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_verilator_has_no_warning_at_all(path):
    sources = read_sources(library(path.stem), path.stem)
    with sources.laid_out() as folder:
        done = run_verilator(["--lint-only", "-Wall"], sources, {}, folder)
    assert done.returncode == 0, done.stderr
    assert "%Warning" not in done.stderr
    refuse_foreign(sources)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_one_module_with_a_head(path):
    text = path.read_text("utf-8")
    assert modules(text) == [path.stem]
    head = text[: text.index("\nmodule ")]
    assert "// Ports   " in head
    assert "// Timing  " in head
    assert any(lesson in head for lesson in LESSONS)
    assert max(map(len, text.splitlines())) <= 100
    assert "\t" not in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_source_has_a_trick(path):
    text = path.read_text("utf-8")
    assert "lint_off" not in text and "translate_off" not in text
    for trick in TRICKS:
        found = re.search(trick, without_comments(text))
        assert found is None, f"{path.name}: {found.group()}"


def test_tricks_are_seen():
    for line in ('import "DPI-C" f;', "initial x = 1;", '$readmemh("w", m);', "real y;"):
        assert any(re.search(trick, line) for trick in TRICKS)


def netlist(top, parameters=None):
    """The flattened design's cells, as Yosys has them before any technology."""
    sources = read_sources(library(top), top)
    with sources.laid_out() as folder:
        steps = ["proc", "flatten", "opt", "memory_collect", "opt_clean", "write_json n.json"]
        run_yosys([*read_commands(sources, parameters), *steps], folder, sources)
        design = json.loads((folder / "n.json").read_text("utf-8"))
    (module,) = [m for m in design["modules"].values() if "top" in m["attributes"]]
    return module


def multipliers(module) -> int:
    """Multiplications of two signals; those by a constant are an address, or wires."""
    products = [cell for cell in module["cells"].values() if cell["type"] == "$mul"]
    operands = [(cell["connections"]["A"], cell["connections"]["B"]) for cell in products]
    return sum(all(any(isinstance(bit, int) for bit in o) for o in pair) for pair in operands)


@pytest.mark.parametrize(
    ("top", "parameters", "expected"),
    [
        ("mac", {}, 1),
        ("mac_array", {"LANES": 3, "PRODUCTS": 5}, formulas.array_multipliers(3, 5)),
        ("fully_connected", {"LANES": 8, "PRODUCTS": 1}, formulas.array_multipliers(8, 1)),
        ("conv3x3", {}, formulas.conv_multipliers(3, 1)),
        ("conv3x3", CONV2, formulas.conv_multipliers(8, 2)),
        ("requantize", {"LANES": 2}, 2 * 2),
        ("maxpool2x2", {"GROUPS": 6}, 0),
        ("window_3x3", {}, 0),
        ("filter_3x3", {}, 9),
    ],
)
def test_multipliers_are_those_of_the_formula(top, parameters, expected):
    assert multipliers(netlist(top, parameters)) == expected


def test_memories_and_registers_begin_with_nothing():
    """No weight is in a design before the first word: no contents, no initial value."""
    for top, parameters in [("conv_layer", {}), ("fully_connected", {"LANES": 8})]:
        module = netlist(top, parameters)
        memories = [cell for cell in module["cells"].values() if cell["type"].startswith("$mem")]
        assert memories
        for memory in memories:
            assert set(memory["parameters"]["INIT"]) <= {"x"}
        assert not [net for net in module["netnames"].values() if "init" in net["attributes"]]


def test_the_formulas_do_the_layers_work():
    """As many products as the layer has, in FOLD cycles for each pixel: none is left out."""
    for C, K, H, W, channel_lanes, lanes in [(3, 32, 32, 32, 3, 1), (32, 64, 16, 16, 8, 2)]:
        fold = formulas.conv_fold(C, K, channel_lanes, lanes)
        products = formulas.conv_multipliers(channel_lanes, lanes) * fold * H * W
        assert products == K * C * 9 * H * W


def test_the_readme_has_every_file_and_construct():
    text = (RTL / "README.md").read_text("utf-8")
    for path in FILES:
        first = path.read_text("utf-8").splitlines()[0].removeprefix("// ")
        assert f"| [{path.name}]({path.name}) | {first} |" in text
    for construct in CONSTRUCTS:
        rewrite = construct.rewrite.replace("|", r"\|")
        assert f"| {construct.name} | {rewrite} |" in text


def test_int8_has_both_ends():
    drawn = int8(np.random.default_rng(0), 10)
    assert drawn.min() == -128
    assert drawn.max() == 127
