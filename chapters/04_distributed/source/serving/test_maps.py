"""What lies in the cache at one moment follows from the simulation, slot by slot."""

import pytest

from labkit_lessons.distributed.serving.maps import counts, map_at
from labkit_lessons.distributed.serving.simulation import (
    Contiguous,
    Lengths,
    Paged,
    Units,
    bursts,
    serve,
    trace,
)

REQUESTS = bursts(20, 20, 0.0, Lengths(9, 12, limit=30), seed=2)
CACHES = {"in one piece": lambda: Contiguous(200, 30), "in blocks": lambda: Paged(25, 8)}


@pytest.mark.parametrize("name", CACHES)
def test_what_is_held_and_reserved_is_what_the_step_says(name):
    run = serve(REQUESTS, Units(), 6, CACHES[name]())
    for number in range(1, len(run.steps) + 1, 4):
        slots = map_at(REQUESTS, 6, CACHES[name](), number)
        step = run.steps[number - 1]
        assert len(slots) == 200
        held, empty, free = counts(slots)
        assert (held, held + empty) == (step.held, step.reserved) and free == 200 - step.reserved
        assert {slot.owner for slot in slots} - {None} == {row.request for row in step.rows}
        for row in step.rows:
            own = [slot for slot in slots if slot.owner == row.request and slot.holds]
            assert len(own) == row.past + row.new


def test_a_map_by_hand():
    """5 tokens of request 0 and 3 of request 1, in blocks of 4: blocks 0 and 1, and block 2."""
    slots = map_at(trace([(0, 5, 2), (0, 3, 1)]), 2, Paged(4, 4), 1)
    assert [slot.owner for slot in slots] == [0] * 8 + [1] * 4 + [None] * 4
    assert [slot.holds for slot in slots] == [True] * 5 + [False] * 3 + [True] * 3 + [False] * 5


def test_a_step_that_is_not_there_gets_a_sentence():
    for step in (0, 99):
        with pytest.raises(ValueError, match=f"and no step {step}"):
            map_at(trace([(0, 5, 2)]), 2, Paged(4, 4), step)
