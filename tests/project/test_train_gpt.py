"""tools/train_gpt.py on a page of the book: resuming, half-written files, wrong arguments."""

import hashlib
import json
import math
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from labkit.distributed.gpt.model import GPT, loss_of
from labkit.distributed.gpt.text import Book, emma
from labkit.distributed.gpt.training import evaluate
from labkit.distributed.gpt.weights import load

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import train_gpt as tool
from train_gpt import LongPlan, Training

PLAN = LongPlan(steps=5, sequences=2, length=16, warmup=2, every=2, seed=4)


@pytest.fixture(scope="module")
def page():
    """The first characters of both parts of the book."""
    book = emma()
    return Book(book.train[:600], book.validation[:100])


@pytest.fixture(scope="module")
def whole(page, tmp_path_factory):
    """The folder and the result of a run that nothing interrupted."""
    out = tmp_path_factory.mktemp("whole")
    return out, tool.train(PLAN, page, out)


def read_log(out):
    records = [json.loads(line) for line in (out / "gpt.log.jsonl").read_text().splitlines()]
    for record in records:
        record.pop("seconds", None)
    return records


def stop_after(monkeypatch, steps):
    """From now on what follows the given number of steps ends in Ctrl-C."""
    go_on = Training.step

    def step(training, number):
        if number == steps:
            raise KeyboardInterrupt
        return go_on(training, number)

    monkeypatch.setattr(Training, "step", step)


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_a_resumed_run_is_bit_equal_to_an_uninterrupted_one(
    steps, page, whole, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        stop_after(patch, steps)
        with pytest.raises(KeyboardInterrupt):
            tool.train(PLAN, page, tmp_path)
    assert len(read_log(tmp_path)) == 1 + steps // 2
    torch.rand(7)  # what others draw from the global generator must not matter
    assert tool.train(PLAN, page, tmp_path, resume=True) == whole[1]
    assert read_log(tmp_path) == read_log(whole[0])
    name = "gpt.safetensors"
    assert (tmp_path / name).read_bytes() == (whole[0] / name).read_bytes()


def test_a_step_is_adamw_with_clipped_gradients_and_the_rate_of_the_plan(page):
    training = Training(PLAN, page)
    model = GPT(seed=4)
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, betas=(0.9, 0.99))
    for step, rate in ((0, 1e-3), (1, 2e-3), (2, 2e-3), (3, 2e-3 * 0.75)):
        inputs, targets = PLAN.batch_of(step, page.train)
        loss = loss_of(model(inputs), targets)
        gradients = torch.autograd.grad(loss, weights)
        length = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient / max(float(length), 1.0)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        assert training.step(step) == pytest.approx(loss.item(), rel=1e-4)
    for ours, theirs in zip(training.model.parameters(), weights, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4)


def test_the_rate_rises_in_a_line_and_falls_along_half_a_cosine():
    plan = LongPlan(steps=300, warmup=100, every=50, learning_rate=1.0)
    assert plan.rate_of(0) == 0.01
    assert plan.rate_of(49) == 0.5
    assert plan.rate_of(99) == plan.rate_of(100) == 1.0
    assert plan.rate_of(200) == pytest.approx(0.5)
    assert plan.rate_of(150) == pytest.approx((1 + math.sqrt(0.5)) / 2)
    assert 0 < plan.rate_of(299) < 1e-3
    assert LongPlan(steps=2, warmup=2, every=1).rate_of(1) == 2e-3  # all of it is warm-up


def test_a_half_written_checkpoint_is_set_aside(page, whole, tmp_path, capsys):
    half = (whole[0] / "checkpoint.pt").read_bytes()[:50_000]
    torch.save({"of": "another program"}, tmp_path / "other.pt")
    other = (tmp_path / "other.pt").read_bytes()
    short = LongPlan(steps=1, sequences=1, length=4, warmup=1, every=1)
    for content in (half, b"", b"nonsense", other):
        (tmp_path / "checkpoint.pt").write_bytes(content)
        tool.train(short, page, tmp_path, resume=True)
        said = capsys.readouterr().out
        assert "checkpoint.pt is not whole" in said and "Training starts again at step 1" in said
    kept = sorted(path.name for path in tmp_path.glob("checkpoint.pt.broken-*"))
    assert kept == [f"checkpoint.pt.broken-{i}" for i in (1, 2, 3, 4)]
    assert (tmp_path / "checkpoint.pt.broken-1").read_bytes() == half


def test_an_interrupted_write_leaves_the_old_checkpoint(page, tmp_path, monkeypatch):
    training = Training(PLAN, page)
    training.save(tmp_path / "checkpoint.pt")
    before = (tmp_path / "checkpoint.pt").read_bytes()

    def full_disk(state, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full_disk)
    with pytest.raises(OSError, match="No space left"):
        training.save(tmp_path / "checkpoint.pt")
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_an_earlier_run_is_not_overwritten(page, whole):
    with pytest.raises(ValueError, match=r"holds an earlier run. Add --resume"):
        tool.train(PLAN, page, whole[0])
    other = LongPlan(steps=5, sequences=2, length=16, warmup=2, every=2, seed=5)
    with pytest.raises(ValueError, match=r"another run \(seed 4 there, 5 here\)"):
        tool.train(other, page, whole[0], resume=True)


def test_the_log_says_what_was_done_and_is_tied_to_the_weights(page, whole):
    out, result = whole
    run, *looks, logged = read_log(out)
    assert (run["training_characters"], run["validation_characters"]) == (600, 100)
    assert run["arguments"]["seed"] == 4
    assert [look["step"] for look in looks] == [2, 4, 5]
    assert logged == result
    content = (out / "gpt.safetensors").read_bytes()
    assert logged["sha256"] == hashlib.sha256(content).hexdigest()
    assert sorted(path.name for path in out.iterdir()) == [
        "checkpoint.pt",
        "gpt.log.jsonl",
        "gpt.safetensors",
    ]


def test_the_logged_losses_are_those_of_the_saved_weights(page, whole):
    out, result = whole
    model = load(GPT(), out / "gpt.safetensors")
    assert {w.dtype for w in load_file(out / "gpt.safetensors").values()} == {torch.float32}
    assert result["validation_loss"] == pytest.approx(evaluate(model, page.validation, 16))
    assert result["training_loss"] == pytest.approx(evaluate(model, page.train, 16))
    assert result["training_loss"] < 4.2 < math.log(80)  # it has learned something


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--steps", "0"], "steps is a whole number from 1 on, not 0"),
        (["--seed", "-1"], "seed is a whole number from 0 on, not -1"),
        (["--warmup", "9"], "warmup is from 1 to 5 steps, not 9"),
        (["--every", "0"], "every is from 1 to 5 steps, not 0"),
        (["--learning-rate", "nan"], "learning_rate is above 0, not nan"),
        (["--learning-rate", "1e30"], "try a smaller --learning-rate"),
        (["--length", "129"], "129 tokens do not fit into a context of 128"),
    ],
)
def test_nonsense_ends_in_a_sentence(words, sentence, page, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tool, "emma", lambda: page)
    small = ["--steps", "5", "--warmup", "1", "--every", "5", "--sequences", "1", "--length", "8"]
    assert tool.main([*small, *words, "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err


def test_out_must_be_a_folder(tmp_path, capsys):
    (tmp_path / "out").write_text("mine")
    assert tool.main(["--out", str(tmp_path / "out")]) == 2
    assert "is a file; it must be a folder" in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"


def test_the_command_says_what_the_weights_reach(page, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tool, "emma", lambda: page)
    small = ["--steps", "1", "--warmup", "1", "--every", "1", "--sequences", "1", "--length", "8"]
    assert tool.main([*small, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    loss = read_log(tmp_path)[-1]["validation_loss"]
    assert f"Loss on the validation text: {loss:.4f} nats per character" in said


def test_ctrl_c_says_how_to_go_on(page, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tool, "emma", lambda: page)
    stop_after(monkeypatch, 0)
    assert tool.main(["--out", str(tmp_path)]) == 130
    assert "add --resume to go on" in capsys.readouterr().err
