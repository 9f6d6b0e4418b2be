"""What each collective hands to each rank, and how it is told."""

import numpy as np
import pytest

from labkit.distributed import launch
from labkit_lessons.distributed.processes_and_collectives.before_and_after import (
    before_and_after,
    every_collective,
)

ENOUGH = 120.0  # ends a hang


@pytest.fixture(scope="module")
def held():
    return launch(every_collective, 3, timeout=ENOUGH)


def test_each_collective_as_numpy_has_it(held):
    x = np.outer([1, 10, 100], [1, 2, 3])  # [rank, number]
    nothing = None
    right = {
        "before": x.tolist(),
        "broadcast(x, 0)": [x[0].tolist()] * 3,
        "reduce(x, 0)": [x.sum(0).tolist(), nothing, nothing],
        "all_reduce(x)": [x.sum(0).tolist()] * 3,
        "scatter(part, parts, 0)": [[1], [2], [3]],
        "gather(x, parts, 0)": [x.ravel().tolist(), nothing, nothing],
        "all_gather(parts, x)": [x.ravel().tolist()] * 3,
        "reduce_scatter(part, parts)": [[111], [222], [333]],
    }
    assert [{call: rows[rank] for call, rows in right.items()} for rank in range(3)] == held


def test_the_picture_tells_all_of_it(held, capsys):
    before_and_after(held)
    said = capsys.readouterr().out
    assert "before: rank 0 1 2 3; rank 1 10 20 30; rank 2 100 200 300." in said
    assert "reduce(x, 0): rank 0 111 222 333; rank 1 nothing; rank 2 nothing." in said
    assert "reduce_scatter(part, parts): rank 0 111; rank 1 222; rank 2 333." in said
    changed = [dict(rank) for rank in held]
    changed[2]["all_reduce(x)"] = [7, 7, 7]
    before_and_after(changed)
    assert "rank 1 111 222 333; rank 2 7 7 7" in capsys.readouterr().out
