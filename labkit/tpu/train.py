"""Train a network of the chapter, on a TPU or on virtual replicas of the CPU, with one script:

    python -m labkit.tpu.train --model resnet20 --steps 100 --batch 128 --checkpoint runs/resnet20

The same command again goes on where the last checkpoint was made. On a TPU the arithmetic is
bfloat16, and float32 on a CPU. With KERAS_BACKEND=jax in the environment it needs no TensorFlow,
and makes no checkpoints. Lesson training_on_a_tpu explains the loop.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from labkit.datasets import cifar10
from labkit.hardware import this_machine
from labkit.tpu import jax_training, models, training
from labkit.tpu.device import strategy

if TYPE_CHECKING:
    from keras import Model
    from keras.optimizers import Optimizer

    from labkit.cifar10_files import Split

MODELS = {"convnet": models.convnet, "resnet20": models.resnet20, "resnet50": models.resnet50}


def run(options: argparse.Namespace) -> training.History:
    """Train as the command line says. Raises ValueError for options that do not go together."""
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend == "tensorflow":
        return _run_on_tensorflow(options)
    if options.checkpoint:
        raise ValueError("There are no checkpoints on JAX. Leave --checkpoint out.")
    return _run_on_jax(options)


def _run_on_tensorflow(options: argparse.Namespace) -> training.History:
    replicas = strategy(options.replicas)
    images = _seeded_images(options)
    with replicas.scope():
        model, optimizer = _made(options)
    return training.train(
        replicas,
        model,
        optimizer,
        training.batches(images, options.batch, options.seed),
        options.steps,
        options.checkpoint,
        options.every,
        report=print,
    )


def _run_on_jax(options: argparse.Namespace) -> training.History:
    devices = jax_training.strategy(options.replicas)
    images = _seeded_images(options)
    model, optimizer = _made(options)
    feed = training.shuffled(images, options.batch, options.seed)
    return jax_training.train(devices, model, optimizer, feed, options.steps)


def _seeded_images(options: argparse.Namespace) -> Split:
    """The images to train on, when the seed of all random weights is set."""
    import keras

    keras.utils.set_random_seed(options.seed)
    return cifar10(options.data).train


def _made(options: argparse.Namespace) -> tuple[Model, Optimizer]:
    """The network, in bfloat16 on a TPU, and SGD with momentum."""
    import keras

    dtype = "mixed_bfloat16" if this_machine().has_tpu else "float32"
    model = MODELS[options.model](dtype=dtype)
    return model, keras.optimizers.SGD(options.lr, momentum=0.9)


def _parser() -> argparse.ArgumentParser:
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
    return parser


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    try:
        history = run(_parser().parse_args(words))
    except (ValueError, OSError, RuntimeError, ImportError) as problem:
        print(f"labkit.tpu.train: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. With --checkpoint the same command goes on from the last.", file=sys.stderr)
        return 130
    print("\n".join(f"{loss:.9g}" for loss in history.losses))
    print(f"{len(history.losses)} step(s), {history.images_per_second or 'too few to time'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
