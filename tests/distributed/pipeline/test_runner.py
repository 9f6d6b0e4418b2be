"""Pipelines in real ranks, each equal to one process in float64; what they send, and keep."""

import time
from collections import Counter

import pytest
import torch

from labkit.distributed import LaunchError, launch, recorded
from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.training import Plan
from labkit.distributed.gpt.training import train as train_alone
from labkit.distributed.one_big_batch import gradients, largest_difference, weights
from labkit.distributed.pipeline.emulated import EmulatedStage
from labkit.distributed.pipeline.runner import micro_batches_of, run
from labkit.distributed.pipeline.schedules import forward_only, gpipe, most_alive, one_f_one_b
from labkit.distributed.pipeline.stages import Stage, cut
from labkit.distributed.tensor_parallel.counting import counted_calls
from labkit_lessons.distributed.pipeline.training import joined, run_by_torch, train
from tests.night import others_by_night

WIDTH = 8
TOKENS = torch.randint(0, 11, (200,), generator=torch.Generator().manual_seed(1))
PLAN = Plan(steps=3, sequences=12, length=5, learning_rate=1e-2)
MAKERS = {"GPipe": gpipe, "1F1B": one_f_one_b}
CLOSE = 1e-10


def model(layers=4):
    config = Config(vocabulary=11, context=6, width=WIDTH, heads=2, layers=layers)
    return GPT(config, seed=2).double()


def whole():
    """Losses, gradients of the last step and weights of one process."""
    net = model()
    return train_alone(net, TOKENS, PLAN), gradients(net), weights(net)


def every_way(rank, ranks, counts):
    """What each schedule of each number of micro-batches gives, by hand and by PyTorch."""
    found = {}
    for name, make in MAKERS.items():
        for count in counts:
            refused = make is one_f_one_b and count < ranks  # by PyTorch, as a test below shows
            for by_torch in (False,) if refused else (False, True):
                stage = Stage(model(), rank, ranks)
                schedule = make(ranks, count)
                losses = train(stage, schedule, TOKENS, PLAN, by_torch=by_torch)
                found[name, count, by_torch] = losses, gradients(stage), weights(stage)
    return found


def two_pipelines(rank, ranks):
    """Ranks 3 and 1 are the stages of one pipeline, 0 and 2 those of the other."""
    pair = [3, 1] if rank % 2 else [0, 2]
    stage = Stage(model(), pair.index(rank), 2)
    losses = train(stage, one_f_one_b(2, 3), TOKENS, PLAN, ranks=pair)
    return losses, gradients(stage), weights(stage)


def all_trainings(rank, ranks, counts):
    """In one launch, since the first optimizer of a process takes a second to load."""
    beside = two_pipelines(rank, ranks) if ranks == 4 else None
    return every_way(rank, ranks, counts), beside


@pytest.fixture(scope="module")
def expected():
    return whole()


def assert_equal(stages, expected, way):
    losses, grown, trained = joined(stages)
    assert losses == pytest.approx(expected[0], abs=CLOSE, rel=0), way
    assert largest_difference(grown, expected[1]) < CLOSE, way
    assert largest_difference(trained, expected[2]) < CLOSE, way


RANKS_AND_COUNTS = [(2, [1, 2, 6]), (1, [1, 3]), (4, [1, 3, 4, 12])]
EQUALS = "tests/distributed/pipeline/test_runner.py::test_every_way_equals_one_process"


@pytest.mark.parametrize(("ranks", "counts"), others_by_night(RANKS_AND_COUNTS, EQUALS))
def test_every_way_equals_one_process(expected, ranks, counts):
    by_rank = launch(all_trainings, ranks, counts)
    for way in by_rank[0][0]:
        assert_equal([ways[way] for ways, _ in by_rank], expected, way)
    for pair in ([3, 1], [0, 2]) if ranks == 4 else ():  # two pipelines beside each other
        assert_equal([by_rank[rank][1] for rank in pair], expected, pair)


def theirs_with_few(rank, ranks):
    run_by_torch(Stage(model(), rank, ranks), "1F1B", 1, *PLAN.batch_of(0, TOKENS))


def test_pytorchs_1f1b_refuses_fewer_micro_batches_than_stages():
    with pytest.raises(LaunchError, match="must be greater than or equal to the number of stages"):
        launch(theirs_with_few, 2)


def counted(rank, ranks, counts):
    """For each schedule: bytes of each message by its target, what was alive, what was done."""
    inputs, targets = PLAN.batch_of(0, TOKENS)
    found = {}
    for name, make in MAKERS.items():
        for count in counts:
            schedule = make(ranks, count)
            with recorded() as messages:
                ran = run(Stage(model(layers=6), rank, ranks), schedule, inputs, targets)
            sent = Counter((one.target, one.bytes) for one in messages if one.sent)
            done = [span.work for span in ran.spans]
            in_order = all(span.begin <= span.end for span in ran.spans)
            found[name, count] = sent, ran.alive, done, in_order
    return found


def counted_by_torch(rank, ranks, count):
    inputs, targets = PLAN.batch_of(0, TOKENS)
    found = {}
    for name in MAKERS:
        with counted_calls() as calls:
            run_by_torch(Stage(model(layers=6), rank, ranks), name, count, inputs, targets)
        found[name] = calls
    return found


def both_counted(rank, ranks):
    return counted(rank, ranks, [1, 2, 6]), counted_by_torch(rank, ranks, 6)


@pytest.fixture(scope="module")
def three_ranks():
    return launch(both_counted, 3)


def test_bytes_of_each_message_activations_kept_and_the_order_of_work(three_ranks):
    ranks = len(three_ranks)
    for rank, (found, _) in enumerate(three_ranks):
        for (name, count), (sent, alive, done, in_order) in found.items():
            size = PLAN.sequences // count * PLAN.length * WIDTH * 8
            neighbours = [other for other in (rank - 1, rank + 1) if 0 <= other < ranks]
            assert sent == Counter({(other, size): count for other in neighbours})
            order = MAKERS[name](ranks, count).orders[rank]
            assert alive == most_alive(order)
            assert done == list(order) and in_order


def test_pytorch_sends_the_same_and_first_a_few_bytes_on_shapes(three_ranks):
    ranks, count = len(three_ranks), 6
    size = PLAN.sequences // count * PLAN.length * WIDTH * 8
    for rank, (_, found) in enumerate(three_ranks):
        neighbours = len({rank - 1, rank + 1} & set(range(ranks)))
        for name, calls in found.items():
            assert {call.name for call in calls} == {"send"}
            sizes = [call.bytes for call in calls]
            assert sizes[-count * neighbours :] == [size] * count * neighbours, name
            assert sum(sizes[: -count * neighbours]) < 250 * neighbours, name


def answers(rank, ranks):
    inputs, _ = PLAN.batch_of(0, TOKENS)
    stage = Stage(model(), rank, ranks)
    ran = run(stage, forward_only(ranks, 4), inputs)
    return ran.outputs, ran.alive


def test_inference_gives_the_models_logits_and_keeps_nothing():
    inputs, _ = PLAN.batch_of(0, TOKENS)
    first, last = launch(answers, 2)
    assert first == ([], 0) and last[1] == 0
    assert torch.allclose(torch.cat(last[0]), model()(inputs), atol=1e-12)


def waits(rank, ranks, capacity):
    """When each rank was at which forward; stage 1 is late with its first one."""
    tokens = torch.zeros(6, 1, dtype=torch.int64)
    stage = EmulatedStage(rank, ranks, 0.0, 0.0)
    if rank == 1:
        forward = stage.forward
        first = []

        def late(x):
            if not first:
                first.append(time.sleep(0.3))  # meanwhile stage 0 fills its outbox, and no more
            return forward(x)

        stage.forward = late
    ran = run(stage, forward_only(ranks, 6), tokens, capacity=capacity)
    return [(span.begin, span.end) for span in ran.spans]


@pytest.mark.parametrize("capacity", [1, 3])
def test_a_full_outbox_makes_the_sender_wait(capacity):
    first, second = launch(waits, 2, capacity)
    reached = second[0][1]  # stage 1 has received number 0, and is at it until here
    # One is at stage 1, `capacity` are on their way, and one more is done and finds no room.
    assert sum(begin < reached for begin, _ in first) <= 1 + capacity + 1


def test_the_stages_are_the_model():
    net = model()
    stages = cut(net, 2)
    x = TOKENS[:10].reshape(2, 5)
    assert torch.equal(stages[1](stages[0](x)), net(x))
    names = [name for stage in stages for name, _ in stage.named_parameters()]
    assert sorted(names) == sorted(name for name, _ in net.named_parameters())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: cut(model(), 3), "4 blocks do not divide into 3 stages evenly"),
        (lambda: Stage(model(), 2, 2), "There is no stage 2 of 2"),
        (lambda: cut(model(), 0), "There is no stage 0 of 0"),
        (lambda: micro_batches_of(TOKENS[:7], 2), "A batch of 7 does not divide into 2"),
        (lambda: micro_batches_of(TOKENS[:7], 0), "1 micro-batch or more, not 0"),
        (lambda: alone(gpipe(2, 1)), "1 stages, the schedule 2, and there are 1 ranks"),
        (lambda: run(cut(model(), 1)[0], gpipe(1, 1), TOKENS), "it needs targets, and has none"),
        (lambda: alone(gpipe(1, 5)), "A batch of 12 does not divide into 5"),
        (lambda: run_by_torch(cut(model(), 1)[0], "ZB", 1, TOKENS, TOKENS), "not 'ZB'"),
    ],
)
def test_what_does_not_fit_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def alone(schedule):
    return run(cut(model(), 1)[0], schedule, *PLAN.batch_of(0, TOKENS))


def without_room(rank, ranks):
    run(Stage(model(), rank, ranks), gpipe(ranks, 2), *PLAN.batch_of(0, TOKENS), capacity=0)


def in_the_wrong_seat(rank, ranks):
    run(Stage(model(), 1 - rank, ranks), gpipe(ranks, 2), *PLAN.batch_of(0, TOKENS))


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (without_room, "An outbox has room for 1 tensor or more, not 0"),
        (in_the_wrong_seat, "has stage .*, which belongs to rank"),
    ],
)
def test_what_does_not_fit_is_refused_in_ranks(function, sentence):
    with pytest.raises(LaunchError, match=sentence):
        launch(function, 2)
