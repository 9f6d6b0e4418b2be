"""Train with ever larger batches: python tools/cluster/large_batches.py --out FILE

Seven batch sizes, three rules for the learning rate and two seeds, at equal epochs, on one thread;
about four minutes. The log has one JSON object per line: what was trained, then every run.
`labkit/distributed/large_batches.py` reads it; lesson fewer_bytes shows it.
"""

import argparse
import json
import math
import platform
import sys
from pathlib import Path

import torch

import labkit
from labkit.distributed import large_batches, small_training
from labkit.distributed.small_training import Plan, Run


def header() -> dict:
    """The log's first line."""
    parameters = sum(weight.numel() for weight in small_training.network().parameters())
    return {
        "network": "small_training.network",
        "data": "sample, shrunk to 16 x 16",
        "train_images": large_batches.IMAGES,
        "optimiser": "SGD without momentum",
        "epochs": small_training.EPOCHS,
        "base_batch": small_training.BASE_BATCH,
        "base_learning_rate": small_training.BASE_RATE,
        "warm_up_epochs": small_training.WARM_UP,
        "gradient_bytes": 4 * parameters,
        "ranks": large_batches.RANKS,
        "threads": torch.get_num_threads(),
        "versions": {
            "torch": torch.__version__,
            "labkit": labkit.__version__,
            "python": platform.python_version(),
        },
    }


def record(rule: str, run: Run, gradient_bytes: int) -> dict:
    """A line of the log."""
    plan: Plan = run.plan
    return {
        "rule": rule,
        "batch": plan.batch,
        "seed": plan.seed,
        "learning_rate": plan.learning_rate,
        "warm_up": plan.warm_up,
        "steps": run.steps,
        "losses": [round(loss, 4) for loss in run.losses],
        "loss": round(run.loss, 4) if math.isfinite(run.loss) else None,
        "accuracy": round(run.accuracy, 4),
        "bytes_per_sample": large_batches.bytes_per_sample(plan.batch, gradient_bytes),
    }


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Train with ever larger batches.")
    parser.add_argument("--out", type=Path, required=True, help="the log")
    parser.add_argument("--batches", type=int, nargs="+", default=large_batches.BATCHES)
    parser.add_argument("--seeds", type=int, nargs="+", default=large_batches.SEEDS)
    chosen = parser.parse_args(words)
    torch.set_num_threads(1)
    first = header()
    lines = [first]
    try:
        for seed in chosen.seeds:
            for rule in small_training.RULES:
                for batch in chosen.batches:
                    run = small_training.train(small_training.plan_by(rule, batch, seed=seed))
                    lines.append(record(rule, run, first["gradient_bytes"]))
                    print(json.dumps(lines[-1] | {"losses": len(run.losses)}), flush=True)
        chosen.out.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    except (ValueError, OSError) as problem:
        print(f"large_batches: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
