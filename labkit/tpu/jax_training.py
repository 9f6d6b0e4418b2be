"""The same training without TensorFlow: Keras on JAX, data-parallel over all of JAX's devices.

Colab's TPU machines come with JAX and Keras, and without TensorFlow. In a terminal there:

    KERAS_BACKEND=jax python -m labkit.tpu.train --model resnet20 --steps 100 --batch 128

Here each batch is cut along its first axis, and Keras puts all weights on every device; JAX makes
one program of it, with the sums over the devices. BatchNorm's moments are therefore of the whole
batch. Keras chooses its backend once in a process, so a notebook that has TensorFlow runs
this as a script. Lesson training_in_jax says when to take this path; it trains in JAX alone, on
`jax_devices()`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from labkit.hardware import this_machine
from labkit.shapes import fit_integer
from labkit.tpu.device import MOST, VIRTUAL
from labkit.tpu.tracing import NO_TPU
from labkit.tpu.training import Feed, History, divisible, finite, normalised, speed

if TYPE_CHECKING:
    import jax
    from keras import Model
    from keras.distribution import DataParallel
    from keras.optimizers import Optimizer


def jax_devices(most: int = VIRTUAL) -> list[jax.Device]:
    """Up to `most` devices of the TPU, or virtual ones of the CPU, with a line that says which.

    Raises ValueError for a senseless number, ImportError without JAX, and RuntimeError when JAX has
    already started with fewer devices.
    """
    fit_integer("jax_devices", "most", most, 1, MOST)
    if this_machine().has_tpu:
        import jax

        found = jax.devices()[:most]
        print(f"Runs on: {len(found)} TPU device(s) of JAX.")
        return found
    os.environ.update(NO_TPU)  # read when libtpu is loaded
    try:
        import jax
    except ImportError as error:
        raise ImportError("JAX is not installed. Run %pip install -q jax.") from error
    try:
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", max(VIRTUAL, most))
    except RuntimeError:
        pass  # it has started: its devices stay as they are
    found = jax.devices("cpu")[:most]
    if len(found) < most:
        raise RuntimeError(
            f"jax_devices({most}): JAX has already started, with {len(found)} device(s). Restart "
            "the kernel, and call it before anything else of JAX."
        )
    print(f"Runs on: {len(found)} virtual JAX device(s) on this CPU, NOT on a TPU.")
    return found


def strategy(replicas: int | None = None) -> DataParallel:
    """That many of the TPU's devices, or virtual ones of the CPU, with a line that says which.

    None, and more than there are, mean all of the TPU's; on a CPU None means 8. Models made from
    now on are trained on them. Raises ValueError where Keras is not on JAX.
    """
    if replicas is not None:
        fit_integer("strategy", "replicas", replicas, 1, MOST)
    on_cpu = not this_machine().has_tpu
    if on_cpu:  # both variables are read when JAX starts
        replicas = replicas or VIRTUAL
        flag = f"--xla_force_host_platform_device_count={max(VIRTUAL, replicas)}"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
        os.environ["JAX_PLATFORMS"] = "cpu"
    from keras import backend, distribution

    if backend.backend() != "jax":
        raise ValueError("Keras is not on JAX. Set KERAS_BACKEND=jax before Python starts.")
    devices = distribution.list_devices()[:replicas]
    kind = "virtual JAX device(s) on this CPU, NOT on a TPU" if on_cpu else "TPU device(s) of JAX"
    print(f"Runs on: {len(devices)} {kind}.")
    parallel = distribution.DataParallel(devices=devices)
    distribution.set_distribution(parallel)
    return parallel


def train(
    parallel: DataParallel, model: Model, optimizer: Optimizer, feed: Feed, steps: int
) -> History:
    """Train `model` for `steps` global batches of `feed`.

    Raises ValueError for a batch that the devices do not divide, and for a loss that is nan or
    infinite.
    """
    from keras.losses import SparseCategoricalCrossentropy

    model.compile(optimizer, SparseCategoricalCrossentropy(from_logits=True))
    put = sharder(parallel)
    losses = []
    timed_images = 0
    began = None
    for images, labels in islice(feed, steps):
        divisible(len(images), parallel.device_mesh.devices.size)
        model.reset_metrics()  # else Keras's loss is the mean of all steps so far
        weights = np.ones(len(images), np.float32)  # Keras 3.13 cannot cut None into shares
        loss = model.train_on_batch(*put(images, labels, weights))
        losses.append(float(loss))
        finite(len(losses), losses[-1])
        if began is None:
            began = perf_counter()  # the first step is traced and compiled: it is not timed
        else:
            timed_images += len(images)
    seconds = 0.0 if began is None else perf_counter() - began
    return History(0, tuple(losses), speed(timed_images, seconds))


def sharder(parallel: DataParallel) -> Callable:
    """put(images, labels, weights): each share on its device, where the images are normalised.

    Keras would send what lies on the host twice for each step: once to look at it, once to train.
    """
    import jax
    from jax import numpy as jnp
    from keras.distribution import distribute_tensor

    on_device = jax.jit(lambda images: normalised(images.astype(jnp.float32)))

    def put(*arrays: np.ndarray) -> tuple[jax.Array, ...]:
        layouts = [parallel.get_data_layout(one.shape) for one in arrays]
        placed = [distribute_tensor(*pair) for pair in zip(arrays, layouts, strict=True)]
        images, *others = placed
        return on_device(images), *others

    return put
