"""Train a network of the chapter, on a TPU or on virtual replicas of the CPU, with one script:

    python -m labkit.tpu.train --model resnet20 --steps 100 --batch 128 --checkpoint runs/resnet20

The same command again goes on where the last checkpoint was made. On a TPU the arithmetic is
bfloat16, and float32 on a CPU. With KERAS_BACKEND=jax in the environment it needs no TensorFlow,
and makes no checkpoints. Lesson 4 of the TPU chapter explains the loop.
"""

import argparse
import os
import sys
from contextlib import nullcontext

from labkit.datasets import cifar10
from labkit.hardware import this_machine
from labkit.tpu import jax_training, models, training
from labkit.tpu.device import strategy

MODELS = {"convnet": models.convnet, "resnet20": models.resnet20, "resnet50": models.resnet50}


def run(a: argparse.Namespace) -> training.History:
    """Train as the command line says."""
    on_jax = os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow"
    if on_jax and a.checkpoint:
        raise ValueError("There are no checkpoints on JAX. Leave --checkpoint out.")
    machine = jax_training.strategy(a.replicas) if on_jax else strategy(a.replicas)
    import keras

    keras.utils.set_random_seed(a.seed)
    dtype = "mixed_bfloat16" if this_machine().has_tpu else "float32"
    images = cifar10(a.data).train
    with nullcontext() if on_jax else machine.scope():
        model, optimizer = MODELS[a.model](dtype=dtype), keras.optimizers.SGD(a.lr, 0.9)
    if on_jax:
        feed = training.shuffled(images, a.batch, a.seed)
        return jax_training.train(machine, model, optimizer, feed, a.steps)
    data, kept = training.batches(images, a.batch, a.seed), (a.checkpoint, a.every)
    return training.train(machine, model, optimizer, data, a.steps, *kept, report=print)


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser("python -m labkit.tpu.train", None, "Train on replicas.")
    parser.add_argument("--model", choices=MODELS, default="resnet20")
    parser.add_argument("--steps", type=int, default=100, help="steps of the whole run")
    parser.add_argument("--batch", type=int, default=128, help="images per step, over all replicas")
    parser.add_argument("--lr", type=float, default=0.01, help="learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", choices=("auto", "full", "sample"), default="auto")
    parser.add_argument("--replicas", type=int, help="if left out: all TPU cores, or 8")
    parser.add_argument("--checkpoint", help="folder to save the state in, and to resume from")
    parser.add_argument("--every", type=int, default=50, help="steps between two checkpoints")
    try:
        history = run(parser.parse_args(words))
    except (ValueError, OSError, RuntimeError, ImportError) as problem:
        print(f"labkit.tpu.train: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. With --checkpoint the same command goes on from the last.", file=sys.stderr)
        return 130
    print(*(f"{loss:.9g}" for loss in history.losses), sep="\n")
    print(f"{len(history.losses)} step(s), {history.images_per_second or 'too few to time'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
