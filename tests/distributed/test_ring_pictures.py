"""labkit.distributed.ring_pictures: what they say a rank holds is what it holds."""

from itertools import combinations

import pytest
from matplotlib.colors import to_hex

from labkit.distributed import collectives, network, ring_pictures
from labkit.figures.style import ORANGE, SKY
from tests.distributed.test_pictures import boxes
from tests.distributed.threads import in_threads


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
def test_the_sums_that_travel_are_those_of_the_real_ring(ranks):
    states = ring_pictures.ring_states(ranks)
    sent = sent_in_ring(ranks)
    assert len(states) == len(sent) + 1
    for step, numbers in enumerate(sent, start=1):
        for rank, chunk in ring_pictures.arriving(ranks, step):
            before = states[step - 1][(rank - 1) % ranks][chunk]
            number = sum((1 << one) + 100 * chunk for one in before)
            assert numbers[(rank - 1) % ranks] == number
            assert states[step][rank][chunk] == before | states[step - 1][rank][chunk]
    assert all(len(chunk) == ranks for row in states[-1] for chunk in row)


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(ring_pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_text_is_in_its_cell(drawn, ranks):
    ring_pictures.ring_picture(ranks)
    ((figure, _),) = drawn
    texts = boxes(figure)
    assert not any(a.overlaps(b) for a, b in combinations(texts, 2))
    (axes,) = figure.axes
    cells = [patch.get_window_extent() for patch in axes.patches]
    assert len(cells) == (2 * ranks - 1) * ranks**2
    inside = [t for t in texts if any(c.x0 < t.x0 and t.x1 < c.x1 for c in cells)]
    assert len(inside) >= len(cells)


def test_colours_of_one_step(drawn):
    ring_pictures.ring_picture(4, steps=[1])
    ring_pictures.ring_picture(4, steps=[6])
    (first, said), (last, _) = drawn
    colours = [to_hex(patch.get_facecolor()) for patch in first.axes[0].patches]
    assert colours.count(SKY) == 4 and ORANGE not in colours
    colours = [to_hex(patch.get_facecolor()) for patch in last.axes[0].patches]
    assert colours.count(ORANGE) == 12 and colours.count(ring_pictures.BOTH) == 4
    assert "step 1: rank 0: 0 | 0 | 0+3 | 0; rank 1: 1 | 1 | 1 | 0+1;" in said


@pytest.mark.parametrize(("ranks", "steps"), [(1, None), (5, None), (4, [7]), (4, []), (2, [-1])])
def test_rings_that_are_not_drawn(drawn, ranks, steps):
    with pytest.raises(ValueError, match=r"ranks, not|The steps go from 0"):
        ring_pictures.ring_picture(ranks, steps)
    assert not drawn
