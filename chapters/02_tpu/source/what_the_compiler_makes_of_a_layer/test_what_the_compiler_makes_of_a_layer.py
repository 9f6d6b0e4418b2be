"""This lesson: what it prints follows the compiler's answers and the learner's functions."""

import dataclasses
import re

import numpy as np
import pytest

from labkit import figures, hardware
from labkit.tpu import compiler, programs
from labkit.tpu.matrix_unit import systolic
from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer import layout_pictures, live
from tests.notebooks.running import Run

pytest.importorskip("jax")

SMALL, LAYOUTS, WAYS = "def round_up", "last_axis_fastest", "def cycles_of"
LIVE, STAIRS, CHANNELS = "live.agreement", "layout_pictures.stairs", "by_channels = {}"
GUESSES, NEW_LAYER = "figures.guesses", "take the room of"
TABLE = {  # M, K, N
    "conv1": (256 * 32 * 32, 27, 32),
    "conv2": (256 * 16 * 16, 288, 64),
    "fc1": (256, 4096, 128),
    "fc2": (256, 128, 10),
    "square": (1024, 1024, 1024),
}


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "5_what_the_compiler_makes_of_a_layer")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"[+-]?\d[\d,]*(?:\.\d+)?", text)]


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def rows(said, names):
    """{name: numbers} of the lines that begin with a name and two blanks."""
    found = {}
    for line in map(str.strip, said.splitlines()):
        name = re.split(r"  +", line)[0]
        if name in names:
            found[name] = numbers(line[len(name) :])
    return found


def changed(ask, topology=None, **fields):
    """`ask`, but with fields of its answers replaced, on `topology` alone where one is given."""

    def other(f, shapes, at, **options):
        answer = ask(f, shapes, at, **options)
        if topology not in (None, at):
            return answer
        given = {k: change(getattr(answer, k)) for k, change in fields.items()}
        return dataclasses.replace(answer, **given)

    return other


def slower(times):
    return lambda ops: [op._replace(cycles=op.cycles and times * op.cycles) for op in ops]


def test_the_number_at_the_top(lesson):
    """43 times 1.6 MB, and how long a v5e would read them."""
    own = 256 * 32 * 32 * 3 * 2
    padded = lesson.namespace["padded_bytes"]((256, 32, 32, 3), (3, 2, 1, 0), (8, 128), 2)
    assert round(own / 1e6, 1) == 1.6 and round(padded / 1e6) == 67
    assert round(padded / own) == 43
    v5e = float(hardware.machine("tpu_v5e").bandwidth)
    assert round(1e6 * padded / v5e) == 82 and round(1e6 * own / v5e) == 2
    assert lesson.namespace["images"].padded_bytes == own, "the end says so"
    found = rows(printed(lesson, GUESSES), ("as written", "as the compiler chose"))
    assert found["as written"] == [67.1, 81.9] and found["as the compiler chose"] == [1.57, 1.92]
    said, _ = lesson.again(GUESSES, padded_bytes=lambda *given: 819_000_000)
    assert rows(said, ("as written",))["as written"] == [819, 1000], "by the learner's function"


def test_the_small_array(lesson):
    assert "5 columns are stored as 8 and 3 rows as 4" in printed(lesson, SMALL)
    padded = lesson.namespace["padded_bytes"]
    assert padded((3, 5), (1, 0), (2, 4), 2) == 64 and padded((3, 5), (0, 1), (2, 4), 2) == 48


def test_the_layouts_are_the_compilers_and_the_bytes_the_learners(lesson):
    said = printed(lesson, LAYOUTS)
    lines = {line.split("  ")[0]: re.split("  +", line) for line in said.splitlines()}
    assert lines["images"][2:] == ["67.1", "1.57", "yes", "0,2,3,1"]
    assert lines["conv1's result"][2:5] == ["67.1", "16.8", "yes"]
    assert lines["fc2's weights"][2:] == ["0.0328", "0.0041", "yes", "0,1"]
    said, _ = lesson.again(LAYOUTS, padded_bytes=lambda shape, *rest: 2 * int(np.prod(shape)))
    assert said.count("  yes  ") == 2, "those without padding"

    def row_major(shapes):
        return [r._replace(order=",".join(map(str, range(len(r.shape))[::-1]))) for r in shapes]

    real = lesson.namespace["compile_for_tpu"]
    said, _ = lesson.again(LAYOUTS, compile_for_tpu=changed(real, padding=row_major))
    assert "  yes  " not in said


def test_the_picture_shows_the_compilers_order(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(layout_pictures, "one_tile", lambda *given: drawn.append(given))
    lesson.again(LAYOUTS)
    ((shape, orders, letters),) = drawn
    assert shape == (256, 32, 32, 3) and letters == "BHWC"
    assert orders["as the compiler chose"] == (0, 2, 3, 1)


def test_the_small_product_of_the_text(lesson):
    small = np.array([[6], [5], [2], [10]])
    used, filled = lesson.namespace["mxu_utilization"](*small, 2, 4)
    assert round(100 * used[0]) == 19 and filled[0] == 10 / 32


def test_one_layer_three_ways(lesson):
    found = rows(printed(lesson, WAYS), TABLE)
    used = lesson.namespace["mxu_utilization"]
    for name, (M, K, N) in TABLE.items():
        counted, v2, filled, share = found[name]
        assert counted == systolic.cycles("ws", M, K, N, 128, 128, double_buffer=True)
        expected = used(*np.array([[M], [K], [N], [v2]]), 1, 128)
        assert [share, filled] == [pytest.approx(100 * e[0], rel=0.01) for e in expected]
    off = {name: found[name][1] / found[name][0] - 1 for name in TABLE}
    assert 0.115 < off["square"] < 0.125 and -0.52 < off["conv1"] < -0.48, "12 % and half"
    assert off["fc1"] > 0.2 and off["fc2"] > 0.2, "they take longer, too"
    above = [name for name in TABLE if found[name][3] > found[name][2]]
    assert above == ["conv1", "conv2"], "utilization, filled"
    assert found["conv1"][0] == 262_526, "as the prediction says"


def test_the_table_follows_the_compiler(lesson):
    found = rows(printed(lesson, WAYS), TABLE)
    twice = changed(lesson.namespace["ask"], "v2:1x1", ops=slower(2))
    other = rows(lesson.again(WAYS, ask=twice)[0], TABLE)
    assert all(other[n][1] == 2 * found[n][1] and other[n][0] == found[n][0] for n in TABLE)


def test_the_live_cell_compares_and_times(lesson, monkeypatch):
    monkeypatch.setattr(live, "agreement", lambda f, shapes, topology: f"{shapes} {topology}")
    said, _ = lesson.again(LIVE)
    assert said.startswith("[(256, 4096), (4096, 128)] v5e:1x1") and "s (measured on" in said
    assert "square" not in said, "no TPU here"


def test_the_stairs(lesson, monkeypatch):
    counts, v2 = lesson.namespace["counts"], lesson.namespace["stairs"]
    assert 100 * (counts[1025] / counts[1024] - 1) == pytest.approx(12.5, abs=0.05)
    for n in range(128, 1153, 128):
        assert v2[n] == pytest.approx(v2[n - 64], rel=0.025), "level up to each multiple"
        assert v2[n + 1] > 1.1 * v2[n], "a step behind it"
        if n > 128:
            step = counts[n + 1] - counts[n]
            assert v2[n + 1] - v2[n] == pytest.approx(step, rel=0.02), "as high as counted"
    drawn = []
    monkeypatch.setattr(layout_pictures, "stairs", lambda *given: drawn.append(given))
    lesson.again(STAIRS, cycles_of=lambda program, shapes, chip: shapes[0][1])
    ((again, sizes, chip),) = drawn
    assert again == counts and sizes == {K: K for K in v2} and chip == "v2"


def test_when_channels_are_free(lesson):
    found = {}
    for line in printed(lesson, CHANNELS).splitlines():
        channels, *others = re.split("  +", line.strip())
        if channels.isdigit():
            found[int(channels)] = others
    assert found[64] == found[128] and found[64][1] == "C", "cycles and memory stay the same"
    few, _, small = found[128]
    more, _, large = found[129]
    cycles, megabytes = numbers(f"{few} {more}"), numbers(f"{small} {large}")
    assert cycles[1] / cycles[0] == pytest.approx(1.76, abs=0.005)
    assert megabytes[1] / megabytes[0] == pytest.approx(2, abs=0.01)


def test_the_rule_holds_for_a_new_layer(lesson):
    found = rows(printed(lesson, NEW_LAYER), ("200", "256", "257"))
    assert [found[n][0] for n in ("200", "256", "257")] == [256, 256, 384]
    assert found["200"][1] == found["256"][1], "56 more are free"
    assert found["257"][1] / found["256"][1] == pytest.approx(1.44, abs=0.005)
    ask, conv = lesson.namespace["ask"], lesson.namespace["conv"]
    made = ask(conv, [(32, 14, 14, 256), (3, 3, 256, 200)], "v5e:1x1")
    assert made.padding[-1].axes[0] == 3, "the channels lie along the 128"


@pytest.mark.skipif(not compiler.installed(), reason="no TPU compiler here")
def test_the_quiz_has_one_right_answer():
    cycles = {}
    for channels in (160, 192, 256, 320):
        shapes = [(32, 56, 56, 64), (3, 3, 64, channels)]
        cycles[channels] = compiler.compile_for_tpu(programs.conv, shapes).estimated_cycles
    assert cycles[160] == cycles[192] == cycles[256]
    assert cycles[320] > 1.3 * cycles[256]


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    other = {"stairs": {1024: 114, 1025: 115}, "v2": [3], "counted": [2]}
    lesson.again(GUESSES, by_channels={64: 1, 128: 4}, **other)
    expected = [pytest.approx(12, abs=0.1), pytest.approx(0.492, abs=0.001), 1]
    assert [float(result) for *_, result in drawn[0]] == expected
    assert [float(result) for *_, result in drawn[1]] == [pytest.approx(100 / 114), 1.5, 4]
    assert [result.word for *_, result in drawn[0]] == 3 * ["compiled"]


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a function and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        said = lesson.execute(code, left_behind)
        if LIVE not in code:
            assert said == lesson.printed[code]
