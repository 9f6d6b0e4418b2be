"""What lesson unlike_machines prints follows from what it computes."""

import numpy as np
import pytest

from labkit import check
from labkit_lessons.distributed.unlike_machines.splits import (
    Group,
    Machine,
    balanced_step,
    equal_split,
    split_batch,
)
from labkit_lessons.distributed.unlike_machines.training import BYTES, rehearse
from tests.notebooks.running import Run

THREE, FOUR = 4 * 2.528, 6 * 2.396  # ms of a ring, as the text has them


@pytest.fixture(scope="module")
def lesson():
    """Without the ranks that sleep: test_unlike_training.py has some, and the stored notebook."""
    return Run("04_distributed", "8_unlike_machines", without=["timing"])


def test_weights_are_compared_with_those_of_one_process(lesson):
    words = "off by {percent"
    printed = lesson.printed[lesson.cell(words)]
    assert "weighted: within 0.000001: True, off by 0 %" in printed
    assert "plain mean: within 0.000001: False, off by 26 %" in printed
    plain = lesson.namespace["plain_mean"]
    said, _ = lesson.again(words, gradient_and_speeds=plain)
    assert "weighted: within 0.000001: True" not in said


def test_the_rehearsal_is_held_against_real_ranks(lesson):
    words = "as the real ranks"
    assert "as the real ranks: True" in lesson.printed[lesson.cell(words)]
    equally = lambda group, split, steps: rehearse(group, equal_split, steps)  # noqa: E731
    said, _ = lesson.again(words, rehearse=equally)
    assert "as the real ranks: False" in said


def test_the_splits_by_hand(lesson):
    splits = lesson.namespace["splits"]
    assert splits["by speed"].counts.tolist() == [[16] * 4, [20, 19, 19, 6], [20, 20, 19, 5]]
    assert splits["equal"].idle[0] == pytest.approx([0.048, 0.048, 0.048, 0])
    assert splits["by speed"].computed[2] - splits["by speed"].begin[2] == pytest.approx(
        [0.024, 0.024, 0.023, 0.024]
    )


def test_the_waiting_after_a_change_comes_from_the_runs(lesson):
    words = "waiting_picture(runs"
    printed = lesson.printed[lesson.cell(words)]
    for number in ("1.28 s", "124 ms", "65 ms", "1.72 s"):
        assert number in printed
    said, names = lesson.again(words, replace=lambda one, **changes: one)  # nothing changes
    assert "65 ms" not in said
    assert not (names["runs"]["half new"].waiting[20:] > 0.1).any()


def test_what_the_text_says_of_noise(lesson):
    _, names = lesson.again('"part that is new"')
    by_share = {row[0]: [float(cell) for cell in row[1:] if cell != ""] for row in names["rows"]}
    calm = {share: row[0] for share, row in by_share.items()}
    changed = {share: row[2] for share, row in by_share.items() if len(row) == 4}
    shares = (0, 0.1, 0.5, 1)
    assert min(shares, key=calm.get) == 0.1 and min(shares, key=changed.get) == 0.5
    assert calm[0.5] / calm[0.1] == pytest.approx(1.01, abs=0.005)
    assert calm[1] / calm[0.1] == pytest.approx(1.03, abs=0.005)
    assert calm[1] / calm[0] == pytest.approx(1, abs=0.01)
    assert max(calm, key=calm.get) == max(changed, key=changed.get) == "equal shares"
    assert changed[1] / changed[0.5] == pytest.approx(1.01, abs=0.005)
    assert changed[0.1] / changed[0.5] == pytest.approx(1.09, abs=0.005)
    waiting = {share: row[1] for share, row in by_share.items()}
    assert waiting["true speeds"] == pytest.approx(15, abs=0.5)
    assert min(waiting, key=waiting.get) == "true speeds"


def test_the_true_speeds_wait_for_what_the_noise_alone_explains():
    """Of four machines with times 1 +- 0.3, uniform: 1 - mean / largest, drawn without labkit."""
    times = np.random.default_rng(1).uniform(0.7, 1.3, (200_000, 4))
    share = (1 - times.mean(axis=1) / times.max(axis=1)).mean()
    assert share == pytest.approx(0.15, abs=0.005)


def test_where_the_11_ms_come_from(lesson):
    """2 ms less to compute, 4.26 ms more to send; and all of it five times as slow."""
    compute, steps = {}, {}
    for name in ("three", "four"):
        run = rehearse(lesson.namespace[name], split_batch, steps=5)
        compute[name] = 1e3 * (run.computed - run.begin)[4].max()
        steps[name] = 1e3 * run.steps[4]
    assert compute == pytest.approx({"three": 26, "four": 24})
    longer = steps["four"] - steps["three"]
    assert longer == pytest.approx(FOUR - THREE - 2, abs=0.005)
    assert 5 * longer == pytest.approx(11, abs=0.5)


def test_a_slow_machine_pays_from_a_batch_of_167_on(lesson):
    three, four = lesson.namespace["three"], lesson.namespace["four"]
    for batch, pays in ((166, False), (167, True)):
        assert (balanced_step(four, batch, BYTES) < balanced_step(three, batch, BYTES)) == pays


def test_who_takes_part_is_what_is_faster(lesson):
    _, names = lesson.again('"best_group says"')
    for batch, said, three, four in names["rows"]:
        assert (said == "with all") == (float(four) < float(three)), batch
    assert {row[1] for row in names["rows"]} == {"with all", "without rank 3"}
    _, names = lesson.again('"best_group says"', best_group=lambda *_: (0, 1, 2, 3))
    assert {row[1] for row in names["rows"]} == {"with all"}


def test_the_worked_example_of_two_machines():
    group = Group([Machine(1, 4), Machine(2, 10)])
    assert balanced_step(group, 30, 0) == 26
    assert balanced_step(group, 12, 0) == 14


def test_the_predictions_are_compared_with_formula_and_run(lesson):
    _, names = lesson.again("figures.guesses([(name")
    assert float(names["results"]["steps to recover"]) == 5
    found = float(names["results"]["slowest that helps"])
    left = 64 / 3 - (FOUR - THREE)
    assert found == pytest.approx(100 * (64 - 3 * left) / left, abs=0.2)
    assert (FOUR - THREE, left) == pytest.approx((4.26, 17.07), abs=0.005)
    assert found == pytest.approx(75, abs=0.2)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda per_photo, fixed, messages, batch: 2, "The result is a group"),
        (lambda per_photo, fixed, messages, batch: (0, 0), "names machines, and each of them once"),
        (lambda per_photo, fixed, messages, batch: [7], "there are machines 0 to"),
        (lambda per_photo, fixed, messages, batch: None, "not solved yet"),
        ((0, 1), "The answer is a function"),
        (lambda per_photo, fixed, messages, batch: messages[3 * [1]][len(per_photo)], "IndexError"),
    ],
)
def test_what_is_no_group_is_told_so(answer, says, capsys):
    assert check("distributed.best_group", answer) is not answer
    assert says in " ".join(capsys.readouterr().out.split())
