"""A training under torchrun, killed in the middle: nothing but time is lost, to the last bit."""

import runpy
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch.distributed as dist

from labkit.course.config import config
from labkit.distributed import launch
from labkit.distributed.checkpoints.folder import last_good, names, newest
from labkit.distributed.checkpoints.run import Orders, _teller, run
from labkit.distributed.checkpoints.training import Options, Training
from labkit.distributed.errors import LaunchError
from labkit.distributed.monitoring import read_events
from labkit.distributed.step_log import StepLog, done_twice, final_losses, read_steps
from labkit_lessons.distributed.restarts_and_monitoring.elastic import under_torchrun

PROGRAM = config().course_root() / "chapters" / "04_distributed" / "train_gpt.py"
ENOUGH = 500.0  # seconds: only ends what would hang
STEPS, EVERY = 12, 4
SLOW = 0.1  # seconds of an exchange that is held up, at least
OWN = {"processor", "memory"}  # what each rank tells of its process


def unbroken(folder, ranks):
    return launch(run, ranks, Orders(folder, STEPS, EVERY), timeout=ENOUGH)[0]


def arguments(folder, *more):
    return ["--folder", folder, "--steps", STEPS, "--every", EVERY, *more]


@pytest.mark.night(instead="chapters/04_distributed/12_restarts_and_monitoring.ipynb")
def test_killed_and_restarted_by_torchrun_it_ends_with_the_same_bits(tmp_path):
    whole = unbroken(tmp_path / "whole", 2)
    broken = Orders(tmp_path / "broken", STEPS, EVERY).with_a_death(0, 2)
    more = ["--die-seed", 0, "--background"]
    said = under_torchrun(PROGRAM, 2, arguments(broken.folder, *more), restarts=1, timeout=ENOUGH)
    twice = as_without_a_death(broken, tmp_path / "whole")
    assert len(twice) < 2 * EVERY, "it may die while the newest is written"
    resumed = newest_before(broken.die_at, twice)
    assert f"went on from step {resumed}, done up to step {STEPS}" in said
    assert f"weights: {whole.weights}" in said


@pytest.mark.night(instead="chapters/04_distributed/12_restarts_and_monitoring.ipynb")
def test_four_ranks_killed_and_launched_again_end_with_the_same_bits(tmp_path, monkeypatch):
    whole = unbroken(tmp_path / "whole", 4)
    broken = Orders(tmp_path / "broken", STEPS, EVERY).with_a_death(1, 4)
    with pytest.raises(LaunchError, match=f"Rank {broken.die_rank} .* SIGKILL"):
        launch(run, 4, broken, timeout=ENOUGH)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")  # as torchrun has it
    again = launch(run, 4, broken, timeout=ENOUGH)
    twice = as_without_a_death(broken, tmp_path / "whole")
    assert len(twice) < EVERY
    assert {one.resumed_at for one in again} == {newest_before(broken.die_at, twice)}
    assert {one.weights for one in again} == {whole.weights}


def as_without_a_death(broken, whole_folder):
    """Each loss has the bits of the unbroken training; returns the steps that were done twice."""
    done = read_steps(broken.log)
    assert [one.step for one in done if one.attempt == 0] == list(range(1, broken.die_at))
    twice = done_twice(done)
    assert len(done) == STEPS + len(twice)
    assert final_losses(done) == final_losses(read_steps(whole_folder / "steps.jsonl"))
    return twice


def run_held_up(rank, ranks, orders):
    """As `run`, but the log's line of step 5 takes its time, and so does each exchange."""
    write, all_reduce = StepLog.write, dist.all_reduce

    def late(log, step, loss):
        time.sleep(2 if step == 5 else 0)
        write(log, step, loss)

    def slow(tensor):
        time.sleep(SLOW)
        all_reduce(tensor)

    StepLog.write, dist.all_reduce = late, slow
    run(rank, ranks, orders)


@pytest.mark.night(instead="chapters/04_distributed/12_restarts_and_monitoring.ipynb")
def test_a_rank_dies_after_all_have_told_of_the_step_before(tmp_path):
    orders = Orders(tmp_path, steps=7, every=4, die_at=6, die_rank=1, events=True)
    with pytest.raises(LaunchError, match=r"Rank 1 .* SIGKILL"):
        launch(run_held_up, 2, orders, timeout=ENOUGH)
    done = read_steps(orders.log)
    assert [one.step for one in done] == [1, 2, 3, 4, 5]
    for rank, (told,) in read_events(tmp_path / "events").items():
        assert [step for step, _ in told["loss"]] == [1, 2, 3, 4, 5], f"rank {rank}"
        losses = [loss for _, loss in told["loss"]]
        assert losses == pytest.approx([one.loss for one in done], rel=1e-6)  # float32 in the file
        for (_, rate), (_, share) in zip(
            told["tokens per second"], told["communication share"], strict=True
        ):
            step = 8 * 32 / rate  # seconds
            assert SLOW * 0.999 < step * share / 100 < step


def test_what_a_rank_tells_of_a_step(tmp_path):
    orders = Orders(tmp_path, events=True, options=Options(sequences=4, length=16))
    with ExitStack() as stack:
        tell = _teller(stack, orders, rank=1, attempt=0)
        tell(SimpleNamespace(step=3, seconds=0.125), 2.5, 0.5)
    (told,) = read_events(tmp_path / "events")[1]
    assert told["loss"] == [(3, 2.5)]
    assert told["tokens per second"] == [(3, 4 * 16 / 0.5)]
    assert told["communication share"] == [(3, 25.0)]
    assert set(told) - {"loss", "tokens per second", "communication share"} == OWN
    assert not orders.log.exists(), "rank 0 alone writes the log of steps"


def newest_before(death, twice):
    """The step of the checkpoint that a training went on from: the one before what it repeats."""
    return min(twice) - 1 if twice else death - 1


def test_seeds_draw_different_deaths_after_the_first_checkpoint():
    orders = Orders(Path("nowhere"), 30, 10)
    deaths = [orders.with_a_death(seed, 4) for seed in range(50)]
    assert {one.die_rank for one in deaths} == {0, 1, 2, 3}
    assert len({one.die_at for one in deaths}) > 10
    assert all(11 <= one.die_at <= 30 for one in deaths)
    assert orders.with_a_death(5, 4) == orders.with_a_death(5, 4)


@pytest.mark.night(
    instead="tests/distributed/checkpoints/test_dcp.py::test_a_shard_or_the_metadata_is_damaged"
)
def test_a_damaged_checkpoint_stops_it_and_on_request_is_passed_over(tmp_path, capsys, monkeypatch):
    whole = unbroken(tmp_path / "whole", 1)
    folder = tmp_path / "damaged"
    launch(run, 1, Orders(folder, 8, EVERY), timeout=ENOUGH)
    (shard,) = (newest(folder).path).glob("*.distcp")
    shard.write_bytes(shard.read_bytes()[:100])
    with pytest.raises(LaunchError) as told:
        under_torchrun(PROGRAM, 1, arguments(folder), timeout=ENOUGH)
    assert f"train_gpt.py: {shard} has 100 bytes and was saved with" in str(told.value)
    assert "step-00004 is whole: `last_good` takes it" in str(told.value)
    (folder / "steps.jsonl").write_text("{")  # a damaged log does not stop it
    told = map(str, [PROGRAM, *arguments(folder, "--fall-back")])
    monkeypatch.setattr("sys.argv", list(told))
    monkeypatch.setenv("WORLD_SIZE", "1")
    runpy.run_path(str(PROGRAM), run_name="__main__")
    said = capsys.readouterr().out
    assert "steps done twice: not known. Line 1 of the log" in said
    assert "Used: step-00004." in said and "went on from step 4, done up to step 12" in said
    assert f"weights: {whole.weights}" in said
    assert names(folder) == ["step-00008", "step-00012"] and last_good(folder).note == ""


INTERRUPTED = """
import signal, sys
from pathlib import Path
from labkit.distributed import launch
from labkit.distributed.checkpoints.run import Orders, run

signal.signal(signal.SIGINT, signal.default_int_handler)
launch(run, 2, Orders(Path(sys.argv[1]), steps=1_000_000, every=1), timeout=1000)
"""


@pytest.mark.night(
    instead="tests/distributed/test_launch.py::test_an_interrupted_cell_and_a_lost_notebook_leave_no_process"
)
def test_an_interrupted_cell_leaves_a_whole_checkpoint_and_no_process(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    cell = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(names(tmp_path)) > 1)  # it saves all the time
    below = [child.pid for child in psutil.Process(cell.pid).children(recursive=True)]
    cell.send_signal(signal.SIGINT)
    _, said = cell.communicate(timeout=ENOUGH)
    assert len(below) >= 2 and "Interrupted: All ranks were ended:" in said
    wait_until(lambda: not any(map(psutil.pid_exists, below)))
    resumed = Training(Options())
    resumed.restore(newest(tmp_path))
    assert resumed.step >= 2


def wait_until(condition):
    end = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("name", ["steps", "every"])
def test_nonsense_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} is at least 1"):
        Orders(Path("nowhere"), **{name: 0})


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": "3"}, {"every": 2.5}])
def test_orders_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match="is at least 1, not"):
        Orders(Path("nowhere"), **wrong)
