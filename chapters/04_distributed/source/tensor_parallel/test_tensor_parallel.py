"""This lesson: the numbers of its text, and that what it prints follows from what it runs."""

import numpy as np
import pytest
import torch

from labkit.distributed.gpt.model import GPT
from tests.notebooks.running import Run

HALVES, CHECKED, MEASURED = "def halves(", "def train_all", "launch(train_data_parallel"
GUESSED, PRINTED, SUMMED, CARRIED = "early = sum", "def tried(", "composed = one(", "carried ="


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "9_tensor_parallel")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def rows(said):
    return [line.split() for line in said.splitlines()]


def test_the_exercises_are_solved(lesson):
    for name in ("split_mlp", "heads_of_rank", "column_backward"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_the_numbers_of_the_text():
    x, first, second = np.array([1, 2]), np.array([[1, -1], [2, 1]]), np.array([[1, 0], [3, -2]])
    assert (x @ first).tolist() == [5, 1]
    parts = [x[rank] * first[rank] for rank in range(2)]
    assert [part.tolist() for part in parts] == [[1, -1], [4, 2]]
    assert sum(np.maximum(part, 0) for part in parts).tolist() == [5, 2]
    assert (x @ first @ second).tolist() == [8, -2]
    assert [(h * row).tolist() for h, row in zip((5, 1), second, strict=True)] == [[5, 0], [3, -2]]
    dh = np.array([1, -1])
    assert [(dh[rank] * first[:, rank]).tolist() for rank in range(2)] == [[1, 2], [1, -1]]
    assert (dh @ first.T).tolist() == [2, 1]
    assert np.outer(x, dh).T.tolist() == [[1, 2], [-1, -2]]
    assert [(rank * 3 // 2, (rank + 1) * 3 // 2 - 1) for rank in range(2)] == [(0, 0), (1, 2)]
    assert round(8.3 * 16) == 133
    weights = sum(weight.numel() for weight in GPT().parameters())
    assert round(4 * weights / 1e6, 2) == 3.32
    assert 16 * 128 * 4 == 8_192 and 4 * weights // 8_192 == 405
    assert 3_072 / 8 == 384 and 768 / 8 == 96 == 1.5 * 768 / 12  # the quiz


def test_what_the_tables_say(lesson):
    assert printed(lesson, HALVES).count("attention: True, MLP: True") == 2
    checked = rows(printed(lesson, CHECKED))
    assert [row[-1] for row in checked[1:]] == ["yes"] * 4
    measured = printed(lesson, MEASURED)
    table = rows(measured)
    table = table[next(place for place, row in enumerate(table) if row[:2] == ["by", "hand"]) :]
    assert table[0][:8] == ["by", "hand", "2", "16", "1.57", "MB", "52.4", "56.3"]
    assert table[1][:8] == ["by", "hand", "4", "16", "1.57", "MB", "28.6", "35"]
    assert table[2][:6] == ["PyTorch", "2", "16", "1.57", "MB", "52.4"]
    assert table[3][-8:-4] == ["2", "24", "2.36", "MB"]
    assert table[4][:7] == ["data", "parallel", "2", "1", "3.32", "MB", "100"]
    assert table[4][7] == "132"
    assert "16 x N x T x 128 x 4: 1.57 MB" in measured


def test_the_bytes_are_those_of_the_formula_exactly(lesson):
    for ranks in (2, 4):
        for _, usual in lesson.namespace["runs"][ranks]:
            for way, calls in (("by hand", 16), ("PyTorch", 16)):
                assert len(usual[way].calls) == calls
                assert sum(call.bytes for call in usual[way].calls) == 16 * 4 * 48 * 128 * 4


def test_the_halves_follow_the_learners_functions(lesson):
    def no_sum(rank, ranks, x, expand, expand_bias, contract, contract_bias):
        hidden = torch.nn.functional.gelu(x @ expand.T + expand_bias)
        return hidden @ contract.T + contract_bias

    def in_turn(rank, ranks, head_width, query, output):
        return query[rank::ranks], output[:, rank::ranks]

    said, _ = lesson.again(HALVES, split_mlp=no_sum)
    assert said.count("attention: True, MLP: False") == 2
    said, _ = lesson.again(HALVES, heads_of_rank=in_turn)
    assert said.count("attention: False, MLP: True") == 2


def test_another_training_would_not_be_within_the_bound(lesson):
    names = lesson.namespace
    other = names["Plan"](steps=2, sequences=4, length=48, seed=1)
    alone = names["train_split"](0, 1, "one process", other, dtype=torch.float64)
    for way in names["ways"][:2]:
        found = [in_doubles[way] for in_doubles, _ in names["runs"][2]]
        assert names["largest_difference"](found, names["alone_in_doubles"]) < 1e-10
        assert names["largest_difference"](found, alone) > 1e-3


def test_the_peak_is_where_the_text_says(lesson):
    names = lesson.namespace
    alone = names["alone"]
    rank_0s = [names["runs"][ranks][0][1]["by hand"] for ranks in (2, 4)]
    for one in (alone, *rank_0s):
        last = one.gradients["head.weight"].nbytes
        assert one.peak_gradients <= 1.05 * last, "a backward has at most just begun"
        assert one.peak_bytes >= 3 * one.weight_bytes + last, "Adam's two averages are there"
    averaged = names["compared"][-1][2]
    assert averaged.peak_gradients == averaged.weight_bytes
    assert averaged.peak_bytes // averaged.weight_bytes == 7


def test_the_predictions_are_compared_with_what_ran(lesson):
    results = lesson.namespace["results"]
    assert float(results["PyTorch's all-reduces"]) == 24
    assert float(results["GELU too early"]) == pytest.approx(16.5, abs=0.05)
    assert "with trained weights: 39.7 % (counted" in printed(lesson, GUESSED)
    linear_only, _ = lesson.again(GUESSED, gelu=lambda x: x)
    assert "result 24 all-reduces" in linear_only and "16.5 %" not in linear_only


def test_c11_is_the_real_error(lesson):
    said = printed(lesson, PRINTED)
    assert "ValueError: device_ids can only be None or contain a single element." in said
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied (5x2 and 4x3)" in said
    assert "[3, 4]" in said


def test_c18_layers_compose(lesson):
    said = printed(lesson, SUMMED)
    assert "is off by 55.6 %" in said
    assert "parts of `contract` is right: True" in said


def test_c40_the_all_reduces_carry_no_weight_s_gradient(lesson):
    said = printed(lesson, CARRIED)
    assert "196608 - a gradient that large: False" in said
    assert "gradient of `expand` equal in both ranks: False" in said
    assert "equal one process's: True" in said
    assert "gradient of `norm1` equal in both ranks: True" in said
