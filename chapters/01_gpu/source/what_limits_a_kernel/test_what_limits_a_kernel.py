"""This lesson: its solution's numbers follow from what is counted, compiled and published."""

import re
from pathlib import Path

import numpy as np
import pytest

from labkit import figures, hardware
from labkit.gpu import ladder_speeds, profile
from labkit.gpu.kernels import matmul
from tests.notebooks.running import Run

SOURCE = Path(__file__).with_name("lesson.py")
COMPILED, BLOCKS, COUNTS = (
    "compiled_ladder.compile_all",
    "the hardware's rounding",
    "ladder.show_counts(counts)",
)
TENSOR, ESTIMATES, CLIMB = "replaced_by_one_mma", "predicted_rates", "figures.climb"
TRIAL = "show_trial"
RIDGE = 38.7e12 / 768e9


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "7_what_limits_a_kernel")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def rows(said):
    """{name: numbers} of lines that begin with a kernel's name."""
    found = {}
    for name in [*matmul.LADDER, "tensor core", "cuBLAS"]:
        line = next((line for line in said.splitlines() if line.startswith(name)), None)
        if line is not None:
            found[name] = numbers(line.removeprefix(name))
    return found


def is_compiled_here(lesson):
    return "stored" not in lesson.namespace["made"].by


def test_the_registers_are_compiled(lesson):
    said = lesson.printed[lesson.cell(COMPILED)].splitlines()
    assert said[0].startswith("2-D register tile: 112 registers (compiled by NVVM")
    assert 1 / 2 < 64 / 112 < 0.6, "just over half"


def test_the_count_by_hand_is_right(lesson):
    """The table in the text, by the learner's function."""
    sm = lesson.namespace["multiprocessor"]("sm_86")
    assert (sm.warps, sm.registers, sm.shared_bytes, sm.blocks) == (48, 65536, 102400, 16)
    fit = lesson.namespace["blocks_that_fit"]
    by_hand = fit(np.array([8]), np.array([100]), np.array([10_000]), sm)
    assert by_hand.tolist() == [2] and 65536 // 25600 == 2 and 102400 // 10000 == 10
    assert round(100 * 16 / 48) == 33


def test_the_shares_by_hand_are_right(lesson):
    share = lesson.namespace["estimated_share"]
    one = np.ones(1)
    assert share(5 * one, 2 * one, 3 * one, 50) == pytest.approx(0.1)
    assert share(1e9 * one, 2 * one, 0 * one, 50) == pytest.approx(1 / 8)
    assert share(1e9 * one, 1e-9 * one, 3 * one, 50) == pytest.approx(1 / 4)


def test_the_blocks_are_the_learners_function(lesson):
    said = lesson.printed[lesson.cell(BLOCKS)]
    assert "the hardware's rounding: True" in said
    warps = {name: row[-1] for name, row in rows(said).items()}
    assert warps["coalesced"] == 32 and warps["2-D register tile"] == 16
    assert "2 blocks of 256 threads" in said and "Limited by registers" in said
    changed, _ = lesson.again(BLOCKS, blocks_that_fit=lambda warps, *rest: np.ones(len(warps)))
    assert "the hardware's rounding: False" in changed
    assert rows(changed)["naive"][-2:] == [1, 8]


def test_the_table_is_what_the_counters_say(lesson):
    found = {name: row[-3:] for name, row in rows(lesson.printed[lesson.cell(COUNTS)]).items()}
    assert list(found) == list(matmul.LADDER)
    assert found["naive"] == [0.118, 2, 2] and found["coalesced"] == [0.4, 2, 2]
    assert found["shared tile"] == [7.88, 2.19, 2.19] and found["tuned"] == [30.1, 0.282, 0.0765]
    assert found["vector loads"][:2] == found["tuned"][:2], "they count alike"


def test_the_tensor_core_is_counted(lesson):
    said = lesson.printed[lesson.cell(TENSOR)]
    assert "one mma replaces 64 multiply-adds of a warp (counted" in said
    tuned = lesson.namespace["counts"].passes[-1], lesson.namespace["counts"].accesses[-1]
    tensor = lesson.namespace["tensor"].passes[-1], lesson.namespace["tensor"].accesses[-1]
    assert np.divide(tensor, tuned) == pytest.approx(0.1, abs=0.01), "a tenth"
    before, after = lesson.namespace["tensor"].intensity
    assert after / before == pytest.approx(2, rel=0.1), "double"


def test_the_estimates_are_the_lowest_shares(lesson):
    counts = lesson.namespace["counts"]
    expected = np.minimum(counts.intensity / RIDGE, 1 / (4 * counts.passes))
    expected = np.minimum(expected, 1 / (1 + counts.accesses))
    assert lesson.namespace["shares"] == pytest.approx(expected)
    assert list(expected[:6]) == sorted(expected[:6]), "each step up helps"
    said = lesson.printed[lesson.cell(ESTIMATES)]
    found = rows(said)
    assert found["shared tile"] == [15.6, 11.4, 31.4, 11.4] and "predicted" in said
    limits = [line.split()[-1] for line in said.splitlines() if rows(line)]
    assert limits == 2 * ["traffic"] + 3 * ["passes"] + 2 * ["traffic"]
    halved, _ = lesson.again(ESTIMATES, estimated_share=lambda *given: expected / 2)
    assert rows(halved)["shared tile"] == [15.6, 11.4, 31.4, 5.71]


def test_the_tile_saves_a_factor_of_20_in_sectors(lesson):
    _, coalesced, tile, *_ = lesson.namespace["counts"].intensity
    assert round(tile / coalesced) == 20


def test_the_picture_holds_both_against_each_other(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "climb", lambda *given: drawn.append(given))
    lesson.again(CLIMB)
    gpu, intensities, ours, theirs = drawn[0]
    assert gpu is hardware.machine("a6000")
    assert list(intensities.values()) == list(lesson.namespace["counts"].intensity)
    shares = [float(rate) / 38.7e12 for rate in ours.values()]
    assert shares == pytest.approx(list(lesson.namespace["shares"]))
    assert theirs == ladder_speeds.published_rates()


def test_the_merged_reads_make_traffic_the_limit_of_the_2_d_tile(lesson):
    """At most, each of the 4 reads of four floats takes four passes, or eight where lanes meet.

    Half of them read b_tile, where two lanes of a pass meet in a bank.
    """
    counts, made = lesson.namespace["counts"], lesson.namespace["made"]
    place = counts.names.index("2-D register tile")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 128, 128), dtype=np.float32)
    c = np.zeros_like(a)
    plan = matmul.plan_matmul(128, 128, "2-D register tile")
    seen = profile(plan.kernel, plan.grid, plan.block, a, b, c, 128, 128, 128).counters
    reads = seen["shared_load_transactions"] * 32 / 128**3
    assert float(made.quantity("2-D register tile", "reads")) == 4
    at_worst = counts.passes[place] - reads + (2 * 4 + 2 * 8) / 64
    assert counts.intensity[place] / RIDGE < 1 / (4 * at_worst)
    shared = counts.names.index("shared tile")
    assert made.reads[shared] == 40, "of 64: 8 of them read four floats"
    one_pass_each = 1 / (4 * made.reads[shared] / 32)
    assert counts.intensity[shared] / RIDGE < one_pass_each == 0.2, "then traffic is the limit"
    assert made.reads[counts.names.index("1-D register tile")] < 72


def test_the_verdict_says_what_the_table_shows(lesson):
    """Close is within 20 %; each miss is named with its size."""
    said = lesson.printed[lesson.cell(TRIAL)]
    found = rows(said)
    assert found["coalesced"][1] == 5.13 and found["cuBLAS"] == [60.1]
    for miss in ("3.4 times too low", "6.5 times too low", "1.5 times too high", "1.3 times"):
        assert miss in said
    assert said.count("close") == 2, "the two register tiles"
    text = SOURCE.read_text()
    assert (
        "Of the six estimates that we can compare, two are close" in text and "within 20 %" in text
    )
    assert "the best of the three reaches only 8 %" in text and "cuBLAS reaches 60 %" in text
    assert round(100 * (1 - lesson.namespace["shares"][2])) == 89
    assert "As written, its passes: they alone keep 89 % of the arithmetic idle." in text
    assert "As written, the three need at least two passes" in text, "not as compiled"
    two_passes = lesson.namespace["counts"].passes[1]
    assert 1 / (4 * two_passes) == pytest.approx(1 / 8, rel=0.01), "an eighth"
    published = ladder_speeds.PUBLISHED
    assert round(published["shared tile"] / published["coalesced"], 1) == 1.5
    assert round(published["shared tile"] / 38700, 2) == 0.08, "92 % idle"
    assert published["2-D register tile"] / published["coalesced"] == pytest.approx(8, rel=0.05)


def test_a_faster_estimate_changes_the_verdict(lesson):
    estimates = {
        name: rate for name, rate in ladder_speeds.published_rates().items() if name != "cuBLAS"
    }
    said, _ = lesson.again(TRIAL, estimates=estimates)
    assert said.count("close") == 6


def test_guesses_meet_their_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(TRIAL)
    names, _, results = zip(*drawn[0], strict=True)
    assert names == ("registers", "share")
    assert [float(result) for result in results] == pytest.approx([112, 47.1], abs=0.05)
    assert [result.word for result in results] == ["compiled", "published"]


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a function and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        if "measure_speeds" not in code:
            lesson.execute(code, left_behind)
