"""What the pictures say in words is what the runs counted; they draw without a complaint."""

import pytest

from labkit_lessons.distributed.serving import pictures
from labkit_lessons.distributed.serving.maps import map_at
from labkit_lessons.distributed.serving.simulation import (
    Contiguous,
    Paged,
    Units,
    serve,
    serve_in_batches,
    trace,
)

REQUESTS = trace([(0, 1, 5), (0, 1, 1), (0, 1, 4), (0, 1, 2), (0, 1, 2)])
RUNS = {
    "static": serve_in_batches(REQUESTS, Units(), 2),
    "continuous": serve(REQUESTS, Units(), 2),
}


def test_rows(capsys):
    pictures.rows_picture(RUNS)
    said = capsys.readouterr().out
    assert "static: 11 steps, 6 of 20 tokens wasted (x)" in said
    assert "row 0: 0 0 0 0 0 2 2 2 2 4 4; row 1: 1 x x x x 3 3 x x - -." in said
    assert "continuous: 7 steps, 0 of 14 tokens wasted (x)" in said
    assert "row 0: 0 0 0 0 0 3 3; row 1: 1 2 2 2 2 4 4." in said


def test_cache(capsys):
    requests = trace([(0, 5, 2), (0, 3, 1)])
    caches = {"in one piece": Contiguous(16, 4), "in blocks": Paged(4, 4)}
    maps = {name: map_at(requests, 2, cache, 1) for name, cache in caches.items()}
    pictures.cache_picture(maps, width=8)
    said = capsys.readouterr().out
    assert (
        "in one piece: 2 requests; of 16 slots 8 hold a token, 6 are only reserved, 2 free" in said
    )
    assert "in blocks: 2 requests; of 16 slots 8 hold a token, 4 are only reserved, 4 free" in said


def test_latencies_and_load(capsys):
    pictures.latency_picture(RUNS)
    assert "static: p50 7 s, p99 11 s. continuous: p50 5 s, p99 7 s." in capsys.readouterr().out
    slower = serve(REQUESTS, Units(10.0), 2)
    pictures.load_picture({1: {"one": RUNS["continuous"]}, 2: {"one": slower}}, {"one": 1.5})
    said = capsys.readouterr().out
    assert "p50, one: 5 s at 1, 50 s at 2. p99, one: 7 s at 1, 70 s at 2." in said
    assert "one can answer 1.5 in a second" in said


@pytest.mark.parametrize(
    "draw",
    [
        pictures.rows_picture,
        pictures.latency_picture,
        pictures.load_picture,
        lambda nothing: pictures.cache_picture(nothing, 8),
    ],
)
def test_nothing_to_draw_gets_a_sentence(draw):
    with pytest.raises(ValueError, match="there is nothing to draw"):
        draw({})
