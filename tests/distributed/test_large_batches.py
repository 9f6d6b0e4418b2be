"""The log of the large batches: whole, its numbers follow from each other, and one line repeats."""

import json
import sys
from pathlib import Path

import pytest

from labkit.distributed import small_training
from labkit.distributed.large_batches import BATCHES, LOG, SEEDS, header, read, select

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "cluster"))

import large_batches as tool

RUNS = read()


def test_every_batch_rule_and_seed_was_run_once():
    wanted = {(b, r, s) for b in BATCHES for r in small_training.RULES for s in SEEDS}
    assert {(run.batch, run.rule, run.seed) for run in RUNS} == wanted
    assert len(RUNS) == len(wanted)
    assert [run.batch for run in select(RUNS, "linear", 1)] == list(BATCHES)


def test_the_log_was_made_by_what_stands_here():
    told = tool.header()
    logged = header()
    for name in told.keys() - {"versions", "threads"}:
        assert logged[name] == told[name]
    assert logged["gradient_bytes"] == 4 * (8 * 27 + 8 + 16 * 72 + 16 + 10 * 256 + 10)
    assert logged["threads"] == 1
    for run in RUNS:
        plan = small_training.plan_by(run.rule, run.batch, seed=run.seed)
        assert (run.learning_rate, run.warm_up) == (plan.learning_rate, plan.warm_up)
        assert len(run.losses) == plan.epochs or run.diverged


def test_bytes_per_sample_fall_as_one_over_the_batch():
    base, *others = select(RUNS, "linear", 0)
    for run in others:
        fall = base.bytes_per_sample / run.bytes_per_sample
        assert fall == pytest.approx(run.batch / base.batch, rel=0.03), "the last batch is short"


def test_a_run_repeats():
    """The cheapest one; on another processor the last digits may differ."""
    logged = select(RUNS, "unscaled", 0)[-1]
    plan = small_training.plan_by("unscaled", logged.batch, seed=0)
    run = small_training.train(plan)
    assert run.steps == logged.steps
    assert run.losses == pytest.approx(logged.losses, abs=0.01)
    assert run.loss == pytest.approx(logged.loss, abs=0.01)


def altered(tmp_path, change, line=3):
    """The log's path, once a line of it has been changed."""
    lines = LOG.read_text("utf-8").splitlines()
    record = json.loads(lines[line - 1])
    change(record)
    lines[line - 1] = json.dumps(record)
    path = tmp_path / "altered.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda r: r.update(steps=7), r"line 3: 7 steps, where the batch makes 1260"),
        (lambda r: r.update(bytes_per_sample=1.0), r"line 3: 1.0 bytes per sample, where"),
        (lambda r: r.pop("loss"), r"line 3: loss should all be there"),
        (lambda r: r.update(more=1), r"line 3: more should all be there"),
    ],
)
def test_numbers_that_do_not_follow_are_refused(tmp_path, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(altered(tmp_path, change))


def test_files_that_are_no_log(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        read(tmp_path / "absent.jsonl")
    path = tmp_path / "half.jsonl"
    path.write_text(LOG.read_text("utf-8")[:-40], "utf-8")
    with pytest.raises(ValueError, match=r"line 43 is no JSON"):
        read(path)
    path.write_text("", "utf-8")
    with pytest.raises(ValueError, match="does not begin with what was trained"):
        read(path)


def test_the_tool_writes_what_the_reader_reads(tmp_path, monkeypatch, capsys):
    """Without the training, which the tests above repeat."""
    losses = (2.0,) * small_training.EPOCHS
    ran = lambda plan: small_training.Run(plan, 40, losses, 1.5, 0.25, False)  # noqa: E731
    monkeypatch.setattr(small_training, "train", ran)
    monkeypatch.setattr(small_training, "RULES", ("linear",))
    out = tmp_path / "log.jsonl"
    assert tool.main(["--out", str(out), "--batches", "1000", "--seeds", "5"]) == 0
    (run,) = read(out)
    assert (run.batch, run.seed, run.steps, run.learning_rate) == (1000, 5, 40, 1.25)
    assert tool.main(["--out", str(tmp_path), "--batches", "2000", "--seeds", "5"]) == 2
    assert "large_batches:" in capsys.readouterr().err
