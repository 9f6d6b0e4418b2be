"""This lesson: what it prints follows the compiler's answers and the learner's functions."""

import dataclasses
import re

import numpy as np
import pytest

from labkit import figures, hardware
from labkit.tpu import compiler
from labkit_lessons.tpu.what_a_training_step_costs import published, reports, step_pictures
from tests.notebooks.running import Run

pytest.importorskip("jax")

ROOF, FUSION, SPEED = "batch_roofline", "def apart", "beside_the_logs"
STEP, SENT, GUESSES = "products_of_flop", "def gradient", "figures.guesses"
GENERAL, SHEETS = "import collatz", "reports.chips"


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "6_what_a_training_step_costs")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"[+-]?\d[\d,]*(?:\.\d+)?", text)]


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def line(said, begin):
    (found,) = (one for one in said.splitlines() if one.startswith(begin))
    return found[len(begin) :]


def changed(ask, **fields):
    """`ask`, but with fields of its answer replaced."""

    def other(*given, **options):
        answer = ask(*given, **options)
        return dataclasses.replace(
            answer, **{name: change(getattr(answer, name)) for name, change in fields.items()}
        )

    return other


def slower(times):
    return lambda ops: [op._replace(cycles=op.cycles and times * op.cycles) for op in ops]


# The critical batch


def test_the_number_that_hurts():
    v5e = hardware.machine("tpu_v5e")
    arithmetic = 2 * 4096**2 / float(v5e.peak["bf16"])
    fetching = 2 * 4096**2 / float(v5e.bandwidth)
    assert arithmetic == pytest.approx(0.17e-6, rel=0.01)
    assert fetching == pytest.approx(41e-6, rel=0.01) and fetching / (fetching + arithmetic) > 0.99


@pytest.mark.parametrize(("K", "N", "batch"), [(20, 30, 12), (10, 10, np.inf)])
def test_the_example_by_hand(lesson, K, N, batch):
    K, N = np.array([K]), np.array([N])
    assert lesson.namespace["critical_batch"](K, N, 12, 2, 2) == pytest.approx(batch)
    if batch == 12:
        assert 2 * K * N * batch / 12 == pytest.approx(2 * (batch * K + K * N + batch * N) / 2)
    else:
        assert pytest.approx([17, 20], abs=0.5) == [2 * 100 / 12, 2 * 20 / 2]


def test_the_critical_batch_is_where_the_roof_ends(lesson, monkeypatch):
    said = printed(lesson, ROOF)
    assert "weights [4096, 4096]: 273 images (predicted)" in said
    v5e = hardware.machine("tpu_v5e")
    peak = float(v5e.peak["bf16"])
    large = lesson.namespace["large"]
    roof = step_pictures.attainable(v5e, np.array([0.99 * large, large, 1e9]), 4096, 4096)
    assert roof[0] < peak and roof[1] == pytest.approx(peak) and roof[2] == peak
    assert peak / float(v5e.bandwidth) == pytest.approx(241, abs=0.5), "as the text says"
    arithmetic = 2 * large * 4096**2 / peak
    traffic = 2 * (4096**2 + 2 * large * 4096) / float(v5e.bandwidth)
    assert [arithmetic, traffic] == pytest.approx([46e-6, 46e-6], rel=0.02), "as the text says"
    drawn = []
    monkeypatch.setattr(step_pictures, "batch_roofline", lambda *given: drawn.append(given))
    other, _ = lesson.again(ROOF, critical_batch=lambda *given: (7,))
    assert "[4096, 4096]: 7 images" in other and drawn[0][-1] == 7


def test_the_estimates_leave_the_road_from_hbm_out(lesson):
    """Left of the critical batch they lie above the roof; the weights are copied beforehand."""
    answers = lesson.namespace["answers"]
    v5e = hardware.machine("tpu_v5e")
    for B, made in answers.items():
        roof = step_pictures.attainable(v5e, np.array([B]), 4096, 4096)[0]
        rate = 2 * B * 4096**2 / float(made.seconds)
        assert (rate > roof) == (B < 256)
        assert rate / roof < 4.75, "as the text says"
        assert [op.kind for op in made.ops if op.cycles is None] == ["copy-start"]
        weights, image = 2 * 4096**2, 2 * 4096
        assert made.bytes_accessed == pytest.approx(3 * weights + 2 * B * image, rel=0.01) or (
            B == 4096
        )
    first = float(answers[16].seconds) * step_pictures.attainable(v5e, np.array([16]), 4096, 4096)
    assert 2 * 16 * 4096**2 / first[0] == pytest.approx(4.7, abs=0.05), "as the text says"
    assert rate / float(v5e.peak["bf16"]) == pytest.approx(0.97, abs=0.005)


# Fusion


def test_bias_and_relu_are_free_when_fused(lesson):
    said = printed(lesson, FUSION)
    alone, fused, apart = (
        numbers(line(said, program))[-1] for program in ("conv ", "together ", "apart ")
    )
    assert alone == fused and apart / fused == pytest.approx(2.8, abs=0.05)
    assert "convolution 49,661, add 59,476, maximum 76,516" in line(said, "apart ")
    assert line(said, "together ").split()[0] == "convolution"
    names = lesson.namespace
    made = compiler.compile_for_tpu(
        names["apart"], [names["x"], names["w"], names["b"]], "v5e:1x1", source="snapshot"
    )  # x, w and b, then what the operations write
    assert [row.memory for row in made.padding[3:]] == ["VMEM", "VMEM", "HBM"]
    assert made.padding[3].padded_bytes == pytest.approx(8.4e6, rel=0.01)
    slow = lesson.again(FUSION, ask=changed(names["ask"], ops=slower(2)))[0]
    assert numbers(line(slow, "together "))[-1] == 2 * fused


def test_the_rule_carries_to_another_chip(lesson):
    """The ridge of an A100, and the critical batch of the same layer there."""
    a100 = hardware.machine("a100")
    peak, bandwidth = float(a100.peak["bf16"]), float(a100.bandwidth)
    assert peak / bandwidth == pytest.approx(153, abs=0.5) and peak == 312e12
    side = np.array([4096])
    (batch,) = lesson.namespace["critical_batch"](side, side, peak, bandwidth, 2)
    assert batch == pytest.approx(165, abs=0.5)


# Images per second


def test_the_prediction_stands_beside_the_published_speeds(lesson, monkeypatch):
    said, names = printed(lesson, SPEED), lesson.namespace
    assert "3,250, published [1]" in said and "4,006, published [2]" in said
    assert "89 epochs in 9.75 h" in said and "90 epochs in 8.00 h" in said
    ours = numbers(line(said, "our prediction"))[0]
    assert round(100 * (ours / 3250 - 1)) == 9 and round(100 * (ours / 4006 - 1)) == -12
    assert "4 of 672 have no estimate" in said
    assert line(said, "our prediction").split()[-2:] == ["+9", "-12"]
    peak = numbers(line(said, "always the peak"))
    assert peak[0] == pytest.approx(8 * 128 * 23e12 / names["resnet"].flops, abs=1)
    assert names["resnet"].flops == pytest.approx(128 * 3 * 2 * 4.0e9, rel=0.05), "ResNet-50's"
    assert peak[-2:] == [135, 91], "far above both: the text says so"
    assert numbers(line(said, "the first log again"))[-2:] == [0, -19], "the constant, worse"
    twice, _ = lesson.again(SPEED, throughput=lambda *given: 2 * names["throughput"](*given))
    assert numbers(line(twice, "our prediction"))[0] == pytest.approx(2 * ours, abs=2)
    monkeypatch.setattr(compiler, "recall", changed(compiler.recall, ops=slower(2)))
    slow, _ = lesson.again(SPEED)
    assert numbers(line(slow, "our prediction"))[0] == pytest.approx(ours / 2, abs=1)


def test_the_example_of_two_operations(lesson):
    rate = lesson.namespace["throughput"](np.array([600, 900]), 4, 8, 1.5e9)
    assert rate == pytest.approx(32e6)


# The course's network


def test_products_are_nearly_all_flop_but_not_the_cycles(lesson):
    said = printed(lesson, STEP)
    by_flop = numbers(line(said, "products, of the FLOP "))[0]
    by_cycles = numbers(line(said, "products, of the cycles "))[0]
    assert by_flop > 99.5 and round(100 - by_cycles) == 58, "the text says so"
    assert numbers(line(said, "reduce, of the cycles "))[0] == pytest.approx(50, abs=1)
    assert "475 µs" in said and numbers(line(said, "Speed: "))[0] == pytest.approx(
        256 / float(lesson.namespace["step"].seconds), rel=1e-5
    )
    assert lesson.namespace["step"].unestimated == 14, "the recap says so"
    dense = changed(
        lesson.namespace["ask"],
        ops=lambda ops: [op for op in ops if op.kind in ("convolution", "matmul")],
    )
    again = lesson.again(STEP, ask=dense)[0]
    assert numbers(line(again, "products, of the cycles "))[0] == 100


def test_the_gradients_of_biases_are_reductions(lesson):
    step = lesson.namespace["step"]
    reductions = {op.layer: op.cycles for op in step.ops if op.kind == "reduce"}
    for layer in ("conv1", "conv2"):
        cycles = reductions[f"transpose(jvp({layer}))/reduce_sum"]
        assert cycles / step.estimated_cycles > 0.08, "many cycles"
    kinds = {op.kind for op in step.ops if op.cycles is None}
    assert {"copy-start", "select-and-scatter"} <= kinds, "copies and pools, as the note says"


def test_memory_and_messages_are_the_compilers(lesson):
    assert "no: it needs 15.96 GiB, and there are 15.75 GiB" in printed(lesson, SPEED)
    said = line(printed(lesson, SENT), "all-reduce ")
    assert said.split()[2:] == ["1.05", "MB", "4", "1.57", "MB", "15.7", "µs"]
    assert lesson.namespace["four"].collectives[0].bytes == 2 * 4096 * 128
    alone = changed(lesson.namespace["ask"], collectives=lambda sent: [])
    assert "all-reduce" not in lesson.again(SENT, ask=alone)[0]


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    lesson.again(GUESSES, large=1)
    assert [float(result) for *_, result in drawn[0]] == [
        pytest.approx(272.5, abs=0.1),
        pytest.approx(42, abs=0.1),
    ]
    assert float(drawn[1][0][2]) == 1
    assert [result.word for *_, result in drawn[0]] == ["predicted", "compiled"]


# The claims


def test_a_tpu_sorts_and_loops(lesson):
    said = printed(lesson, GENERAL)
    assert " sort" in line(said, "sort ") and "while" in line(said, "collatz")
    only = changed(lesson.namespace["ask"], ops=lambda ops: ops[:1])
    assert "while" not in lesson.again(GENERAL, ask=only)[0]


def test_density_and_efficiency_of_published_chips(lesson, monkeypatch):
    said = printed(lesson, SHEETS)
    found = {}
    for name in ("Google TPU v2", "Google TPU v3", "Google TPU v4", "NVIDIA V100", "NVIDIA A100"):
        found[name[-4:]] = line(said, name).split()[-1]
    assert found["U v4"] == "0.458" and found["A100"] == "0.378"
    assert float(found["U v2"]) < float(found["V100"]) < float(found["U v3"]), "both ways"
    for caution in ("as an upper limit", "only summaries", "in fp16"):
        assert caution in " ".join(said.split())
    real = hardware.machine

    def larger(key):
        chip = real(key)
        return dataclasses.replace(
            chip, die=dataclasses.replace(chip.die, value=2 * float(chip.die))
        )

    monkeypatch.setattr(reports, "machine", larger)
    assert line(lesson.again(SHEETS)[0], "NVIDIA A100").split()[-1] == "0.189"


def test_work_for_each_joule(lesson):
    """Work in a time over energy in that time: the ratio of speeds by the ratio of powers."""
    said = printed(lesson, SHEETS)
    for pair in published.MLPERF:
        work = numbers(line(said, f"{pair.benchmark} "))[-1]
        expected = pair.speed_ratio / (pair.watts_v4 / pair.watts_a100)
        assert work == pytest.approx(expected, abs=0.005)
        assert round(expected, 1) == 2.2, "the verdict says so"
    assert [pair.watts_v4 for pair in published.MLPERF] == [197, 206]


def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a function and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        assert lesson.execute(code, left_behind) == lesson.printed[code]
