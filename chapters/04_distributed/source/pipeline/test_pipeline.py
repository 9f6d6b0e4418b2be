"""This lesson: the numbers of its text, and that what it prints follows what its ranks do."""

import re

import pytest
import torch

from labkit.course.config import config
from labkit.distributed.pipeline import predictions
from labkit.distributed.pipeline.schedules import (
    forward_only,
    gpipe,
    most_alive,
    one_f_one_b,
    schedule_of,
)
from tests.notebooks.running import Run

EQUAL, KEPT, STEPS = "train_a_stage, 2", "counted_bytes(stage)", "schedule_picture(panels)"
TRIAL = "as printed"


@pytest.fixture(scope="module")
def lesson():
    return Run("04_distributed", "10_pipeline")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def units(schedule):
    """Who is at what in each unit of time, as the lesson's grids show it."""
    rows = []
    for row in predictions.predict(schedule, 1, 2):
        at = ["."] * 9
        for span in row:
            for unit in range(int(span.begin), int(span.end)):
                at[unit] = str(span.work)
        rows.append(at)
    return rows


def test_the_grids_are_the_two_schedules():
    path = config().course_root() / "chapters/04_distributed/source/pipeline/lesson.py"
    grids = re.findall(r"# stage [01] {5}(.+)", path.read_text("utf-8"))
    expected = [row for make in (gpipe, one_f_one_b) for row in units(make(2, 2))]
    assert [row.split() for row in grids] == expected


def test_the_small_examples():
    assert predictions.step_seconds(2, 2, 1, 2) == 9 and predictions.bubble(2, 2) == 1 / 3
    order = one_f_one_b(4, 3).orders[2]
    assert list(map(str, order)) == ["F0", "F1", "B0", "F2", "B1", "B2"]
    w = [torch.tensor([[2.0]], requires_grad=True), torch.tensor([[3.0]], requires_grad=True)]
    y = torch.tensor([[1.0], [4.0]]) @ w[0] @ w[1]
    ((y - torch.tensor([[4.0], [14.0]])) ** 2 / 2).mean().backward()
    assert y.flatten().tolist() == [6, 24] and [one.grad.item() for one in w] == [63, 42]
    steps = {m: predictions.step_seconds(2, m, 4 // m * 3, 2) for m in (1, 2, 4)}
    assert steps == {1: 28, 2: 24, 4: 25}
    kept = {m: most_alive(one_f_one_b(2, m).orders[0]) * 4 // m for m in (1, 2, 4)}
    assert kept == {1: 4, 2: 4, 4: 2}
    assert 2 * 128 * 128 * 4 == 131_072
    assert predictions.bubble(4, 16) == 3 / 19 and round(100 * 3 / 19) == 16
    assert all(predictions.bubble(p, 4 * p) < 1 / 5 for p in range(1, 100))
    assert predictions.bubble(8, 28) <= 1 / 5 < predictions.bubble(8, 27)  # the quiz
    assert (
        most_alive(gpipe(4, 16).orders[0]) == 16 and most_alive(one_f_one_b(4, 16).orders[0]) == 4
    )


def test_the_exercises_are_solved(lesson):
    for name in ("order_of_stage", "gpipe_stage", "best_micro_batches"):
        assert "is solved" in printed(lesson, f'check("distributed.{name}"')


def test_both_ways_equal_one_process_and_a_broken_one_does_not(lesson):
    assert printed(lesson, EQUAL).count("True") == 4
    code = lesson.cell(EQUAL)
    one_way = code.replace(', "PyTorch\'s": True', "")
    broken = one_way.replace("train_alone(alone, emma().train, plan)",
                             "train_alone(alone, emma().train, Plan(steps=2, seed=9))")  # fmt: skip
    assert broken != one_way != code
    assert lesson.execute(broken, dict(lesson.before[code])).count("False") == 2


def test_what_travels_and_what_is_kept(lesson):
    said = printed(lesson, KEPT)
    rows = [re.split(r"  +", line.strip()) for line in said.splitlines()]
    rows = {(row[0], row[1]): row[2:] for row in rows if len(row) == 6 and row[1] in "01"}
    assert rows["GPipe", "0"][:3] == rows["GPipe", "1"][:3] == ["4", "524 kB", "4"]
    assert rows["1F1B", "0"][:3] == ["4", "524 kB", "2"]
    assert rows["1F1B", "1"][:3] == ["4", "524 kB", "1"]
    assert ["counted"] * 4 in [line.split() for line in said.splitlines()]
    peaks = {key: float(row[3].split()[0]) for key, row in rows.items()}
    assert peaks["1F1B", "0"] / peaks["GPipe", "0"] == pytest.approx(1 / 2, abs=0.05)
    assert peaks["1F1B", "1"] / peaks["GPipe", "1"] == pytest.approx(1 / 4, abs=0.05)


def test_the_learners_order_is_the_one_that_is_counted(lesson):
    as_gpipe = schedule_of("1F1B", [["F0", "F1", "F2", "F3", "B0", "B1", "B2", "B3"]] * 2)
    said, _ = lesson.again(KEPT, yours=as_gpipe)
    rows = [re.split(r"  +", line.strip()) for line in said.splitlines()]
    assert [row[4] for row in rows if len(row) == 6 and row[0] == "1F1B"] == ["4", "4"]


def test_every_step_has_the_predicted_order(lesson):
    ways, steps = lesson.namespace["ways"], lesson.namespace["steps"]
    schedules = {"one rank": gpipe(1, 1), "one piece": gpipe(4, 1), "GPipe": gpipe(4, 8),
                 "1F1B": one_f_one_b(4, 8)}  # fmt: skip
    for name, schedule in schedules.items():
        done = [tuple(span.work for span in row) for row in steps[name]]
        assert done == list(schedule.orders)
    assert {name: way.schedule for name, way in ways.items()} == schedules


def test_the_formulas_of_the_table(lesson):
    by_formula = {name: way.by_formula() for name, way in lesson.namespace["ways"].items()}
    work = {"one rank": (1, 1, 0.96), "one piece": (4, 1, 0.24)}
    work |= {"GPipe": (4, 8, 0.03), "1F1B": (4, 8, 0.03)}
    for name, (stages, pieces, seconds) in work.items():
        assert by_formula[name] == pytest.approx((pieces + stages - 1) * seconds)
    assert round(960 / 330, 1) == 2.9
    assert round(640 / 190, 1) == 3.4
    # Nothing is faster than its sleep.
    assert all(lesson.namespace["seconds"][name] > 0.99 * by_formula[name] for name in by_formula)


def test_the_sum_is_not_the_pipeline(lesson):
    assert printed(lesson, TRIAL) == "as printed: 25\na pipeline: [6, 24]\n"


def test_slow_messages_hurt_1f1b_more():
    """The text: 5 ms for each message, 10 and 20 ms for F and B, p = 4 and m = 8."""
    step = {}
    for make in (gpipe, one_f_one_b):
        for message in (0, 5):
            spans = predictions.predict(make(4, 8), 10, 20, message)
            step[make, message] = predictions.seconds_of(spans)
    assert step[gpipe, 5] == 360 and step[one_f_one_b, 5] == 410
    assert step[gpipe, 0] == step[one_f_one_b, 0] == predictions.step_seconds(4, 8, 10, 20) == 330


def test_requests_alone_and_in_a_queue(lesson):
    """A request that is called alone has no other one beside it."""
    queues, waits = lesson.namespace["queues"], lesson.namespace["waits"]
    expected = {
        "alone, one rank": (forward_only(1, 1), 0.04),
        "alone, 4 stages": (forward_only(4, 1), 0.04),
        "16, one rank": (forward_only(1, 16), 0.64),
        "16, 4 stages": (forward_only(4, 16), 0.19),
    }
    for name, (schedule, seconds) in expected.items():
        assert queues[name].schedule == schedule
        assert queues[name].by_formula() == pytest.approx(seconds)
        assert waits[name] > 0.99 * seconds  # nothing is faster than its sleep
    four_copies = predictions.seconds_of(predictions.predict(forward_only(1, 16 // 4), 40))
    assert four_copies == 160


def test_guesses_are_held_against_the_formula_and_no_clock(lesson):
    results = lesson.namespace["results"]
    expected = {"one piece": 1, "eight pieces": 960 / 330, "one request": 1}
    assert {name: float(one) for name, one in results.items()} == pytest.approx(expected)
    assert {one.word for one in results.values()} == {"predicted"}
