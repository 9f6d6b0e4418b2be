"""Data x tensor and data x pipeline of the small GPT in four ranks, against one process."""

import pytest

from labkit.distributed import launch
from labkit.distributed.gpt.model import GPT
from labkit.distributed.gpt.text import emma
from labkit.distributed.gpt.training import Plan
from labkit.distributed.sharded import fsdp2
from labkit.distributed.sharded import two_dimensions as two
from labkit.distributed.sharded.pretended import pretended
from labkit.distributed.sharded.trained import train_stage
from tests.distributed.sharded.gpt_runs import CONFIG, PLAN, largest_difference, one_process

ENOUGH = 300.0
SIDES = (2, 2)
WAYS = {"tensor": two.data_and_tensor, "pipeline": two.data_and_pipeline}


@pytest.fixture(scope="module")
def reference():
    return one_process()


@pytest.fixture(scope="module", params=WAYS)
def results(request):
    way = WAYS[request.param]
    return request.param, launch(way, 4, GPT(CONFIG), emma().train, PLAN, SIDES, timeout=ENOUGH)


def test_a_mesh_trains_as_one_process_does(results, reference):
    way, ran = results
    losses, weights = reference
    assert two.mean_of_known(ran) == pytest.approx(losses, abs=1e-5)
    for first in (0, 2):  # both copies of the model
        part = ran[first : first + 2]
        if way == "tensor":
            whole = two.joined_tensor(part, SIDES, CONFIG)
        else:
            whole = two.joined_pipeline(part, SIDES)
        assert largest_difference(whole, weights) < 1e-5


def test_each_rank_has_a_part_only_and_its_data_group_the_same_one(results, reference):
    _, ran = results
    all_of_it = sum(weight.numel() for weight in reference[1].values())
    for one, other in ((0, 2), (1, 3)):
        assert largest_difference(ran[one][1], ran[other][1]) == 0
        assert sum(weight.numel() for weight in ran[one][1].values()) < 0.7 * all_of_it
    assert ran[1][0] != ran[3][0], "the copies see different sequences"


def attempt(what):
    tokens, model = emma().train, GPT(CONFIG)
    if what == "sides":
        two.data_and_tensor(0, 4, model, tokens, PLAN, (2, 3))
    if what == "heads":
        two.data_and_tensor(0, 4, model, tokens, PLAN, (1, 4))
    if what == "layers":
        two.data_and_pipeline(0, 4, model, tokens, PLAN, (1, 4))
    if what == "sequences":
        plan = Plan(steps=1, sequences=7, length=4)
        two.data_and_tensor(0, 4, model, tokens, plan, (2, 2))
    if what in ("a stage's sequences", "FSDP2's sequences"):
        plan = Plan(steps=1, sequences=6, length=4)
        train = train_stage if "stage" in what else fsdp2.train
        train(0, 4, model, tokens, plan, 3 if "stage" in what else (4,))


SENTENCES = {
    "sides": r"2 x 3 \(data x tensor\) has 6 ranks, and there are 4: the sides multiply",
    "heads": "4 ranks cannot share 2 heads evenly",
    "layers": "2 blocks do not divide into 4 stages",
    "a stage's sequences": "6 sequences do not divide into 4 equal parts",
    "FSDP2's sequences": "6 sequences do not divide into 4 equal parts",
    "sequences": "7 sequences do not divide into 2 equal parts",
}


@pytest.mark.parametrize("what", SENTENCES)
def test_what_does_not_divide_is_told(what):
    with pretended(4), pytest.raises(ValueError, match=SENTENCES[what]):
        attempt(what)
