"""This lesson: the numbers of its text, and that what it prints follows from its ranks."""

import re
from math import ceil, log2

import pytest

from labkit import convnet
from labkit.distributed.launching import backends
from labkit.distributed.launching.schedulers import all_ways, torchrun_command
from tests.notebooks.running import Run

SHARES, COUNT, SUM, HANG = (
    "launch(my_share",
    "launch(add_one, 4)",
    "launch(add_two, 2)",
    "launch(both_send, 2",
)
CHECKED, COUNTED = "launch(mean_gradient, 4", "launch(messages_of"
GUESSES, COLLECTIVES, MISSING = "figures.guesses", "launch(every_collective", "only_rank_0,"


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "1_processes_and_collectives")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def test_the_shares_are_those_of_the_text(lesson):
    said = printed(lesson, SHARES)
    assert "rank 0 takes [10 13 16]\nrank 1 takes [11 14]\nrank 2 takes [12 15]" in said


def test_a_rank_has_a_copy_of_the_count(lesson):
    said = printed(lesson, COUNT)
    assert said.count("of 4 ranks; count is 11") == 4
    assert "returned: [11, 11, 11, 11]" in said and "count in the notebook: 10" in said


def test_the_small_sum(lesson):
    said = printed(lesson, SUM)
    assert "rank 0 has [11.0, 22.0, 33.0]" in said and "rank 1 has [10.0, 20.0, 30.0]" in said


def test_the_hangs_are_told_with_their_lines(lesson):
    said = printed(lesson, HANG)
    for rank in (0, 1):
        assert f"rank {rank} waits in send, line 4 of both_send: send(x, to=1 - rank)" in said
    said = printed(lesson, MISSING)
    assert "rank 0 waits in all_reduce, line 3 of only_rank_0" in said
    assert "rank 1 has returned" in said
    assert "Rank 1 raised ValueError: no photographs here" in said and "Traceback" not in said


def test_the_exercises_are_solved(lesson):
    for name in ("my_share", "pass_on", "broadcast", "gather_all_reduce"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_the_gradient_is_that_of_one_worker_and_follows_the_answer(lesson):
    said = printed(lesson, CHECKED)
    assert "numbers: 545098" in said and said.count("True") == 2
    assert sum(w.size for w in convnet.load_weights().values()) == 545_098
    said, _ = lesson.again(CHECKED, gather_all_reduce=lambda rank, ranks, x: x)
    assert said.count("False") == 2


def test_the_bytes_are_those_that_were_sent(lesson):
    size = 4 * 545_098 / 1e6
    rows = re.findall(r"^(\w+) +([\d.]+) +([\d.]+)$", printed(lesson, COUNTED), re.MULTILINE)
    table = {name: (float(first), float(last)) for name, first, last in rows}
    right = {"broadcast": (2 * size, size), "gather_all_reduce": (6 * size, 2 * size)}
    assert set(table) == set(right)
    for name, pair in right.items():
        assert table[name] == pytest.approx(pair, rel=0.005)
    said, _ = lesson.again(COUNTED, broadcast=lambda rank, ranks, x: x)
    assert re.search(r"^broadcast +0 +0$", said, re.MULTILINE)
    assert printed(lesson, COUNTED).count("2.18 MB") == 6
    assert "through rank 0: guess 8.8 MB, result 13.1 MB" in printed(lesson, GUESSES)
    assert "rank 3's count: guess 14, result 11" in printed(lesson, GUESSES)


def test_the_numbers_of_the_text():
    size = 4 * 545_098
    assert round(size / 1e6, 1) == 2.2 and round(size / 1e6, 2) == 2.18
    assert round(6 * size / 1e6, 1) == 13.1
    assert round(126 * size / 1e6) == 275 and round(126 * size / 1.25e9, 2) == 0.22
    assert 10e9 / 8 == 1.25e9
    assert ceil(log2(8)) == 3 and ceil(log2(100)) == 7


def test_the_command_of_the_text():
    command = torchrun_command("program.py", nodes=2, ranks=4)
    assert command in lesson_text()
    ways = all_ways("program.py", nodes=2, ranks=4)
    assert command in ways and ways.count("Not run here") == 2
    assert backends.BACKENDS == ("nccl", "gloo", "mpi")


def test_pytorchs_own_patience_is_half_an_hour():
    from torch.distributed.constants import default_pg_timeout

    assert default_pg_timeout.total_seconds() == 30 * 60


def lesson_text():
    from labkit.course.config import config

    path = (
        config().course_root()
        / "chapters/04_distributed/source/processes_and_collectives/lesson.py"
    )
    return path.read_text("utf-8")
