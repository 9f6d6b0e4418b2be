"""This lesson: what it prints follows the compiler's answers and the learner's functions."""

import dataclasses

import numpy as np
import pytest

from labkit import figures
from labkit.tpu import compiler
from labkit_lessons.tpu.what_fills_the_memory import memory_pictures
from labkit_lessons.tpu.what_fills_the_memory.memory_pictures import GIB, MIB
from tests.notebooks.running import Run

pytest.importorskip("jax")

DONATION, GONE, LARGE = "def momentum", "what_is_left", "def sgd"
NINE, SIXTEEN, WAYS, GUESSES = (
    "def gradient",
    "memory_pictures.bars",
    "cases = {",
    "figures.guesses",
)


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "14_what_fills_the_memory")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def line(said, begin):
    (found,) = (one for one in said.splitlines() if one.startswith(begin))
    return found[len(begin) :].split()


def with_memory(ask, **sizes):
    """`ask`, but with sizes of its answers' memory replaced."""

    def other(*given, **options):
        answer = ask(*given, **options)
        return dataclasses.replace(answer, memory=answer.memory | sizes)

    return other


def test_the_examples_by_hand(lesson):
    peak = lesson.namespace["peak_bytes"]
    arguments = np.array([4, 4, 2])
    results = np.array([4, 4, 1])
    assert peak(arguments, results, np.array([True, False, False]), 3) == 18
    assert peak(arguments, results, np.array([False] * 3), 3) == 22
    kept = lesson.namespace["kept_bytes"]
    outputs = np.array([3, 1, 2, 2])
    assert kept(outputs, 2) == 5 and kept(outputs[:2], 2) == 4 and kept(outputs, 4) == 8


def test_donation_saves_what_the_compiler_says(lesson):
    said = printed(lesson, DONATION)
    for donated, together in [("none", "1,280"), ("w ", "1,024"), ("w, v ", "768")]:
        assert line(said, donated) == [together, together]
    assert line(said, "w, v, g") == ["768", "768"]
    other, _ = lesson.again(DONATION, peak_bytes=lambda *given: 7 * MIB)
    assert line(other, "none") == ["7", "1,280"]
    ask = with_memory(lesson.namespace["ask"], alias=0)
    assert line(lesson.again(DONATION, ask=ask)[0], "w, v ") == ["768", "1,280"]


def test_a_donated_array_is_gone(lesson):
    assert "Array has been deleted with shape=float32[4]" in printed(lesson, GONE)
    kept = memory_pictures.what_is_left(lambda w, g: w.sum() + g.sum(), (0,), 2)
    assert kept == "[1. 1. 1. 1.]", "no result could take its place"


def test_the_compilers_check_leaves_results_out(lesson):
    said = printed(lesson, LARGE)
    assert "donate=(): 18 GiB" in said and "donate=(0,): 12 GiB" in said
    ask = with_memory(lesson.namespace["ask"], output=0, alias=0)
    assert "donate=(): 12 GiB" in lesson.again(LARGE, ask=ask)[0]


def test_nine_layers_in_blocks(lesson):
    said = printed(lesson, NINE)
    assert line(said, "no blocks") == ["-", "9", "0"]
    assert line(said, "blocks of 1") == ["9", "10", "34.6"]
    assert line(said, "blocks of 3") == ["5", "5", "34.6"]
    assert line(said, "blocks of 9") == ["9", "9", "34.6"]
    other, _ = lesson.again(NINE, kept_bytes=lambda outputs, block: 2 * GIB)
    assert line(other, "blocks of 3") == ["2", "5", "34.6"]
    other, _ = lesson.again(NINE, ask=with_memory(lesson.namespace["ask"], temp=3 * GIB))
    assert line(other, "blocks of 3") == ["5", "3", "34.6"]


def test_sixteen_layers_in_blocks(lesson):
    names = lesson.namespace
    assert [names["yours"][k] for k in (1, 2, 4, 8, 16)] == [16, 9, 7, 9, 16]
    assert names["theirs"][1] is None and list(names["refused"]) == [1]
    assert "needs 17.00 GiB of memory; v5e:1x1 has 15.75" in printed(lesson, SIXTEEN).replace(
        "\n", " "
    )
    assert "snapshot" not in printed(lesson, SIXTEEN), "no date that changes"


def test_the_compiler_helps_itself(lesson):
    said = printed(lesson, WAYS)
    assert line(said, "no blocks  ") == ["12", "51"]
    assert line(said, "no blocks, half the batch") == ["8", "47"]
    assert line(said, "blocks of 4") == ["7", "63"]
    assert line(said, "blocks of 1, no barriers") == ["12", "51"]


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    assert [float(result) for *_, result in drawn[0]] == [5, pytest.approx(34.6, abs=0.1)]
    assert [result.word for *_, result in drawn[0]] == ["compiled", "compiled"]


def test_the_rule_of_the_root(lesson):
    """L/k - 1 ends and k outputs: least where k is the root of L."""
    kept = lesson.namespace["kept_bytes"]
    for depth in (16, 36, 100):
        root = int(depth**0.5)
        needs = {k: kept(np.ones(depth, int), k) for k in range(1, depth + 1) if depth % k == 0}
        assert needs[root] == min(needs.values()) == 2 * root - 1
    assert kept(np.full(100, 0.25), 10) * 4 >= 16, "the quiz counts 19 of them"


def test_without_the_compiler_the_snapshot_says_the_same(lesson, monkeypatch):
    monkeypatch.setenv("LABKIT_TPU_COMPILER", "off")
    shape = ((8192, 8192), "float32")
    made = compiler.compile_for_tpu(lesson.namespace["momentum"], [shape] * 3, donate=(0, 1))
    assert made.source.startswith("snapshot") and made.memory["alias"] == 2 * 256 * MIB


@pytest.mark.skipif(not compiler.installed(), reason="no TPU compiler here")
def test_the_compiler_here_agrees_with_the_snapshot(lesson):
    momentum = lesson.namespace["momentum"]
    shapes = [((8192, 8192), "float32")] * 3
    for donate in ((), (0, 1)):
        live, stored = (
            compiler.compile_for_tpu(momentum, shapes, source=source, donate=donate)
            for source in ("compiler", "snapshot")
        )
        assert live.memory == stored.memory and live.flops == stored.flops


def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a function and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        assert lesson.execute(code, left_behind) == lesson.printed[code]
