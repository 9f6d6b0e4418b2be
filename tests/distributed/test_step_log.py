"""The log of steps: whole lines, bits kept, damage told."""

import pytest

from labkit.distributed.step_log import LogError, StepLog, done_twice, final_losses, read_steps


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "logs" / "steps.jsonl"
    for attempt, steps in enumerate([range(1, 5), range(3, 7)]):
        one = StepLog(path, attempt)
        for step in steps:
            one.write(step, 1 / 3 + step)
    return path


def test_steps_come_back_to_the_last_bit(log):
    done = read_steps(log)
    assert [one.step for one in done] == [1, 2, 3, 4, 3, 4, 5, 6]
    assert [one.attempt for one in done] == [0] * 4 + [1] * 4
    assert all(one.loss == 1 / 3 + one.step for one in done)


def test_what_was_done_twice(log):
    assert done_twice(read_steps(log)) == [3, 4]
    assert final_losses(read_steps(log)) == [1 / 3 + step for step in range(1, 7)]


@pytest.mark.parametrize(
    "line", [b'{"attempt": 0, "st', b"\xff\xfe\n", b"[]\n", b'{"attempt": 1, "step": 2}\n', b"\n"]
)
def test_a_damaged_line_is_named(log, line):
    log.write_bytes(log.read_bytes() + line)
    with pytest.raises(LogError, match=r"Line 9 of the log .*steps\.jsonl is damaged.*Delete"):
        read_steps(log)


def test_a_missing_log(tmp_path):
    with pytest.raises(LogError, match=r"nothing.jsonl cannot be read \(No such file"):
        read_steps(tmp_path / "nothing.jsonl")
