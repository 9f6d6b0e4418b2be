"""The picture of the ring by hand: its numbers are those of real sums, and its words say them."""

import numpy as np
import pytest

from labkit.distributed import collectives, network
from labkit_lessons.distributed.the_ring.chunk_picture import ring_by_hand, stages
from tests.distributed.threads import in_threads

THREE = np.array([[1, 2, 3], [10, 20, 30], [100, 200, 300]])


def test_three_ranks_by_hand():
    first, second = stages(THREE)
    assert [stage.leaving for stage in first] == [[2, 0, 1], [1, 2, 0], None]
    assert [stage.leaving for stage in second] == [[0, 1, 2], [2, 0, 1], None]
    assert first[1].values.tolist() == [[1, 202, 3], [10, 20, 33], [110, 200, 300]]
    assert first[2].values.tolist() == [[111, 202, 3], [10, 222, 33], [110, 200, 333]]
    assert second[1].values.tolist() == [[111, 202, 333], [111, 222, 33], [110, 222, 333]]
    assert (THREE == [[1, 2, 3], [10, 20, 30], [100, 200, 300]]).all(), "the input is as it was"


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
def test_any_number_of_ranks(ranks):
    values = np.random.default_rng(ranks).integers(-50, 50, (ranks, ranks))
    first, second = stages(values)
    assert (np.diag(first[-1].values) == values.sum(0)).all()
    assert np.diag(first[-1].finished).all()
    assert (second[-1].values == values.sum(0)).all() and second[-1].finished.all()
    assert len(first) == len(second) == ranks


class Watched:
    """Writes down what each exchange sends."""

    def __init__(self, threads):
        self.threads = threads
        self.place = threads.place
        self.sent = []

    def exchange(self, outgoing, to, incoming, source):
        self.sent.append(int(outgoing))
        self.threads.exchange(outgoing, to, incoming, source)


def sent_in_ring(ranks):
    """[step - 1][rank] -> the number that a rank sends: in it, whose numbers of which chunk.

    Rank r has 2 to the power r in each chunk; chunk c is marked by 100 c, as often as it is added.
    """
    import torch

    def one(rank):
        collectives.ring_all_reduce(100 * torch.arange(ranks) + (1 << rank))
        return network.transport().sent

    sent = in_threads(ranks, one, Watched)
    return [[sent[rank][step] for rank in range(ranks)] for step in range(2 * ranks - 2)]


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
def test_the_numbers_that_travel_are_those_of_the_real_ring(ranks):
    values = 100 * np.arange(ranks) + (1 << np.arange(ranks))[:, None]
    steps = [stage for half in stages(values) for stage in half if stage.leaving]
    sent = sent_in_ring(ranks)
    assert len(steps) == len(sent)
    for stage, numbers in zip(steps, sent, strict=True):
        assert [stage.values[place] for place in enumerate(stage.leaving)] == numbers


def test_what_it_says(capsys):
    ring_by_hand(THREE)
    said = capsys.readouterr().out
    assert "rank 1 has 10, 20, 33 and sends chunk 2" in said
    assert "All-gather: after step 2: rank 0 has 111, 222, 333" in said


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (2, 3)])
def test_what_it_cannot_draw(shape):
    with pytest.raises(ValueError, match="2 to 5 ranks with as many chunks"):
        ring_by_hand(np.ones(shape))
