"""The learner's own modules in the accelerator: bit by bit, and what is refused."""

import re

import numpy as np
import pytest

from labkit.fpga.board import designs
from labkit.fpga.convnet import accelerator
from labkit.fpga.convnet.accelerator import Accelerator
from labkit.fpga.convnet.own_modules import OWN_MODULES, blamed, with_own
from labkit.fpga.errors import RTLError
from labkit.fpga.judging.given_modules import COLUMN_COUNTER, QUEUE, course_module
from labkit.fpga.library import library
from labkit.fpga.running.stalls import Stalls
from labkit.fpga.sources import RTL, modules, read_sources
from labkit.fpga.toolchain.lint import lint
from labkit.fpga.toolchain.verilated import run_verilator
from tests.fpga.convnet.small_networks import SMALL, oracle, random_images, random_network

HERE = "tests/fpga/convnet/test_own_modules.py::test"
LESSON = "chapters/03_fpga/8_the_network_on_the_board.ipynb"  # builds the network with all of them
OURS = {name: course_module(module.exercise) for name, module in OWN_MODULES.items()}
LAYERS, IMAGES = random_network(5), random_images(6, 3)
# In each module one place, so that it computes something else or loses words.
FAULTS = {
    "mac": ("(first ? 0 : y_data)", "y_data"),
    "mac_array": ("{w, x}", "{w, 8'd1}"),
    "requantize": ("+ 2 ** (SHIFT - 1)", ""),
    "line_buffer": ("LENGTH - 1", "LENGTH - 2"),
    "window_control": ("!first_row && !first_col", "!first_row"),
    "register_stage": ("out_valid <= in_valid;", "out_valid <= in_valid && !out_valid;"),
    "queue": ("waiting != 3", "waiting != 4"),
    "columns": ("(first_value ? 0 : sums[k])", "sums[k]"),
}


@pytest.fixture
def run(monkeypatch):
    """run(own, stalls): the small network's logits from an accelerator with these modules."""
    monkeypatch.setattr(accelerator, "library", lambda top, own: with_own(own))

    def logits(own, stalls=None):
        with Accelerator(shapes=SMALL, own=own, stalls=stalls) as made:
            found = made.run(LAYERS, IMAGES).logits
            assert made.state().violations == 0
        return found

    return logits


@pytest.mark.night(instead=LESSON)
@pytest.mark.parametrize("stalls", [None, Stalls(seed=3, share=0.4)], ids=["free", "stalled"])
def test_all_of_them_in_a_small_network(run, stalls):
    assert np.array_equal(run(OURS, stalls), oracle(LAYERS, IMAGES))


@pytest.mark.night(instead=LESSON)
@pytest.mark.parametrize("name", OURS)
def test_each_alone_in_a_small_network(run, name):
    for stalls in (None, Stalls(seed=4, share=0.4)):
        assert np.array_equal(run({name: OURS[name]}, stalls), oracle(LAYERS, IMAGES))


@pytest.mark.night(instead=LESSON)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_each_changes_the_logits_or_is_told(run, name):
    old, new = FAULTS[name]
    assert old in OURS[name]
    try:
        found = run({name: OURS[name].replace(old, new)})
    except RTLError as error:
        assert "The job does not end" in str(error) or "The job has failed" in str(error)
    else:
        assert not np.array_equal(found, oracle(LAYERS, IMAGES))


def test_the_adapters_are_lint_clean():
    sources = read_sources(with_own(OURS), "accelerator")
    with sources.laid_out() as folder:
        done = run_verilator(["--lint-only", "-Wall", "-Wno-fatal"], sources, {}, folder)
    assert done.returncode == 0
    warned = set(re.findall(r"^%Warning\S*: ([\w.]+):", done.stderr, re.MULTILINE))
    assert warned <= {f"{name}.sv" for name in [*OURS, "column_counter"]}


@pytest.mark.parametrize("path", sorted((RTL / "own").glob("*.sv")), ids=lambda path: path.stem)
def test_an_adapter_is_one_module_with_a_head(path):
    text = path.read_text("utf-8")
    assert modules(text) == [path.stem]
    head = text[: text.index("\nmodule ")]
    assert all(f"// {word}  " in head for word in ("Ports ", "Timing", "Lesson"))
    assert max(map(len, text.splitlines())) <= 100 and "\t" not in text


def test_a_module_with_the_courses_ports_takes_its_place():
    parts = with_own({"line_buffer": OURS["line_buffer"]})
    others = [path for path in library("accelerator") if path.stem != "line_buffer"]
    assert parts == [*others, OURS["line_buffer"]]


def test_an_adapter_brings_what_it_needs_and_the_text_stays_as_it_is():
    parts = with_own({"register_stage": OURS["register_stage"]})
    for text in (OURS["register_stage"], OURS["queue"], OURS["columns"], COLUMN_COUNTER):
        assert text in parts
    assert OURS["mac"] not in parts and OURS["requantize"] not in parts
    changed = [part for part in parts if isinstance(part, str) and "module convnet" in part]
    assert changed[0].count("own_fully_connected #(") == 2  # fc2 gets the course's below it
    assert "own_requantize" not in changed[0]


def test_an_array_may_bring_a_unit_of_its_own():
    array = OURS["mac_array"] + OURS["mac"].replace("x * w", "w * x")
    parts = with_own({"mac_array": array, "mac": OURS["mac"]})
    assert re.sub(r"\bmac\b", "mac_of_mac_array", array) in parts and OURS["mac"] not in parts


def test_columns_may_bring_a_counter_of_their_own():
    columns = OURS["columns"] + COLUMN_COUNTER
    assert COLUMN_COUNTER not in with_own({"columns": columns})


def test_no_module_of_ones_own_is_the_courses_accelerator():
    assert designs.convnet().source == designs.convnet(own={}).source == library("accelerator")


def refused(own):
    with pytest.raises(RTLError) as told:
        designs.convnet(shapes=SMALL, own=own)
    return str(told.value)


def test_an_unknown_name_is_refused_with_those_there_are():
    said = refused({"pipelined_tree": OURS["queue"]})
    assert "no place for a module 'pipelined_tree'" in said
    assert all(name in said for name in OWN_MODULES)


def test_other_ports_are_refused_with_module_and_lesson():
    said = refused({"queue": OURS["queue"].replace("out_ready", "out_free")})
    assert said.startswith("Your module queue (lesson 4) does not fit into the network")
    assert "no port `out_ready`" in said


def test_another_module_is_refused():
    said = refused({"queue": OURS["mac"]})
    assert "Your module queue (lesson 4)" in said and "no module 'queue'" in said


def test_what_does_not_lint_is_refused_with_module_lesson_and_line():
    text = OURS["requantize"].replace("8'(shifted)", "shifted")
    said = refused({"requantize": text})
    assert said.startswith("Your module requantize (lesson 2) is refused: requantize.sv, line ")
    assert "bits go into 8" in said


def test_the_lesson_gave_a_queue_that_may_be_tried():
    assert QUEUE in with_own({"queue": QUEUE})


# Two helpers of one name that do not do the same, one above its module and one below it.
WORD = "module memory (input logic signed [7:0] a, output logic signed [7:0] b); {} endmodule\n"
SAME, LESS = WORD.format("assign b = a;"), WORD.format("assign b = a - 1;")
QUEUED = SAME + OURS["queue"].replace(
    "assign out_data  = words[head];", "memory same (words[head], out_data);"
)
STAGE = OURS["register_stage"].replace("out_data  <= in_data", "out_data <= less + 1") + LESS
STAGE = STAGE.replace("assign", "logic signed [7:0] less; memory u (in_data, less); assign", 1)


def test_two_modules_may_have_helpers_of_one_name():
    parts = with_own({"queue": QUEUED, "register_stage": STAGE})
    declared = [modules(part) for part in parts if isinstance(part, str)]
    assert ["memory_of_queue", "queue"] in declared
    assert ["register_stage", "memory_of_register_stage"] in declared
    names = [name for _, text in read_sources(parts, "accelerator").files for name in modules(text)]
    assert len(names) == len(set(names)) and "memory" in names  # the course has one as well


@pytest.mark.night(instead=f"{HERE}_two_modules_may_have_helpers_of_one_name")
def test_helpers_of_one_name_in_a_small_network(run):
    found = run({"queue": QUEUED, "register_stage": STAGE})
    assert np.array_equal(found, oracle(LAYERS, IMAGES))


def test_a_helper_is_refused_by_the_name_that_the_learner_gave_it():
    own = {"register_stage": STAGE, "queue": QUEUED.replace("b = a", "b = {a, a}")}
    [text] = [part for part in with_own(own) if isinstance(part, str) and "module queue" in part]
    with pytest.raises(RTLError) as told:
        lint(read_sources(text, "queue"), {})
    said = str(blamed(told.value, own))
    assert said.startswith("Your module queue (lesson 4) is refused: memory.sv, line 1: 16 bits go")
    assert "module memory (" in said and "memory_of" not in said
