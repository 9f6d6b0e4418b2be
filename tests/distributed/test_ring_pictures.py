"""labkit.distributed.ring_pictures: what they say a rank holds is what it holds."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from labkit.distributed import collectives, network, ring_pictures
from labkit.figures.style import ORANGE, SKY
from tests.distributed.test_pictures import boxes
from tests.distributed.threads import in_threads


class Watched:
    """Looks into a rank's whole memory before each exchange, which the chunk is a view of."""

    def __init__(self, threads):
        self.threads = threads
        self.place = threads.place
        self.seen = []

    def exchange(self, outgoing, to, incoming, source):
        self.seen.append(np.array(outgoing.untyped_storage().tolist(), "u1").view("i8"))
        self.threads.exchange(outgoing, to, incoming, source)


def held(ranks):
    """[step][rank][chunk] -> whose numbers are in the sum: rank r's number is 2 to the power r."""
    import torch

    def one(rank):
        total = collectives.ring_all_reduce(torch.full((ranks,), 1 << rank))
        return [*network.transport().seen, total.numpy()]

    seen = in_threads(ranks, one, Watched)
    return [[seen[rank][step] for rank in range(ranks)] for step in range(2 * ranks - 1)]


@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
def test_the_states_are_those_of_the_real_ring(ranks):
    states = ring_pictures.ring_states(ranks)
    found = held(ranks)
    assert len(states) == len(found) == 2 * ranks - 1
    for state, memory in zip(states, found, strict=True):
        for rank in range(ranks):
            sums = [sum(1 << one for one in chunk) for chunk in state[rank]]
            assert sums == memory[rank].tolist()


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
