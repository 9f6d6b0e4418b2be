"""Sharded training by hand and by FSDP2 against one process, and the bytes of both."""

import pytest
import torch
from torch import nn

from labkit.distributed import launch
from labkit.distributed.gpt.model import GPT
from labkit.distributed.sharded.memory import bytes_of_state
from labkit_lessons.distributed.hybrid_and_sharded.trained import backward, mean_losses
from labkit_lessons.distributed.hybrid_and_sharded.units import Unit
from labkit_lessons.distributed.hybrid_and_sharded.zero import STAGES, Sharded
from tests.distributed.sharded.gpt_runs import (
    CONFIG,
    PLAN,
    by_hand,
    by_torch,
    largest_difference,
    one_process,
    own_batch,
)
from tests.night import others_by_night

ENOUGH = 300.0
RANKS = (2, 4)
HERE = "chapters/04_distributed/source/hybrid_and_sharded/test_zero.py::"
STAGE = HERE + "test_each_stage_trains_as_one_process_does"
PADDED = 5  # units, each with fewer zeros at its end than ranks


@pytest.fixture(scope="module")
def reference():
    return one_process()


def both(rank, ranks):
    return by_hand(rank, ranks), by_torch(rank, ranks)


@pytest.fixture(scope="module", params=others_by_night(RANKS, instead=STAGE))
def trained(request):
    return launch(both, request.param, timeout=ENOUGH)


@pytest.fixture(scope="module")
def ours(trained):
    return [by_stage for by_stage, _ in trained]


@pytest.fixture(scope="module")
def theirs(trained):
    return [runs for _, runs in trained]


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_trains_as_one_process_does(ours, reference, stage):
    losses, weights = reference
    found = mean_losses([by_stage[stage].losses for by_stage in ours])
    assert found == pytest.approx(losses, abs=1e-5)
    for by_stage in ours:
        assert largest_difference(by_stage[stage].weights, weights) < 1e-5


def test_the_comparison_would_see_one_step_less(reference):
    shorter = one_process(type(PLAN)(**{**vars(PLAN), "steps": PLAN.steps - 1}))
    assert largest_difference(shorter[1], reference[1]) > 1e-3


@pytest.mark.parametrize("stage", STAGES)
def test_bytes_sent_are_those_of_the_formula(ours, stage):
    ranks = len(ours)
    rounds = 3 if stage == 3 else 2
    for by_stage in ours:
        run = by_stage[stage]
        assert run.sent == rounds * (ranks - 1) * 4 * sum(run.sizes) // ranks
        assert all(size % ranks == 0 for size in run.sizes)


@pytest.mark.parametrize("stage", STAGES)
def test_bytes_held_are_those_of_the_memory_table(ours, stage):
    ranks = len(ours)
    for by_stage in ours:
        run = by_stage[stage]
        expected = bytes_of_state(sum(run.sizes), ranks, stage)
        assert run.held["parameters"] == expected.weights
        assert run.held["gradients"] == expected.gradients
        steps = 4 * len(run.weights)  # AdamW counts the steps of each weight
        assert 0 <= expected.moments + steps - run.held["optimizer state"] < 8 * PADDED * ranks


def test_each_stage_lowers_the_peak_and_stage_3_has_one_whole_unit_at_most(ours):
    ranks = len(ours)
    for by_stage in ours:
        run = by_stage[3]
        own = 4 * sum(run.sizes) // ranks
        assert own <= run.at_peak["parameters"] <= own + 4 * max(run.sizes)
        peaks = [by_stage[stage].peak for stage in STAGES]
        assert peaks == sorted(peaks, reverse=True)


def test_fsdp2_trains_as_one_process_does_and_sends_as_stage_3(theirs, reference):
    losses, weights = reference
    ranks = len(theirs)
    whole = 4 * sum(w.numel() for w in weights.values())
    for dimensions in (1, 2):
        found = mean_losses([runs[dimensions].losses for runs in theirs])
        assert found == pytest.approx(losses, abs=1e-5)
        assert largest_difference(theirs[0][dimensions].weights, weights) < 1e-5
    for runs in theirs:
        calls = runs[1].calls
        assert sum(call.sent for call in calls) == 3 * (ranks - 1) * whole // ranks
        names = [call.name for call in calls]
        assert (names.count("all_gather"), names.count("reduce_scatter")) == (10, 5)
        numbers = whole // 4
        expected = bytes_of_state(numbers, ranks, 3)
        assert runs[1].held["parameters"] == expected.weights
        assert runs[1].held["gradients"] == expected.gradients
        assert runs[1].held["optimizer state"] == expected.moments + 4 * len(weights)


def test_hsdp_gathers_within_a_copy_and_sums_over_the_copies(theirs):
    ranks = len(theirs)
    if ranks == 2:
        pytest.skip("two copies of one rank are data parallel")
    for runs in theirs:
        calls = runs[2].calls
        inner = {call.ranks for call in calls if call.name != "all_reduce"}
        outer = {call.ranks for call in calls if call.name == "all_reduce"}
        assert (inner, outer) == ({ranks // 2}, {2})
        whole = 4 * sum(weight.numel() for weight in runs[2].weights.values())
        within = 3 * (ranks // 2 - 1) * whole // (ranks // 2)
        over = 2 * (whole // (ranks // 2)) // 2  # an all-reduce of the shard between two copies
        assert sum(call.sent for call in calls) == within + over


def held_at_each_moment(rank, ranks):
    """Which units are whole when a block computes, and between the halves of a step."""
    model = Sharded(GPT(CONFIG), 3)
    optimizer = torch.optim.AdamW(model.parameters())
    seen = []
    for block in model.module.blocks:
        block.mlp.register_forward_hook(lambda *_: seen.append([unit.here for unit in model.units]))
    backward(model, *own_batch(rank, ranks, 0))
    between = [unit.here for unit in model.units]
    model.finish()
    parts = [(w.numel(), w.grad.numel()) for w in model.parameters()]
    optimizer.step()
    moments = [value for state in optimizer.state.values() for value in state.values()]
    held = sum(value.numel() for value in moments if value.dim())
    return seen, between, parts, held


def tiny(rank, ranks):
    """Units with fewer weights than ranks, and with a number that does not divide."""
    torch.manual_seed(1)
    found = []
    for module in (nn.Linear(1, 1), nn.Linear(2, 1, bias=False), nn.Linear(3, 3)):
        before = {name: weight.detach().clone() for name, weight in module.named_parameters()}
        unit = Unit(dict(module.named_parameters()), frees=True)
        unit.collect(Unit.reduce)
        collected = unit.collected()
        same = all(torch.equal(before[name], collected[name]) for name in before)
        unit.gather()
        module(torch.full((2, module.in_features), rank + 1.0)).sum().backward()
        gradient = [number for weight in module.parameters() for number in weight.grad.tolist()]
        found.append((same, unit.whole.numel(), gradient))
    return found


def test_fewer_weights_than_ranks_are_padded():
    results = launch(tiny, 4, timeout=ENOUGH)
    assert all(same for found in results for same, *_ in found)
    assert [[size for _, size, _ in found] for found in results] == [[4, 4, 12]] * 4
    mean_x = 2 * (1 + 2 + 3 + 4) / 4  # of both rows
    by_module = [[found[place][2] for found in results] for place in range(3)]
    assert by_module[0] == [[[mean_x]], [2.0], [], []], "a whole weight keeps its shape"
    assert by_module[1] == [[mean_x], [mean_x], [], []]
    assert by_module[2] == [[mean_x] * 3, [mean_x] * 3, [mean_x] * 3, [2.0] * 3]


def mistake(what):
    if what == "stage":
        Sharded(GPT(CONFIG), 4)
    if what == "nothing trained":
        Sharded(nn.Linear(1, 1).requires_grad_(False), 3)
    if what == "unused":
        model = Sharded(GPT(CONFIG), 1)
        model.module.head(torch.zeros(1, CONFIG.width)).sum().backward()
        model.finish()
    if what in ("forgotten", "stage 3, forgotten"):
        model = Sharded(nn.Linear(1, 1), 3 if "3" in what else 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model(torch.ones(1, 1)).sum().backward()
        optimizer.step()


SENTENCES = {
    "stage": "ZeRO has the stages 0, 1, 2 and 3, not 4",
    "nothing trained": "no weight of the module is trained (requires_grad=True)",
    "unused": "does not depend on embedding.token.weight, embedding.position.weight: no gradient",
    "forgotten": "finish() was not called after the last backward(): call it before the optim",
    "stage 3, forgotten": "finish() was not called after the last backward(): call it before the",
}


def message_of(what):
    try:
        mistake(what)
    except (ValueError, RuntimeError) as error:
        return str(error)
    return ""


def seen_in_ranks(rank, ranks):
    return held_at_each_moment(rank, ranks), {what: message_of(what) for what in SENTENCES}


@pytest.fixture(scope="module")
def seen():
    return launch(seen_in_ranks, 2, timeout=ENOUGH)


def test_in_stage_3_one_unit_at_a_time_is_whole(seen):
    numbers = sum(weight.numel() for weight in GPT(CONFIG).parameters())
    for (units, between, parts, held), _ in seen:
        assert units == [[False, True, False, False, False], [False, False, True, False, False]]
        assert not any(between)
        assert all(weight == gradient for weight, gradient in parts)
        assert held == 2 * sum(weight for weight, _ in parts)
    assert sum(weight for (*_, parts, _), _ in seen for weight, _ in parts) == numbers


@pytest.mark.parametrize("what", SENTENCES)
def test_mistakes_are_told_in_each_rank(seen, what):
    for _, said in seen:
        assert SENTENCES[what] in said[what]
