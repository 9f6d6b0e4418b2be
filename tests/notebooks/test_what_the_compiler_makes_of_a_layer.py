"""This lesson: what it prints follows the compiler's answers and the learner's functions."""

import dataclasses
import re

import numpy as np
import pytest

from labkit import figures, hardware
from labkit.tpu import compiler, layout_pictures, live, programs, systolic
from tests.notebooks.running import Run

pytest.importorskip("jax")

SMALL, LAYOUTS, BUSY, WAYS = "def round_up", "last_axis_fastest", "def cycles_of", "used_v2"
LIVE, STAIRS, ZEROS, CHANNELS = (
    "live.agreement",
    "def one_more",
    "def filled_up",
    "by_channels = {}",
)
GUESSES = "figures.guesses"
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
    """{name: numbers} of the lines that begin with a name and two blanks."""
    found = {}
    for line in said.splitlines():
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


def with_ask(lesson, ask):
    """The lesson's `cycles_of`, with another compiler behind it."""
    return lambda program, shapes, chip: ask(program, shapes, f"{chip}:1x1").estimated_cycles


def test_the_number_at_the_top(lesson):
    """43 times 1.6 MB, and how long a v5e would read them."""
    own = 256 * 32 * 32 * 3 * 2
    padded = lesson.namespace["padded_bytes"]((256, 32, 32, 3), (3, 2, 1, 0), (8, 128), 2)
    assert round(own / 1e6, 1) == 1.6 and round(padded / 1e6) == 67
    assert round(padded / own) == 43
    v5e = float(hardware.machine("tpu_v5e").bandwidth)
    assert round(1e6 * padded / v5e) == 82 and round(1e6 * own / v5e) == 2
    network = lesson.namespace["network"]
    assert round(1e6 * float(network.seconds)) == 137
    assert lesson.namespace["arrays"]["x"].padded_bytes == own, "the end says so"


def test_the_small_array(lesson):
    assert "5 columns are stored as 8 and 3 rows as 4" in printed(lesson, SMALL)
    padded = lesson.namespace["padded_bytes"]
    assert padded((3, 5), (1, 0), (2, 4), 1) == 32 and padded((3, 5), (0, 1), (2, 4), 1) == 24


def test_the_layouts_are_the_compilers_and_the_bytes_the_learners(lesson):
    said = printed(lesson, LAYOUTS)
    lines = {line.split("  ")[0]: re.split("  +", line) for line in said.splitlines()}
    assert lines["x"][2:5] == ["42.7", "1", "yes"]
    assert lines["w['fc2.weight']"][2:5] == ["12.8", "1.6", "yes"]
    assert lines["w['conv1.weight']"][3] == "5.33"
    assert lines["fc2/dot_general"][3] == "1.6"
    flowing = ("x", "conv1/", "pool1/", "conv2/", "pool2/")
    assert [line[3] for name, line in lines.items() if name.startswith(flowing)] == ["1"] * 5
    assert [line[4] for line in lines.values() if len(line) == 6].count("yes") == 10
    said, _ = lesson.again(LAYOUTS, padded_bytes=lambda shape, *rest: 2 * int(np.prod(shape)))
    assert said.count("  yes  ") == 6, "those without padding"

    def row_major(shapes):
        return [r._replace(order=",".join(map(str, range(len(r.shape))[::-1]))) for r in shapes]

    real = lesson.namespace["compile_for_tpu"]
    said, _ = lesson.again(LAYOUTS, compile_for_tpu=changed(real, padding=row_major))
    assert said.count("  yes  ") < 10


def test_the_picture_shows_the_compilers_order(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(layout_pictures, "one_tile", lambda *given: drawn.append(given))
    lesson.again(LAYOUTS)
    ((shape, orders, letters),) = drawn
    assert shape == (256, 32, 32, 3) and letters == "BHWC"
    assert orders["as the compiler lays it out"] == (0, 2, 3, 1)


def test_the_small_product_of_the_text(lesson):
    small = np.array([[6], [3], [2], [10]])
    used, filled = lesson.namespace["mxu_utilization"](*small, 2, 4)
    assert round(100 * used[0]) == 11 and filled[0] == 6 / 16


def test_large_products_keep_the_units_busy(lesson):
    said = printed(lesson, BUSY)
    units = {"v2": 1, "v3": 2, "v4": 4, "v5e": 4, "v5p": 8, "v6e": 16}  # of 128 x 128
    found = rows(said, units)
    for chip, number in units.items():
        *_, cycles, share = found[chip]
        expected = 100 * 4096**3 / (cycles * number * 128**2)
        assert share == pytest.approx(expected, abs=0.05) and share > 85
    assert round(4096**3 / cycles, -3) == 228_000 > 2 * 256**2, "as the note says"
    assert "228,000" in said
    twice = changed(lesson.namespace["ask"], "v5e:1x1", ops=slower(2))
    other = rows(lesson.again(BUSY, ask=twice)[0], units)
    assert other["v5e"][-2:] == [2_166_136, pytest.approx(48.4)] and other["v2"] == found["v2"]


def test_one_layer_three_ways(lesson):
    found = rows(printed(lesson, WAYS), TABLE)
    used = lesson.namespace["mxu_utilization"]
    for name, (M, K, N) in TABLE.items():
        counted, v2, v5e, filled, used2, used5 = found[name]
        assert counted == systolic.cycles("ws", M, K, N, 128, 128, double_buffer=True)
        expected = used(*np.array([[M], [K], [N], [v2]]), 1, 128)
        assert [used2, filled] == [pytest.approx(100 * e[0], rel=0.01) for e in expected]
        assert used5 == pytest.approx(100 * M * K * N / v5e / 4 / 128**2, rel=0.01)
    off = {name: found[name][1] / found[name][0] - 1 for name in TABLE}
    assert 0.115 < off["square"] < 0.125 and -0.09 < off["conv2"] < -0.08, "12 % and 8 %"
    assert -0.52 < off["conv1"] < -0.48 and 0.38 < off["fc1"] < 0.42 and 0.8 < off["fc2"] < 1
    assert all(found[name][4] > found[name][3] for name in ("conv1", "conv2")), "used, filled"
    assert all(found[name][2] > found[name][1] / 4 for name in TABLE), "a v5e has four units"
    v2, v5e = (float(hardware.machine(chip).peak["bf16"]) for chip in ("tpu_v2", "tpu_v5e"))
    assert found["conv1"][2] > found["conv1"][1], "in cycles, but not in time"
    assert round(1e6 * found["conv1"][1] / (v2 / (2 * 2 * 128**2))) == 184
    assert round(1e6 * found["conv1"][2] / (v5e / (2 * 4 * 128**2))) == 90
    assert found["conv1"][0] == 262_526, "as the prediction says"


def test_the_predictions_beside_the_table(lesson):
    """The cycles that bytes and arithmetic would take, where the text names them."""
    parts = [256 * 4096, 4096 * 128, 256 * 128]
    assert [round(2 * part / 1e6, 1) for part in parts] == [2.1, 1.0, 0.1], "as the note says"
    fc1 = 2 * sum(parts)
    assert round(fc1 / 1e6, 1) == 3.2
    v2 = hardware.machine("tpu_v2")
    clock = float(v2.peak["bf16"]) / (2 * 2 * 128**2)  # two cores of one unit
    assert clock == pytest.approx(0.7e9, rel=0.01)
    assert fc1 / (float(v2.bandwidth) / 2) * clock == pytest.approx(6400, abs=50)
    assert rows(printed(lesson, WAYS), TABLE)["fc1"][0] > 6400, "less than the arithmetic"


def test_the_table_follows_the_compiler(lesson):
    found = rows(printed(lesson, WAYS), TABLE)
    twice = changed(lesson.namespace["ask"], "v2:1x1", ops=slower(2))
    other = rows(lesson.again(WAYS, cycles_of=with_ask(lesson, twice))[0], TABLE)
    assert all(other[n][1] == 2 * found[n][1] and other[n][2] == found[n][2] for n in TABLE)


def test_the_live_cell_compares_and_times(lesson, monkeypatch):
    monkeypatch.setattr(live, "agreement", lambda f, shapes, topology: f"{shapes} {topology}")
    said, _ = lesson.again(LIVE)
    assert said.startswith("[(256, 4096), (4096, 128)] v5e:1x1") and "s (measured on" in said
    assert "square" not in said, "no TPU here"


def test_the_stairs(lesson):
    counts, stairs = lesson.namespace["counts"], lesson.namespace["stairs"]
    more = lesson.namespace["one_more"]
    assert more(counts, 1024) == pytest.approx(12.5, abs=0.05)
    assert more(stairs["v2"], 1024) == pytest.approx(12.5, abs=0.6)
    for n in range(128, 1153, 128):
        assert more(stairs["v2"], n) > 10 and more(stairs["v5e"], n) > 2, "at each multiple of 128"
        if n > 128:
            assert more(stairs["v2"], n) == pytest.approx(more(counts, n), rel=0.15)
        if n % 256 == 0:
            assert more(stairs["v6e"], n) > 3.5
        else:
            assert more(stairs["v6e"], n) < 1.5, "not on arrays of 256"
    v5e = stairs["v5e"]
    assert v5e[769] > v5e[896], "the text says so"
    assert 60_000 < min(v5e.values()) < min(stairs["v2"].values())
    table = rows(printed(lesson, STAIRS), {f"{n:,} + 1" for n in (256, 512, 768, 1024)})
    for name, found in table.items():
        K = int(name.split()[0].replace(",", ""))
        expected = [more(line, K) for line in (counts, *stairs.values())]
        assert found == [pytest.approx(one, rel=0.01) for one in expected]
    assert len(table) == 4
    flat, _ = lesson.again(STAIRS, cycles_of=lambda program, shapes, chip: 7)
    assert rows(flat, table)["512 + 1"][1:] == [0, 0, 0]


def test_zeros_within_the_program_change_nothing(lesson):
    names = ("769", "769 + zeros", "896", "897")
    found = {name: found[0] for name, found in rows(printed(lesson, ZEROS), names).items()}
    v5e = lesson.namespace["stairs"]["v5e"]
    assert found == {name: v5e[int(name[:3])] for name in names}
    assert v5e[769] > 1.25 * v5e[897] > 1.25 * v5e[896], "K = 897 is cheap"
    layouts = re.findall(r"\{(\d,\d):", printed(lesson, ZEROS))
    assert layouts == ["0,1", "0,1", "1,0", "0,1"], "so the order alone is no explanation"
    ask = lesson.namespace["ask"]
    shapes = [(4096, 769), (769, 1024)]
    (only,) = ask(lesson.namespace["filled_up"], shapes, "v5e:1x1").ops
    assert only.kind == "matmul", "no operation adds zeros"
    twice = lesson.again(ZEROS, ask=changed(ask, ops=slower(2)))[0]
    assert rows(twice, names)["896"][0] == 2 * v5e[896]


def by_images(said):
    """{(images, channels): numbers and a letter} of the table's rows."""
    found = {}
    for line in said.splitlines():
        cells = re.split("  +", line.strip())
        if len(cells) == 7 and cells[0].isdigit():
            v5e, copying, v6e, fastest, size = cells[2:]
            both = numbers(f"{v5e} {v6e}")
            found[int(cells[0]), cells[1]] = (*both, fastest, *numbers(f"{size} {copying}"))
    return found


def test_when_channels_are_free(lesson):
    found = by_images(printed(lesson, CHANNELS))
    few, more = found[32, "64 to 64"], found[32, "64 to 128"]
    full, double = found[32, "128 to 128"], found[32, "128 to 256"]
    assert few == more and few[2] == "C", "cycles and memory stay the same"
    assert few[0] == pytest.approx(full[0], rel=0.02) and double[0] > 1.9 * full[0]
    assert more[3] == 2 * 32 * 56 * 56 * 128, "of the result, without padding"
    assert full[0] < more[0], "fewer cycles with 128 input channels"
    assert 1.8 < double[1] / full[1] < 1.85, "on a v6e, too"
    ask, conv = lesson.namespace["ask"], lesson.namespace["conv"]

    def copied(shapes, topology):
        made = ask(conv, shapes, topology)
        return sum(op.cycles for op in made.ops if op.kind == "copy")

    part = [copied([(32, 56, 56, 128), (3, 3, 128, n)], "v6e:1x1") for n in (128, 256)]
    assert part[1] / part[0] == pytest.approx(2, abs=0.01), "the copy doubles"
    assert (double[1] - part[1]) / (full[1] - part[0]) == pytest.approx(1.7, abs=0.05)
    many, twice = found[128, "64 to 64"], found[128, "64 to 128"]
    assert many[2] == "B" and many[3] == 2 * 128 * 56 * 56 * 64, "no padding"
    assert twice[3] == 2 * many[3] and twice[0] / many[0] == pytest.approx(2.75, abs=0.005)
    assert few[4] == more[4], "equal copies"
    assert many[4] == 0 and twice[4] == copied([(128, 56, 56, 64), (3, 3, 64, 128)], "v5e:1x1")
    alone = twice[0] - twice[4]
    assert alone / many[0] == pytest.approx(1.19, abs=0.005), "the convolution itself"


@pytest.mark.skipif(not compiler.installed(), reason="no TPU compiler here")
def test_the_quiz_has_one_right_answer():
    cycles = {}
    for channels in (96, 128, 129, 192):
        shapes = [(32, 56, 56, 64), (3, 3, 64, channels)]
        cycles[channels] = compiler.compile_for_tpu(programs.conv, shapes).estimated_cycles
    assert cycles[96] == cycles[128]
    assert min(cycles[129], cycles[192]) > 1.5 * cycles[96]


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    wide = {(32, 64, 64): 1, (32, 64, 128): 4}
    other = {"stairs": {"v2": {1024: 114, 1025: 115}}, "v2": [3], "counted": [2]}
    lesson.again(GUESSES, by_channels=wide, padded_bytes=lambda *given: 2560, **other)
    expected = [12.8, pytest.approx(12, abs=0.1), pytest.approx(0.492, abs=0.001), 1]
    assert [float(result) for *_, result in drawn[0]] == expected
    assert [float(result) for *_, result in drawn[1]] == [1, pytest.approx(100 / 114), 1.5, 4]
    assert [result.word for *_, result in drawn[0]] == ["predicted"] + 3 * ["compiled"]


def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a function and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        said = lesson.execute(code, left_behind)
        if LIVE not in code:
            assert said == lesson.printed[code]
