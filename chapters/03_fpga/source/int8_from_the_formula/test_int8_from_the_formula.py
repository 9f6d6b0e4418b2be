"""This lesson: its numbers follow from the network, its integers and the learner's functions."""

import re

import numpy as np
import pytest

from labkit import convnet, figures, hardware
from labkit_lessons.fpga.int8_from_the_formula import accuracy, bounds, pictures
from tests.notebooks.running import Run

GRAPH, AGREE, BITS = "pictures.shares", "weights agree", "bits needed"
RIGHT, SIGMA, GUESSES = "by_float = ", "pictures.sigma", "figures.guesses"
LAYERS = ("conv1", "conv2", "fc1", "fc2")
W, B = np.array([[127, -60, 25]]), np.array([2000])  # the example of the text


@pytest.fixture(scope="module")
def lesson():
    return Run("03_fpga", "1_int8_from_the_formula")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def rows(said, names):
    """{name: numbers} of the lines that begin with a name and two blanks."""
    found = {}
    for line in map(str.strip, said.splitlines()):
        name = re.split(r"  +", line)[0]
        if name in names:
            numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", line[len(name) :])
            found[name] = [float(n.replace(",", "")) for n in numbers]
    return found


def test_the_numbers_at_the_top():
    board = hardware.machine("pynq_z1")
    parameters = sum(layer.parameters for layer in convnet.LAYERS)
    assert float(board.on_chip) == 140 * 4608 == 645_120 and 4 * parameters == 2_180_392
    assert round(1e3 * 4 * parameters / float(board.bandwidth), 2) == 1.04
    multiply_adds = 6_128_896
    assert round(1e3 * 2 * multiply_adds / float(board.peak["int8"]), 2) == 0.28


def test_the_network_s_graph(lesson):
    found = rows(printed(lesson, GRAPH), (*LAYERS, "all"))
    for name in LAYERS:
        shape = convnet.SHAPES[f"{name}.weight"]
        pixels = {"conv1": 32 * 32, "conv2": 16 * 16}.get(name, 1)
        size = np.prod(shape) + shape[0]
        assert found[name] == [np.prod(shape) * pixels, 4 * size, size]
    assert found["all"] == [6_128_896, 2_180_392, 545_098]
    assert round(100 * found["conv2"][0] / found["all"][0]) == 77
    assert round(100 * found["fc1"][2] / found["all"][2]) == 96
    assert "conv2 77.0 %" in printed(lesson, GRAPH) and "fc1 96.2 %" in printed(lesson, GRAPH)


def test_the_example_by_hand(lesson):
    names = lesson.namespace
    assert names["to_integer"](np.array([0.123, -0.3, 0.7]), 0.005).tolist() == [25, -60, 127]
    q, scale = names["quantize_weights"](np.array([[0.635, -0.3, 0.123]]))
    assert q.tolist() == W.tolist() and scale == pytest.approx([0.005])
    acc = int(B[0] + W[0] @ [80, 50, -20])
    assert acc == 8660
    ends = bounds.accumulator_bounds(W, B)
    assert (ends.low[0], ends.high[0]) == (-25_076, 28_984)
    assert names["accumulator_bits"](W, B, -128, 127) == 16
    assert 8660 * 164 == 1_420_240 and 1_420_240 + 2**15 == 1_453_008
    assert round(0.0025 * 2**16) == 164 and 22 < 1_453_008 / 2**16 < 22.18
    out = names["requantize"](np.array([[acc]], np.int32), np.array([164], np.int32), 16, -128)
    assert out.tolist() == [[22]]


def test_fc1_follows_the_learner_s_functions(lesson):
    assert printed(lesson, AGREE) == "weights agree: True\noutputs agree: True\n"
    said, _ = lesson.again(AGREE, requantize=lambda acc, m, shift, low: 0 * acc)
    assert "weights agree: True" in said and "outputs agree: False" in said
    said, _ = lesson.again(AGREE, quantize_weights=lambda w: (np.trunc(w), 1))
    assert "weights agree: False" in said and "outputs agree: True" in said


def test_the_widths(lesson):
    found = rows(printed(lesson, BITS), LAYERS)
    golden = lesson.namespace["golden"]
    for layer in bounds.network_bounds(golden):
        products, any_int8, needed = found[layer.name]
        assert products == layer.products
        assert any_int8 == layer.bits_of_any_weights == 16 + int(np.log2(products)), "the rule"
        assert needed == layer.acc.bits, "as narrow as bounds through the whole network"
    assert found["fc1"] == [4096, 28, 25] and found["conv2"] == [288, 24, 21]
    saved = {any_int8 - needed for _, any_int8, needed in found.values()}
    assert min(saved) == 1 and max(saved) == 4
    for layer in golden.layers[:-1]:
        assert 0 < layer.multiplier.max() < 2**16
    said, _ = lesson.again(BITS, accumulator_bits=lambda w, b, low, high: 10 * (low < 0) + 3)
    assert [found[-1] for found in rows(said, LAYERS).values()] == [13, 3, 3, 3]


def test_the_right_answers(lesson):
    found = rows(printed(lesson, RIGHT), ("this run", "logged"))
    assert found["this run"] == [500, 401, 400]
    assert found["logged"] == [10_000, 8042, 8033] == [*accuracy.logged()]
    assert (
        "5 classes changed.\nOf these, right in float32: 3\nOf these, right in int8: 2"
        in printed(lesson, RIGHT)
    )
    labels = lesson.namespace["data"].test.labels

    class Perfect:
        @staticmethod
        def predict(images):
            return labels

    said, _ = lesson.again(RIGHT, golden=Perfect)
    assert rows(said, ("this run",))["this run"] == [500, 401, 500]
    assert "99 classes changed" in said


def test_sigma_keeps_its_bound(lesson):
    table = lesson.namespace["table"]
    assert round(table.error_bound, 4) == 0.0024 and table.error_bound < 0.0025
    assert table.inputs_per_entry == 2 and table.entries == 2048
    _, error = pictures.errors(table)
    assert np.abs(error).max() <= table.error_bound
    assert "within the bound of 0.00245" in printed(lesson, SIGMA)


def test_guesses_meet_results_and_the_network_fits(lesson, monkeypatch):
    found = rows(printed(lesson, GUESSES), ("float32", "int8"))
    assert found == {"float32": [2.18, 338], "int8": [0.546, 84.6]}
    in_int8 = lesson.namespace["in_int8"]
    eight_of_nine_bits = 140 * 4096
    assert round(100 * in_int8 / eight_of_nine_bits) == 95
    assert round(eight_of_nine_bits - in_int8, -2) == 27_600
    between = [layer.output_shape for layer in convnet.LAYERS if layer.kind == "pool"]
    assert max(np.prod(shape) for shape in between) == 8192
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    lesson.again(GUESSES, changed=np.ones(7), bits={"conv2": 99})
    assert [[float(result) for *_, result in rows] for rows in drawn] == [[5, 21], [7, 99]]
    assert [result.word for *_, result in drawn[0]] == ["counted", "predicted"]


def test_the_rule_on_a_new_layer_and_in_the_quiz():
    for products, bits in ((576, 25), (2000, 26)):
        assert bounds.signed_bits(-products * 2**14, products * 2**14) == bits


def test_cells_can_run_again_in_any_order(lesson):
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        if RIGHT not in code:  # it takes the most time, and depends on nothing below
            assert lesson.execute(code, left_behind) == lesson.printed[code]
