"""This lesson: what it prints follows the compiler's answers and the learner's functions."""

import dataclasses
import re

import numpy as np
import pytest

from labkit import figures, hardware
from labkit.convnet import LAYERS
from labkit.costs import step_costs
from labkit.tpu import compiler, systolic
from tests.notebooks.running import Run

pytest.importorskip("jax")

LAYOUTS, BUSY, WAYS, LIVE = "def tile_of", "def mxu_utilization", "counted  v2", "agreement(live"
STAIRS, CHANNELS, SPEED = "multiples =", "channels[0]", "logs ="
SENT, GUESSES, PRODUCTS, SHEETS = "def gradient", "figures.guesses", "def collatz", "dies ="
TABLE = {  # M, K, N
    "conv1": (256 * 32 * 32, 27, 32),
    "conv2": (256 * 16 * 16, 288, 64),
    "fc1": (256, 4096, 128),
    "fc2": (256, 128, 10),
    "square": (1024, 1024, 1024),
}


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "3_what_the_compiler_makes_of_a_layer")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"[+-]?\d[\d,]*(?:\.\d+)?", text)]


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def rows(said, names):
    """{name: numbers} of the lines that begin with a name."""
    return {
        n: numbers(line[len(n) :])
        for line in said.splitlines()
        for n in names
        if line[:9].split()[:1] == [n]
    }


def changed(ask, topology=None, **fields):
    """`ask`, but with operations of `times` the cycles, or other fields replaced, on `topology`."""

    def other(f, shapes, at, **options):
        answer = ask(f, shapes, at, **options)
        if topology not in (None, at):
            return answer
        given = {k: change(getattr(answer, k)) for k, change in fields.items()}
        return dataclasses.replace(answer, **given)

    return other


def slower(times):
    return lambda ops: [op._replace(cycles=op.cycles and times * op.cycles) for op in ops]


def test_the_layouts_are_the_compilers_and_the_bytes_the_learners(lesson):
    said = printed(lesson, LAYOUTS)
    assert "14 of 14 arrays agree" in said
    found = {line.split()[0]: re.findall(r"([\d.]+)x", line) for line in said.splitlines()}
    assert found["x"] == ["42.7", "1.0"] and found["w['fc2.weight']"] == ["12.8", "1.6"]
    said, _ = lesson.again(LAYOUTS, padded_bytes=lambda shape, *rest: 2 * int(np.prod(shape)))
    assert " 6 of 14 arrays agree" in said, "those without padding"
    row_major = changed(
        lesson.namespace["ask"],
        padding=lambda rows: [
            r._replace(order=",".join(map(str, range(len(r.shape))[::-1]))) for r in rows
        ],
    )
    said, _ = lesson.again(LAYOUTS, ask=row_major)
    assert "14 of 14" not in said


def test_large_products_keep_the_units_busy(lesson):
    said = printed(lesson, BUSY)
    units = {"v2": 1, "v3": 2, "v4": 4, "v5e": 4, "v5p": 8, "v6e": 16}  # of 128 x 128
    for chip, number in units.items():
        line = next(line for line in said.splitlines() if f"on {chip}" in line)
        cycles, share = numbers(line.split(":")[1])[:2]
        assert share == round(100 * 4096**3 / (cycles * number * 128**2)) > 85
    assert round(4096**3 / cycles, -3) == 228_000 > 2 * 256**2 == 131_072, "as the text says"
    twice = changed(lesson.namespace["ask"], "v5e:1x1", ops=slower(2))
    assert "2,166,136 cycles, 48%" in lesson.again(BUSY, ask=twice)[0]


def test_one_layer_three_ways(lesson):
    found = rows(printed(lesson, WAYS), TABLE)
    used = lesson.namespace["mxu_utilization"]
    for name, (M, K, N) in TABLE.items():
        counted, v2, v5e, filled, used2, used5 = found[name]
        assert counted == systolic.cycles("ws", M, K, N, 128, 128, double_buffer=True)
        expected = used(*np.array([[M], [K], [N], [v2]]), 1, 128)
        assert [used2, filled] == [pytest.approx(100 * e[0], abs=0.5) for e in expected]
        assert used5 == pytest.approx(100 * M * K * N / v5e / 4 / 128**2, abs=0.5)
    off = {name: found[name][1] / found[name][0] - 1 for name in TABLE}
    assert 0.115 < off["square"] < 0.125 and -0.09 < off["conv2"] < -0.08, "12 % and 8 %"
    assert -0.52 < off["conv1"] < -0.48 and 0.38 < off["fc1"] < 0.42 and 0.8 < off["fc2"] < 1
    assert all(found[name][4] > found[name][3] for name in ("conv1", "conv2")), "used, filled"
    assert all(found[name][2] > found[name][1] / 4 for name in TABLE), "a v5e has four units"
    assert found["conv1"][2] > found["conv1"][1]


def test_the_predictions_beside_the_table(lesson):
    """The cycles that bytes and arithmetic would take, where the text names them."""
    v5e = hardware.machine("tpu_v5e").bandwidth
    fc1 = 2 * (256 * 4096 + 4096 * 128 + 256 * 128)
    square = 2 * 3 * 1024**2
    clock = lesson.namespace["fc1"].clock
    assert fc1 / float(v5e) * clock == pytest.approx(5900, abs=50)
    assert square / float(v5e) * clock == pytest.approx(11_500, abs=50)
    arithmetic = 1024**3 / (4 * 128**2)
    assert arithmetic == pytest.approx(16_400, abs=50)
    compiled = rows(printed(lesson, WAYS), TABLE)["square"][2]
    assert 0.9 < (arithmetic + 11_500) / compiled < 1, "one after the other, within a tenth"
    v2 = hardware.machine("tpu_v2")
    clock = float(v2.peak["bf16"]) / (2 * 2 * 128**2)  # two cores of one unit
    assert fc1 / (float(v2.bandwidth) / 2) * clock == pytest.approx(6400, abs=50)


def test_the_table_follows_the_compiler(lesson):
    found = rows(printed(lesson, WAYS), TABLE)
    twice = changed(lesson.namespace["ask"], "v2:1x1", ops=slower(2))
    other = rows(lesson.again(WAYS, ask=twice)[0], TABLE)
    assert all(other[n][1] == 2 * found[n][1] and other[n][2] == found[n][2] for n in TABLE)


def test_the_live_cell_compiles_and_compares(lesson, monkeypatch):
    live = dataclasses.replace(lesson.namespace["fc1"], ops=[])
    monkeypatch.setattr(compiler, "installed", lambda: True)
    said, _ = lesson.again(LIVE, compile_for_tpu=lambda *given: live)
    assert "differs from the snapshot" in " ".join(said.split()) and "s (measured on" in said

    def crash(*given):
        raise compiler.CompilerError("The compiler crashed.")

    said, _ = lesson.again(LIVE, compile_for_tpu=crash)
    assert said.startswith("The compiler crashed.\nThe answer took")
    monkeypatch.setattr(compiler, "installed", lambda: False)
    said, _ = lesson.again(LIVE, compile_for_tpu=lambda *given: live)
    assert said.startswith("No compiler.")


def test_the_stairs(lesson):
    lines = printed(lesson, STAIRS).splitlines()
    steps = {line.split(",")[0].split()[0]: numbers(line[26:]) for line in lines[:5]}
    at = dict(zip(steps.pop("more"), zip(*steps.values(), strict=True), strict=True))
    assert list(steps) == ["counted", "v2", "v5e", "v6e"]
    assert at[1024][0] == 12.5 and at[1024][1] == pytest.approx(12.5, abs=0.6)
    for n in range(256, 1153, 128):
        assert at[n][1] == pytest.approx(at[n][0], rel=0.15), "a v2 climbs from 256 on"
    assert all(v2 > 10 and v5e > 2 for _, v2, v5e, _ in at.values()), "at each multiple of 128"
    assert all(at[n][3] > 3.5 for n in (256, 512, 768, 1024))
    assert all(at[n][3] < 1.5 for n in (128, 384, 640, 896, 1152)), "not on arrays of 256"
    K, cycles = lesson.namespace["K"], lesson.namespace["cycles"]
    v5e = cycles["v5e, compiled"]
    assert v5e[K.index(769)] > v5e[K.index(896)], "the text says so"
    assert 60_000 < min(v5e) < min(cycles["v2, compiled"])
    assert numbers(lines[5])[2:] == [v5e[K.index(769)], 896, v5e[K.index(769)], 896, 77789]
    flat = changed(lesson.namespace["ask"], "v6e:1x1", ops=lambda ops: [ops[0]._replace(cycles=7)])
    assert numbers(lesson.again(STAIRS, ask=flat)[0].splitlines()[4][26:]) == [0] * 9


def test_channels_for_nothing(lesson):
    said = printed(lesson, CHANNELS).splitlines()[1:]
    table = {tuple(row[:2]): row[2:] for row in map(numbers, said)}
    few, more, full, double = table.values()
    assert few[:2] == more[:2] and few[0] == pytest.approx(full[0], rel=0.02)
    assert few[3] == more[3] == 2 * few[2] == more[2] and double[0] > 1.9 * full[0]
    assert 1.8 < double[1] / full[1] < 1.85, "on a v6e, too"


def test_the_prediction_stands_beside_the_published_speed(lesson, monkeypatch):
    said = printed(lesson, SPEED)
    assert "89 epochs in 9.75 h (published in DAWNBench" in said and "3,250 images/s, ours" in said
    assert "90 epochs in 8 h (published in DAWNBench" in said and "4,006 images/s, ours" in said
    v2, _, first, _, second, *_ = map(numbers, said.splitlines())
    ours = v2[2]
    assert first[-1] == round(100 * (ours / 3250 - 1)) and 5 < first[-1] < 15, "as the text says"
    assert second[-1] == round(100 * (ours / 4006 - 1)) and -15 < second[-1] < -5
    twice, _ = lesson.again(
        SPEED, throughput=lambda *given: 2 * lesson.namespace["throughput"](*given)
    )
    assert numbers(twice.splitlines()[0])[2] == pytest.approx(2 * ours, abs=2)
    recall = compiler.recall

    def longer(*given):
        answer = recall(*given)
        return dataclasses.replace(answer, ops=slower(2)(answer.ops))

    monkeypatch.setattr(compiler, "recall", longer)
    slow, _ = lesson.again(SPEED)
    assert numbers(slow.splitlines()[0])[2] == pytest.approx(ours / 2, abs=1)


def test_memory_and_messages_are_the_compilers(lesson):
    said = printed(lesson, SENT)
    assert "GiB of memory; v5e:1x1 has 15.75 GiB" in " ".join(said.split())
    assert f"all-reduce of bf16[4096,128], {2 * 4096 * 128:,} B, among 4 chips" in said.replace(
        "6, 1", "6,1"
    )
    ask = lesson.namespace["ask"]
    alone, _ = lesson.again(SENT, ask=changed(ask, "v5e:2x2", collectives=lambda sent: []))
    assert "all-reduce" not in alone


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    other = {"v2, compiled": range(100, 118)}  # 114 at K = 1,024, then 115
    wide = {(64, 64): 1, (64, 128): 4}
    lesson.again(GUESSES, cycles=other, ratios=wide, padded_bytes=lambda *given: 2560)
    assert [float(result) for *_, result in drawn[0]] == [12.8, pytest.approx(12, abs=0.1), 1]
    assert [float(result) for *_, result in drawn[1]] == [1, pytest.approx(100 / 114), 4]
    assert [result.word for *_, result in drawn[0]] == ["predicted", "compiled", "compiled"]


def test_products_are_nearly_all_flop_but_not_the_cycles(lesson):
    said = printed(lesson, PRODUCTS)
    costs = {cost.name: float(cost.flops) for cost in step_costs(LAYERS, 256)}
    products = sum(costs[name] for name in ("conv1", "conv2", "fc1", "fc2")) / sum(costs.values())
    (by_flop,) = numbers(said.splitlines()[2])
    by_cycles, sums = numbers(said.splitlines()[3])
    assert by_flop == round(100 * products, 1) and by_cycles < 50 < sums, "the verdict says so"
    assert "sort compiles" in said and "while" in said and "select-and-scatter" in said
    dense = changed(
        lesson.namespace["ask"],
        ops=lambda ops: [op for op in ops if op.kind in ("convolution", "matmul")],
    )
    assert "cycles: 100% products, 0% sums" in lesson.again(PRODUCTS, ask=dense)[0]


def test_density_and_efficiency_of_published_chips(lesson, monkeypatch):
    lines = printed(lesson, SHEETS).splitlines()
    chips = [line for line in lines if "for each W" in line]
    found = {line.split()[0]: (line.split()[1], line.split()[-4]) for line in chips}
    assert found["tpu_v4"] == ("0.46", "1.43") and found["a100"] == ("0.38", "0.78")
    assert found["tpu_v2"] == ("0.07", "0.16") and found["v100"] == ("0.15", "0.42")
    assert found["tpu_v3"] == ("0.18", "0.47")
    assert sum("(published in" in line for line in lines) == 2 * len(chips), "each has its source"
    v2, v3 = (float(hardware.machine(key).peak["bf16"]) / 1e12 for key in ("tpu_v2", "tpu_v3"))
    assert round(v3 / 450, 2) == 0.27, "the verdict says so"
    assert v2 / 300 == pytest.approx(125 / 815, rel=0.01), "a v2's die, to be as dense"
    real = hardware.machine

    def thirsty(key):
        chip = real(key)
        return dataclasses.replace(
            chip, power=dataclasses.replace(chip.power, value=2 * float(chip.power))
        )

    monkeypatch.setattr(hardware, "machine", thirsty)
    assert "a100   0.38 TFLOP/s for each mm², 0.39 for each W" in lesson.again(SHEETS)[0]


def test_work_for_each_joule(lesson):
    """Work in a time over energy in that time: the ratio of speeds by the ratio of powers."""
    said = printed(lesson, SHEETS).splitlines()[-4:]
    for names, work in zip(said[::2], said[1::2], strict=True):
        faster, ours, theirs = re.search(
            r"([\d.]+) times .* (\d+) W against (\d+) W", names
        ).groups()
        expected = float(faster) / (float(ours) / float(theirs))
        assert numbers(work)[0] == pytest.approx(expected, abs=0.005)
        assert round(expected, 1) == 2.2, "the verdict says so"


def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a function and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        said = lesson.execute(code, left_behind)
        if LIVE not in code:
            assert said == lesson.printed[code]
