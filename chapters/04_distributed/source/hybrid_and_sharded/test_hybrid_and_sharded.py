"""This lesson: the numbers of its text, and that what it prints follows what its ranks do."""

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest

from labkit import check
from labkit.checks.items import Refused
from labkit.distributed.sharded.memory import MIXED, bytes_of_state
from labkit_lessons.distributed.hybrid_and_sharded.exercises.groups import as_ranks
from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh
from tests.notebooks.running import Run

TRAINED, MESHES, SENT = "by_hand = launch(", "mesh_picture(", "memory_picture(runs"
GUESSES = "figures.guesses"
COURSE = Path(__file__).resolve().parents[4]
HYBRID, PRINTED = "def as_printed", "DataSpliter"


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "11_hybrid_and_sharded")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def test_the_exercises_are_solved(lesson):
    for name in ("sharded_step", "bytes_per_rank", "group_along"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_the_small_examples(lesson):
    along = lesson.namespace["group_along"]
    assert list(along(4, [2, 3], 0)) == [1, 4] and list(along(4, [2, 3], 1)) == [3, 4, 5]
    assert Mesh({"data": 2, "tensor": 3}).groups("tensor")[0] == (0, 1, 2)


def test_the_headline_is_in_mixed_precision(lesson):
    """The figures of ZeRO's paper (its figure 1): 2 + 2 + 12 bytes, and not the GPT's 4 + 4 + 8."""
    psi, n = 7_500_000_000, 64
    sizes = [bytes_of_state(psi, n, stage, MIXED).total / 1e9 for stage in range(4)]
    assert [round(size, 1) for size in sizes] == [120, 31.4, 16.6, 1.9]
    none = np.zeros(1)
    float32 = [lesson.namespace["bytes_per_rank"](psi, n, stage, none) for stage in range(4)]
    assert [round(size / 1e9, 1) for size in float32] == [120, 60.9, 31.4, 1.9]
    assert round(2 + 2 + 12 / 64, 2) == 4.19 and round(7.5 * (2 + 2 + 12 / 64), 1) == 31.4
    text = (COURSE / "chapters/04_distributed/source/hybrid_and_sharded/lesson.py").read_text()
    (table,) = re.findall(r"# \| \| cuts .*?\n#\n", text, flags=re.DOTALL)
    assert re.findall(r"([\d.]+) GB", table) == ["120", "31.4", "16.6", "1.9"]


def test_a_set_of_ranks_is_no_list():
    with pytest.raises(Refused, match="a set has none"):
        as_ranks({1, 4})


def test_a_group_that_is_too_long_is_told_so(capsys):
    def too_long(rank, lengths, side):
        stride = math.prod(lengths[side + 1 :])
        first = rank - rank // stride % lengths[side] * stride
        return [first + k * stride for k in range(lengths[side] + 1)]

    check("distributed.group_along", too_long)
    said = capsys.readouterr().out
    assert "The group has one rank too many" in said
    assert "lengths [2, 3], side 0" in said


def test_every_way_is_compared_with_one_process(lesson):
    said = printed(lesson, TRAINED)
    assert said.count("yes") == 10 and "no" not in said.split("weights within 0.00001")[1]
    assert printed(lesson, MESHES).count("within 0.00001: True") == 2
    assert printed(lesson, MESHES).count("[[0, 1], [2, 3]]") == 2


def test_the_comparison_follows_the_weights(lesson):
    """With one rank's weights off by 0.0001, the table says no."""
    names = lesson.namespace
    run = names["trainings"]["ZeRO-2"][1]
    moved = {name: weight + 1e-4 for name, weight in run.weights.items()}
    by_hand = [dict(by_stage) for by_stage in names["by_hand"]]
    by_hand[1][2] = dataclasses.replace(run, weights=moved)
    answers = iter([by_hand, names["by_torch"]])
    said, _ = lesson.again(TRAINED, launch=lambda *_, **__: next(answers))
    assert said.count("no") == 1


def test_bytes_sent_are_the_formula_s(lesson):
    rows = lesson.again(SENT)[1]["rows"]
    assert len(rows) == 5
    for _, sent, expected in rows:
        assert float(sent) == float(expected)


def test_state_is_the_table_s_and_what_the_text_says_of_the_worst_moment(lesson):
    runs = lesson.namespace["runs"]
    for stage, run in enumerate(runs.values()):
        assert sum(run.held.values()) == bytes_of_state(830_208, 4, stage).total + 4 * 69
    assert 0.98 < runs["ZeRO-2"].peak / runs["ZeRO-1"].peak < 1
    whole = runs["ZeRO-3"].at_peak["parameters"]
    assert whole == 830_208 + 4 * max(runs["ZeRO-3"].sizes)
    assert runs["ZeRO-3"].at_peak["gradients"] < 0.02 * 4 * 830_208
    for name, state in (("data parallel", 10.0), ("ZeRO-3", 3.3)):
        peak = runs[name].at_peak
        assert round((peak["parameters"] + peak["optimizer state"]) / 1e6, 1) == state
        assert 5.8e6 < peak["activations"] < 5.9e6
    assert round(4 * max(runs["ZeRO-3"].sizes) / 1e6, 1) == 0.8


def test_1024_ranks_and_the_guesses(lesson):
    calls = lesson.namespace["calls"]
    assert calls["data x tensor, 128 x 8"].total["all_reduce"].calls == 4 * 4 + 1
    gradients = calls["data x tensor, 128 x 8"].calls[-1]
    assert gradients.ranks == 128 and gradients.bytes / (4 * 830_208) == pytest.approx(1 / 6, 0.01)
    assert 8192 % 1024 == 0, "a block of this width needs no padding"
    results = lesson.again(GUESSES)[1]["results"]
    assert float(results["1,024 ranks"]) == pytest.approx(18.6, abs=0.05)
    assert float(results["peak"]) == pytest.approx(57.7, abs=0.05)


def test_the_claims(lesson):
    said = printed(lesson, HYBRID)
    assert "ValueError: Default process group has not been initialized" in said
    assert "[4160, 4160] of 4160" in said
    assert "[435200, 435200, 435200, 435200] of 830208" in said
    said = printed(lesson, PRINTED)
    assert "has no attribute 'DataSpliter'" in said
    assert "torchdynamo can be imported: False" in said
    assert "torch._dynamo can be imported: True" in said
    assert "[2080, 2080] of 4160" in said
