"""This lesson: its solution's numbers are counted, from the kernels that the lesson shows."""

import re
from pathlib import Path

import numpy as np
import pytest

from labkit import figures
from labkit.gpu import compile_report, cuda
from labkit.gpu.kernels.matmul import LADDER
from labkit.hardware import machine
from labkit_lessons.gpu.tiles.clock_pictures import schedule
from tests.notebooks.running import Run

SOURCE = Path(__file__).with_name("lesson.py")
COUNTS, CLOCK, NETWORK = (
    "reads_per_element(p, a, b)",
    "clock_timeline()",
    "fc1 of {len(y)} images",
)
SPEEDS, GUESSES = "speed on an RTX A6000", "figures.guesses"
GFLOPS = {"naive": 309, "coalesced": 1986.5, "tile": 2980.3, "8 x 8": 15971.7, "cuBLAS": 23249.6}


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "6_tiles")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def row(said, name):
    """The numbers of the first line that begins with this name."""
    line = next(line for line in said.splitlines() if line.startswith(name))
    return numbers(line.removeprefix(name))


@cuda.jit
def wrong(a, b, c):
    x, y = cuda.grid(2)
    if x < c.shape[1] and y < c.shape[0]:
        c[y, x] = a[y, 0] - a[y, 0]


def test_reads_and_passes_follow_the_kernel(lesson):
    said = lesson.printed[lesson.cell(COUNTS)]
    assert row(said, "coalesced") == [128, 0]
    assert row(said, "tiled") == [4, 2]
    assert row(said, "patches") == [2, 0.625]

    @cuda.jit
    def twice(a, b, c):
        col, row = cuda.grid(2)
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col] + a[row, k] * b[k, col]
        c[row, col] = total

    said, _ = lesson.again(COUNTS, matmul_coalesced=twice)
    assert row(said, "coalesced")[0] == 256, "four reads for two products"
    said, _ = lesson.again(COUNTS, matmul_tiled=lesson.namespace["matmul_coalesced"])
    assert row(said, "tiled")[1] == 0, "reads nothing of shared memory"
    assert row(said, "tiled")[0] > 4


def test_the_picture_of_the_clock_shows_what_the_text_says(lesson):
    said = lesson.printed[lesson.cell(CLOCK)]
    passes, busy, possible = numbers(said.splitlines()[0])[1:]
    assert passes == 16
    assert busy / possible == 1 / 8, "as the kernel is written, seven eighths stand idle"
    assert "as the kernel is written, at least seven eighths" in SOURCE.read_text()
    plan = schedule(1, 1, 16)
    assert [clock for clock, warp in plan.passes.items() if warp == 1] == [0, 1]
    assert [clock for (_, clock), warp in plan.multiply_adds.items() if warp == 1] == [2]


def test_the_real_network_goes_through_the_learners_kernel(lesson):
    assert "float64: True" in lesson.printed[lesson.cell(NETWORK)]
    said, _ = lesson.again(NETWORK, matmul_registers=wrong)
    assert "float64: False" in said


def test_the_verdict_says_what_the_peaks_imply(lesson):
    said = lesson.printed[lesson.cell(SPEEDS)]
    assert "768 GB/s, published" in said
    assert "19.4 TB/s, predicted" in said
    assert "232 TB/s, predicted" in said
    # 84 multiprocessors at 1.8 GHz: 32 banks x 4 B, and 128 lanes x 3 registers x 4 B, per clock
    shared = 84 * 1.8e9 * 128
    registers = 84 * 1.8e9 * 128 * 12
    assert round(shared / 768e9) == 25
    assert round(registers / shared) == 12
    text = SOURCE.read_text()
    assert "25 times the bandwidth of DRAM" in text
    assert "12 times as fast as shared memory" in text


def test_the_rule_and_its_example_follow_the_count(lesson):
    patches = lesson.namespace["patches"].counters
    multiply_adds = patches["flops"] / 2 / 32
    passes = patches["shared_load_transactions"] / multiply_adds
    assert passes == (8 + 2) / (8 * 2) == 0.625
    assert round((16 + 4) / 64, 2) == 0.31
    assert (8 + 8) / 64 == 0.25
    rule = SOURCE.read_text().split("Keep this rule")[1]
    for said in ("(r + s) / (r \\cdot s)$ passes", "20 / 64 = 0.31$", "only $0.25$"):
        assert said in rule


def test_guesses_meet_published_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    (tiles, _, tile), (results, _, patch) = drawn[0]
    assert (tiles, results) == ("tiles", "64 results")
    assert float(tile) == GFLOPS["tile"] / GFLOPS["coalesced"]
    assert float(patch) == GFLOPS["8 x 8"] / GFLOPS["tile"]
    assert {tile.word, patch.word} == {"published"}


def test_the_text_says_what_was_published():
    """By SGEMM_CUDA's README; the profile is that of its author's worklog of 2022."""
    text = SOURCE.read_text()
    assert round(GFLOPS["cuBLAS"] / GFLOPS["naive"]) == 75
    assert "75 times slower" in text
    assert round(GFLOPS["cuBLAS"] / GFLOPS["coalesced"]) == 12
    assert "still 12 times as fast" in text
    for said, name in (("0.309", "naive"), ("1.99", "coalesced")):
        assert said in text
        assert float(said) == round(GFLOPS[name] / 1000, len(said) - 2)
    assert "only 1.5 times as fast" in text
    assert round(GFLOPS["tile"] / GFLOPS["coalesced"], 1) == 1.5
    assert "5.4 times as fast as the tiled one" in text
    assert round(GFLOPS["8 x 8"] / GFLOPS["tile"], 1) == 5.4
    assert "only 110 of 768 possible GB/s" in text
    assert float(machine("a6000").bandwidth) == 768e9


def test_the_end_comes_back_to_the_beginning():
    end = SOURCE.read_text().split("## Recap")[1]
    left = [round(GFLOPS["cuBLAS"] / GFLOPS[name], 1) for name in ("coalesced", "tile", "8 x 8")]
    assert left == [11.7, 7.8, 1.5]
    assert "lead from 75 times to 12, tiles to 7.8, and 64 results per thread to 1.5" in end


def test_nothing_above_the_guesses_gives_them_away():
    above = SOURCE.read_text().split("tile_guess = predict")[0]
    for told in ("1.5", "2.98", "2,980", "5.4", "15.97", "16.0", "12.8 %"):
        assert told not in above


def test_a_compiler_keeps_the_patch_in_registers_and_may_join_reads_of_a_tile(lesson):
    arrays = [lesson.namespace[name] for name in "abc"]
    try:
        patch = compile_report(lesson.namespace["matmul_registers"], arrays, "sm_86")
        tile = compile_report(LADDER["shared tile"].kernel, [*arrays, 128, 128, 128], "sm_86")
    except (ImportError, ValueError) as error:  # where NVIDIA's compiler does not run
        pytest.skip(str(error))
    assert patch.spills == 0
    assert patch.local_bytes == 0
    assert (tile.accesses["ld.shared.v4"], tile.accesses["ld.shared"], tile.fma) == (8, 32, 32)
    own = compile_report(lesson.namespace["matmul_tiled"], arrays, "sm_86")
    assert (own.accesses["ld.shared"], own.accesses.get("ld.shared.v4"), own.fma) == (64, None, 32)
    assert "ours has 64 reads for 32 multiply-adds, lesson 7's 40" in SOURCE.read_text()


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a kernel and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        said = lesson.execute(code, left_behind)
        if COUNTS in code:
            assert row(said, "patches") == [2, 0.625]
