"""Train the course's network: python tools/train_convnet.py --epochs 30 --out runs/convnet

PyTorch on the CPU, SGD with momentum and weight decay, random flips and shifts, and a learning rate
that falls along half a cosine. After every epoch the folder --out holds

    checkpoint.pt         everything needed to go on: --resume continues as if never stopped
    convnet.log.jsonl     one JSON object per line: the run, every epoch, the result

and at the end convnet.safetensors, whose SHA-256 is in the last line of the log. After a run on the
embedded sample these are convnet.sample.*, and the log says "sample", so that it cannot pass for
one on the full set. The weights are those of the last epoch: the test images are looked at, but
choose nothing.
"""

import argparse
import hashlib
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy, pad
from tqdm import tqdm

import labkit
from labkit import convnet
from labkit.datasets import Cifar10, Split, cifar10
from labkit.errors import in_a_line
from labkit.files import set_aside


@dataclass(frozen=True)
class Plan:
    """The arguments that decide the result; nonsense raises ValueError."""

    epochs: int = 30
    seed: int = 0
    batch: int = 64
    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 5e-4

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("seed", 0)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name} is {value}; it must be {least} or more.")
        if not 0 < self.lr < math.inf:
            raise ValueError(f"lr is {self.lr}; it must be a number above 0.")


def augment(padded: torch.Tensor, chosen: torch.Tensor, random: torch.Generator) -> torch.Tensor:
    """Each image shifted by up to 4 pixels each way and, half of the time, mirrored.

    padded[M,3,40,40] are all images in a frame of zeros, chosen[N] the ones wanted; -> [N,3,32,32]
    """
    top, left = torch.randint(0, 9, (2, len(chosen), 1), generator=random)
    mirrored = torch.rand(len(chosen), 1, generator=random) < 0.5
    steps = torch.arange(32)
    rows = top + steps  # [N,32]
    columns = left + torch.where(mirrored, 31 - steps, steps)
    # Indices on both sides of the colour axis put that axis last: [N,32,32,3].
    crops = padded[chosen[:, None, None], :, rows[:, :, None], columns[:, None, :]]
    return crops.permute(0, 3, 1, 2)  # N,C,H,W by name, colours innermost in memory


def accuracy(model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """Share of normalised images[N,3,32,32] whose largest logit is the right class."""
    with torch.no_grad():
        guesses = torch.cat([model(x).argmax(1) for x in images.split(500)])
    return int((guesses == labels).sum()) / len(labels)


class Training:
    """The state of a run between two epochs; what it holds is what a checkpoint holds."""

    def __init__(self, plan: Plan, data: Cifar10) -> None:
        self.plan = plan
        self.run = {"data": data.source, **asdict(plan)}  # what a checkpoint must agree with
        self.images, self.labels = _tensors(data.train)
        self.images = pad(self.images, (4, 4, 4, 4))
        self.test = _tensors(data.test)
        self.random = torch.Generator().manual_seed(plan.seed)
        # Colours innermost in memory ("channels last") train this network almost twice as fast.
        self.model = convnet.torch_model(convnet.init(plan.seed))
        self.model.to(memory_format=torch.channels_last)
        options = {"momentum": plan.momentum, "weight_decay": plan.weight_decay}
        self.optimizer = torch.optim.SGD(self.model.parameters(), plan.lr, **options)
        self.log: list[dict] = []  # one record per finished epoch

    def epoch(self) -> dict:
        """Train on every image once, in a new order; returns the epoch's log record."""
        began = time.perf_counter()
        done = len(self.log)  # epochs
        order = torch.randperm(len(self.labels), generator=self.random)
        batches = order.split(self.plan.batch)
        loss_sum = 0.0
        right = 0
        bar = tqdm(batches, desc=f"epoch {done + 1}/{self.plan.epochs}", unit="batch", leave=False)
        for i, chosen in enumerate(bar):
            progress = (done + i / len(batches)) / self.plan.epochs
            cosine = (1 + math.cos(math.pi * progress)) / 2  # from 1 down to 0
            self.optimizer.param_groups[0]["lr"] = self.plan.lr * cosine
            labels = self.labels[chosen]
            logits = self.model(augment(self.images, chosen, self.random))
            loss = cross_entropy(logits, labels)
            if not torch.isfinite(loss):
                raise ValueError(f"Epoch {done + 1}: the loss is {loss}; try a smaller --lr.")
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            loss_sum += loss.item() * len(labels)
            right += int((logits.argmax(1) == labels).sum())
        record = {
            "epoch": done + 1,
            "train_loss": round(loss_sum / len(order), 4),
            "train_accuracy": round(right / len(order), 4),
            "test_accuracy": accuracy(self.model, *self.test),
            "seconds": round(time.perf_counter() - began, 1),
        }
        self.log.append(record)
        return record

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole at any moment."""
        state = {"run": self.run, "log": self.log, "random": self.random.get_state()}
        state |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        _replace(path, lambda unfinished: torch.save(state, unfinished))

    def resume(self, path: Path) -> None:
        """Take over a checkpoint. One that is not whole is set aside, and said.

        Raises ValueError if it is of another plan or set.
        """
        try:
            state = torch.load(path, weights_only=True)
            run, log, random = state["run"], state["log"], state["random"]
            model, optimizer = state["model"], state["optimizer"]
        except Exception as error:  # half a file fails in every way there is
            reason = f"it lacks {error}" if isinstance(error, KeyError) else in_a_line(error)
            print(f"{path} is not whole ({reason}). It is set aside as {set_aside(path).name}.")
            print("Training starts again at epoch 1.")
            return
        differing = [f"{k} {run[k]} there, {v} here" for k, v in self.run.items() if run[k] != v]
        if differing:
            reason = "; ".join(differing)
            raise ValueError(f"{path} is of another run ({reason}). Choose another --out.")
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        self.random.set_state(random)
        self.log = log
        print(f"Going on after epoch {len(log)}.")


def train(plan: Plan, data: Cifar10, out: Path, resume: bool = False) -> dict:
    """Train as planned and write checkpoint, log and weights into `out`; returns the result."""
    training = Training(plan, data)
    checkpoint = out / "checkpoint.pt"
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; it must be a folder.")
    if checkpoint.exists():
        if not resume:
            raise ValueError(f"{out} holds an earlier run. Add --resume, or choose another --out.")
        training.resume(checkpoint)
    out.mkdir(parents=True, exist_ok=True)
    name = "convnet" if data.source == "full" else f"convnet.{data.source}"
    header = {
        "data": data.source,
        "train_images": len(data.train),
        "test_images": len(data.test),
        "arguments": asdict(plan),
        "threads": torch.get_num_threads(),
        "versions": {
            "torch": torch.__version__,
            "numpy": np.__version__,
            "labkit": labkit.__version__,
            "python": platform.python_version(),
        },
    }

    def write_log(*last: dict) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in (header, *training.log, *last))
        _replace(out / f"{name}.log.jsonl", lambda unfinished: unfinished.write_text(lines))

    while len(training.log) < plan.epochs:
        record = training.epoch()
        training.save(checkpoint)
        write_log()
        print(json.dumps(record), flush=True)
    weights = {k: w.numpy() for k, w in training.model.state_dict().items()}
    file = out / f"{name}.safetensors"
    convnet.save_weights(weights, file)
    result = {
        "result": file.name,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "data": data.source,
        "test_images": len(data.test),
        "test_accuracy": accuracy(convnet.torch_model(weights), *training.test),
    }
    write_log(result)
    return result


def _tensors(split: Split) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised images float32[N,3,32,32] and labels int64[N]."""
    images = torch.from_numpy(convnet.normalise(split.images))
    labels = torch.from_numpy(split.labels)
    return images, labels


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written beside its place, then moved into it, so that it is always whole."""
    unfinished = path.with_suffix(".unfinished")
    write(unfinished)
    os.replace(unfinished, path)


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Train the course's network.")
    parser.add_argument("--epochs", type=int, default=Plan.epochs)
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--batch", type=int, default=Plan.batch, help="images per step")
    parser.add_argument("--lr", type=float, default=Plan.lr, help="learning rate at the start")
    parser.add_argument("--data", choices=("auto", "full", "sample"), default="auto")
    parser.add_argument("--resume", action="store_true", help="go on after the last whole epoch")
    parser.add_argument("--out", type=Path, required=True, help="folder for everything written")
    a = parser.parse_args(words)
    try:
        plan = Plan(a.epochs, a.seed, a.batch, a.lr)
        data = cifar10(a.data)
        result = train(plan, data, a.out, a.resume)
    except (ValueError, OSError) as problem:
        print(f"train_convnet: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. Whole epochs are kept: add --resume to go on.", file=sys.stderr)
        return 130
    print(
        f"Trained on {data} {result['test_accuracy']:.2%} of the {result['test_images']:,} test "
        f"images are right. The weights are in {a.out / result['result']}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
