"""Train the small GPT on its book: python tools/train_gpt.py --out runs/gpt

PyTorch on the CPU, AdamW, gradients clipped to a length of 1, and a learning rate that rises in a
straight line and then falls along half a cosine. After every 250 steps the folder --out holds

    checkpoint.pt         everything needed to go on: --resume continues as if never stopped
    gpt.log.jsonl         one JSON object per line: the run, every 250 steps, the result

and at the end gpt.safetensors, whose SHA-256 is in the last line of the log. The weights are those
of the last step: the validation text is looked at, but chooses nothing.
"""

import argparse
import hashlib
import io
import json
import math
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_
from tqdm import tqdm

import labkit
from labkit.distributed.gpt import weights
from labkit.distributed.gpt.model import GPT, loss_of
from labkit.distributed.gpt.text import Book, emma
from labkit.distributed.gpt.training import Plan, evaluate
from labkit.errors import in_a_line
from labkit.files import set_aside, write_whole


@dataclass(frozen=True)
class LongPlan(Plan):
    """The arguments that decide the result; nonsense raises ValueError."""

    steps: int = 3000
    sequences: int = 16
    length: int = 128
    learning_rate: float = 2e-3  # at its highest
    warmup: int = 100  # steps until then
    every: int = 250  # steps between two looks at the validation text

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("warmup", "every"):
            value = getattr(self, name)
            if not 1 <= value <= self.steps:
                raise ValueError(f"Plan: {name} is from 1 to {self.steps} steps, not {value}.")

    def rate_of(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        progress = (step - self.warmup) / (self.steps - self.warmup)
        return self.learning_rate * (1 + math.cos(math.pi * progress)) / 2


class Training:
    """The state of a run between two steps; what it holds is what a checkpoint holds."""

    def __init__(self, plan: LongPlan, book: Book) -> None:
        self.plan = plan
        self.book = book
        self.model = GPT(seed=plan.seed)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), betas=(0.9, 0.99))
        self.log: list[dict] = []  # one record for every 250 steps

    @property
    def steps_done(self) -> int:
        return self.log[-1]["step"] if self.log else 0

    def stretch(self) -> dict:
        """Train until the next look at the validation text; returns the record for the log."""
        began = time.perf_counter()
        first = self.steps_done
        last = min(first + self.plan.every, self.plan.steps)
        losses = []
        for step in tqdm(range(first, last), desc=f"to step {last}", unit="step", leave=False):
            losses.append(self.step(step))
        record = {
            "step": last,
            "batch_loss": round(sum(losses) / len(losses), 4),
            "validation_loss": round(self.loss(self.book.validation), 4),
            "seconds": round(time.perf_counter() - began, 1),
        }
        self.log.append(record)
        return record

    def step(self, step: int) -> float:
        """One batch, one update; returns the batch's loss before it."""
        inputs, targets = self.plan.batch_of(step, self.book.train)
        loss = loss_of(self.model(inputs), targets)
        if not torch.isfinite(loss):
            raise ValueError(f"Step {step + 1}: the loss is {loss}; try a smaller --learning-rate.")
        self.optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(self.model.parameters(), max_norm=1.0)
        self.optimizer.param_groups[0]["lr"] = self.plan.rate_of(step)
        self.optimizer.step()
        return loss.item()

    def loss(self, tokens: torch.Tensor) -> float:
        """Mean loss over tokens[T], in nats per character."""
        return evaluate(self.model, tokens, self.plan.length)

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole at any moment."""
        state = {"plan": asdict(self.plan), "log": self.log}
        state |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        content = io.BytesIO()
        torch.save(state, content)
        write_whole(path, content.getvalue())

    def resume(self, path: Path) -> None:
        """Take over a checkpoint. One that is not whole is set aside, and said.

        Raises ValueError if it is of another plan.
        """
        try:
            state = torch.load(path, weights_only=True)
            plan, log = state["plan"], state["log"]
            model, optimizer = state["model"], state["optimizer"]
        except Exception as error:  # half a file fails in every way there is
            reason = f"it lacks {error}" if isinstance(error, KeyError) else in_a_line(error)
            print(f"{path} is not whole ({reason}). It is set aside as {set_aside(path).name}.")
            print("Training starts again at step 1.")
            return
        ours = asdict(self.plan)
        differing = [f"{k} {plan.get(k)} there, {v} here" for k, v in ours.items() if plan[k] != v]
        if differing:
            reason = "; ".join(differing)
            raise ValueError(f"{path} is of another run ({reason}). Choose another --out.")
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        self.log = log
        print(f"Going on after step {self.steps_done}.")


def train(plan: LongPlan, book: Book, out: Path, resume: bool = False) -> dict:
    """Train as planned and write checkpoint, log and weights into `out`; returns the result."""
    training = Training(plan, book)
    checkpoint = out / "checkpoint.pt"
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file; it must be a folder.")
    if checkpoint.exists():
        if not resume:
            raise ValueError(f"{out} holds an earlier run. Add --resume, or choose another --out.")
        training.resume(checkpoint)
    header = {
        "training_characters": len(book.train),
        "validation_characters": len(book.validation),
        "arguments": asdict(plan),
        "threads": torch.get_num_threads(),
        "versions": {
            "torch": torch.__version__,
            "labkit": labkit.__version__,
            "python": platform.python_version(),
        },
    }

    def write_log(*last: dict) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in (header, *training.log, *last))
        write_whole(out / "gpt.log.jsonl", lines.encode())

    while training.steps_done < plan.steps:
        record = training.stretch()
        training.save(checkpoint)
        write_log()
        print(json.dumps(record), flush=True)
    file = out / "gpt.safetensors"
    weights.save(training.model, file)
    result = {
        "result": file.name,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "training_loss": training.loss(book.train),
        "validation_loss": training.loss(book.validation),
    }
    write_log(result)
    return result


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Train the small GPT on its book.")
    parser.add_argument("--steps", type=int, default=LongPlan.steps)
    parser.add_argument("--sequences", type=int, default=LongPlan.sequences, help="per step")
    parser.add_argument("--length", type=int, default=LongPlan.length, help="tokens of each")
    parser.add_argument(
        "--learning-rate", type=float, default=LongPlan.learning_rate, help="at its highest"
    )
    parser.add_argument("--warmup", type=int, default=LongPlan.warmup, help="steps until then")
    parser.add_argument("--every", type=int, default=LongPlan.every, help="steps between two looks")
    parser.add_argument("--seed", type=int, default=LongPlan.seed)
    parser.add_argument("--resume", action="store_true", help="go on after the last checkpoint")
    parser.add_argument("--out", type=Path, required=True, help="folder for everything written")
    given = vars(parser.parse_args(words))
    out, resume = given.pop("out"), given.pop("resume")
    try:
        result = train(LongPlan(**given), emma(), out, resume)
    except (ValueError, OSError) as problem:
        print(f"train_gpt: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. What was saved is kept: add --resume to go on.", file=sys.stderr)
        return 130
    print(
        f"Loss on the validation text: {result['validation_loss']:.4f} nats per character; on the "
        f"training text: {result['training_loss']:.4f}. Weights: {out / result['result']}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
