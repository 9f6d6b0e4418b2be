"""tools/train_convnet.py on a handful of images: resuming, half-written files, wrong arguments."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from labkit import convnet
from labkit.datasets import Cifar10, Split, cifar10

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import train_convnet as train
from train_convnet import Plan, Training, augment

PLAN = Plan(epochs=3, seed=4, batch=16, lr=0.01)


@pytest.fixture(scope="module")
def few():
    """100 training and 50 test images of the sample; 100 is no multiple of the batch."""
    data = cifar10("sample")
    cut = lambda split, n: Split(split.images[:n], split.labels[:n])  # noqa: E731
    return Cifar10(cut(data.train, 100), cut(data.test, 50), "sample", "for a test")


@pytest.fixture(scope="module")
def whole(few, tmp_path_factory):
    """The folder and the result of a run that nothing interrupted."""
    out = tmp_path_factory.mktemp("whole")
    return out, train.train(PLAN, few, out)


def read_log(out):
    lines = (out / "convnet.sample.log.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record.pop("seconds", None)
    return records


def stop_after(monkeypatch, epochs):
    """From now on an epoch after the given number ends in Ctrl-C."""
    go_on = Training.epoch

    def epoch(training):
        if len(training.log) == epochs:
            raise KeyboardInterrupt
        return go_on(training)

    monkeypatch.setattr(Training, "epoch", epoch)


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_resumed_run_is_bit_equal_to_an_uninterrupted_one(
    epochs, few, whole, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        stop_after(patch, epochs)
        with pytest.raises(KeyboardInterrupt):
            train.train(PLAN, few, tmp_path)
    assert len(read_log(tmp_path)) == 1 + epochs
    torch.rand(7)  # what others draw from the global generator must not matter
    result = train.train(PLAN, few, tmp_path, resume=True)
    assert result == whole[1]
    assert read_log(tmp_path) == read_log(whole[0])
    name = "convnet.sample.safetensors"
    assert (tmp_path / name).read_bytes() == (whole[0] / name).read_bytes()


def test_a_half_written_checkpoint_is_set_aside(few, whole, tmp_path, capsys):
    half = (whole[0] / "checkpoint.pt").read_bytes()[:50_000]
    torch.save({"of": "another program"}, tmp_path / "other.pt")
    other = (tmp_path / "other.pt").read_bytes()
    for content in (half, b"", b"nonsense", other):
        (tmp_path / "checkpoint.pt").write_bytes(content)
        assert train.train(Plan(epochs=1), few, tmp_path, resume=True)["data"] == "sample"
        said = capsys.readouterr().out
        assert "checkpoint.pt is not whole" in said and "Training starts again at epoch 1" in said
    kept = sorted(path.name for path in tmp_path.glob("checkpoint.pt.broken-*"))
    assert kept == [f"checkpoint.pt.broken-{i}" for i in (1, 2, 3, 4)]
    assert (tmp_path / "checkpoint.pt.broken-1").read_bytes() == half


def test_an_interrupted_write_leaves_the_old_checkpoint(few, whole, tmp_path, monkeypatch):
    training = Training(PLAN, few)
    training.save(tmp_path / "checkpoint.pt")
    before = (tmp_path / "checkpoint.pt").read_bytes()

    def full_disk(state, path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full_disk)
    with pytest.raises(OSError, match="No space left"):
        training.save(tmp_path / "checkpoint.pt")
    assert (tmp_path / "checkpoint.pt").read_bytes() == before


def test_an_earlier_run_is_not_overwritten(few, whole):
    with pytest.raises(ValueError, match=r"holds an earlier run. Add --resume"):
        train.train(PLAN, few, whole[0])
    with pytest.raises(ValueError, match=r"another run \(seed 4 there, 5 here\)"):
        train.train(Plan(epochs=3, seed=5, batch=16, lr=0.01), few, whole[0], resume=True)
    full = Cifar10(few.train, few.test, "full", "for a test")
    with pytest.raises(ValueError, match=r"another run \(data sample there, full here\)"):
        train.train(PLAN, full, whole[0], resume=True)


def test_a_run_on_the_sample_cannot_pass_for_one_on_the_full_set(whole):
    out, result = whole
    run, *epochs, logged = read_log(out)
    assert run["data"] == logged["data"] == result["data"] == "sample"
    assert (run["train_images"], run["test_images"], logged["test_images"]) == (100, 50, 50)
    assert run["arguments"]["seed"] == 4 and len(epochs) == 3
    assert sorted(path.name for path in out.iterdir()) == [
        "checkpoint.pt",
        "convnet.sample.log.jsonl",
        "convnet.sample.safetensors",
    ]
    weights = convnet.load_weights(out / "convnet.sample.safetensors")
    assert {w.dtype for w in weights.values()} == {np.dtype(np.float32)}


def test_the_logged_accuracy_is_that_of_the_saved_weights(few, whole):
    out, result = whole
    weights = convnet.load_weights(out / "convnet.sample.safetensors")
    logits = convnet.forward(weights, convnet.normalise(few.test.images))
    right = int((logits.argmax(1) == few.test.labels).sum())
    assert abs(result["test_accuracy"] * 50 - right) <= 1


def test_the_log_is_tied_to_the_saved_weights(whole):
    out, result = whole
    content = (out / "convnet.sample.safetensors").read_bytes()
    assert result["sha256"] == read_log(out)[-1]["sha256"] == hashlib.sha256(content).hexdigest()


def test_training_learns(few, tmp_path):
    train.train(Plan(epochs=6, batch=5, lr=0.01), few, tmp_path)
    losses = [record["train_loss"] for record in read_log(tmp_path)[1:-1]]
    assert losses[-1] < 0.7 * losses[0]


def test_augment_shifts_and_mirrors_each_image_by_its_own():
    images = torch.arange(2 * 3 * 32 * 32, dtype=torch.float32).reshape(2, 3, 32, 32) + 1
    padded = torch.nn.functional.pad(images, (4, 4, 4, 4))
    allowed = {}  # every picture that the rule allows, by its bytes
    for top in range(9):
        for left in range(9):
            crop = padded[1, :, top : top + 32, left : left + 32]
            allowed[crop.numpy().tobytes()] = (top, left, False)
            allowed[crop.flip(2).numpy().tobytes()] = (top, left, True)
    random = torch.Generator().manual_seed(0)
    crops = augment(padded, torch.full((600,), 1), random)
    assert crops.shape == (600, 3, 32, 32)
    seen = {allowed[crop.numpy().tobytes()] for crop in crops.contiguous()}
    assert {s[0] for s in seen} == {s[1] for s in seen} == set(range(9))
    assert {s[2] for s in seen} == {False, True}
    one = augment(padded, torch.tensor([0, 1]), random)
    assert one[0].max() <= images[0].max() < one[1].max()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--epochs", "0"], "epochs is 0; it must be 1 or more."),
        (["--batch", "-3"], "batch is -3; it must be 1 or more."),
        (["--seed", "-1"], "seed is -1; it must be 0 or more."),
        (["--lr", "0"], "lr is 0.0; it must be a number above 0."),
        (["--lr", "nan"], "lr is nan"),
        (["--lr", "inf"], "lr is inf"),
        (["--lr", "1e9", "--batch", "10"], "try a smaller --lr"),
    ],
)
def test_nonsense_ends_in_a_sentence(words, sentence, few, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(train, "cifar10", lambda source: few)
    assert train.main([*words, "--data", "sample", "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err


def test_out_must_be_a_folder(tmp_path, capsys):
    (tmp_path / "out").write_text("mine")
    assert train.main(["--data", "sample", "--out", str(tmp_path / "out")]) == 2
    assert "is a file; it must be a folder" in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"


def test_full_without_the_full_set_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setenv("LABKIT_OFFLINE", "1")
    assert train.main(["--data", "full", "--out", str(tmp_path / "out")]) == 2
    assert "The full CIFAR-10 is not here" in capsys.readouterr().err


def test_the_command_says_which_data_it_used(few, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(train, "cifar10", lambda source: few)
    assert train.main(["--epochs", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "the embedded sample: 100 training and 50 test images" in said
    assert "of the 50 test images are right" in said


def test_ctrl_c_says_how_to_go_on(few, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(train, "cifar10", lambda source: few)
    stop_after(monkeypatch, 0)
    assert train.main(["--out", str(tmp_path)]) == 130
    assert "add --resume to go on" in capsys.readouterr().err
