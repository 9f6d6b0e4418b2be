"""The same training without TensorFlow: Keras on JAX, data-parallel over all of JAX's devices.

Colab's TPU machines come with JAX and Keras, and without TensorFlow. In a terminal there:

    KERAS_BACKEND=jax python -m labkit.tpu.train --model resnet20 --steps 100 --batch 128

JAX divides one program over the devices: the batch is cut along its first axis, the weights are on
every device, and the compiler puts in the sums over the devices. BatchNorm's moments are therefore
of the whole batch. Keras chooses its backend once in a process, so a notebook that has TensorFlow
runs this as a script. Lesson 4 of the TPU chapter says when to take this path.
"""

import os
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from labkit.hardware import this_machine
from labkit.provenance import measured
from labkit.tpu.training import History

if TYPE_CHECKING:
    import jax
    import keras


def devices(replicas: int) -> "list[jax.Device]":
    """The TPU's devices, or that many virtual ones of the CPU, with a line that says which."""
    if on_cpu := not this_machine().has_tpu:  # both variables are read when JAX starts
        flag = f"--xla_force_host_platform_device_count={replicas}"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    kind = "virtual JAX device(s) on this CPU, NOT on a TPU" if on_cpu else "TPU device(s) of JAX"
    print(f"Runs on: {jax.device_count()} {kind}.")
    return jax.devices()


def train(
    devices: "list[jax.Device]",
    model: "keras.Model",
    optimizer: "keras.optimizers.Optimizer",
    feed: Iterator[tuple[np.ndarray, np.ndarray]],
    steps: int,
) -> History:
    """Train `model` for `steps` global batches of `feed`.

    Raises ValueError where Keras does not run on JAX, or a batch does not divide by the devices.
    """
    import jax
    import keras
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    if keras.backend.backend() != "jax":
        raise ValueError("Keras is not on JAX. Set KERAS_BACKEND=jax before Python starts.")
    mesh = Mesh(np.array(devices), ("batch",))
    whole, cut = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), ("batch",)))
    optimizer.build(model.trainable_variables)
    sets = model.trainable_variables, model.non_trainable_variables, optimizer.variables
    state = jax.device_put(tuple([v.value for v in variables] for variables in sets), whole)
    step, losses = compiled_step(model, optimizer), []
    for _ in range(steps):
        x, labels = next(feed)
        if len(x) % len(devices):
            raise ValueError(f"A batch of {len(x)} does not divide into {len(devices)} shares.")
        state, loss = step(state, *jax.device_put((x, labels), cut))
        losses.append(loss)  # not yet a number: JAX runs ahead of Python
        if len(losses) == 1:
            loss.block_until_ready()
            began = perf_counter()  # the first step compiles
    losses = tuple(float(loss) for loss in losses)
    for variables, values in zip(sets, state, strict=True):
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
    timed = (steps - 1) * len(x) if steps else 0
    rate = measured(timed / (perf_counter() - began), "images/s") if timed else None
    return History(0, losses, rate)


def compiled_step(
    model: "keras.Model", optimizer: "keras.optimizers.Optimizer"
) -> "jax.stages.Wrapped":
    """step(state, x, labels) -> the new state and the mean loss before the update."""
    import jax

    def loss(trained: list, others: list, x: "jax.Array", labels: "jax.Array") -> tuple:
        logits, others = model.stateless_call(trained, others, x, training=True)
        each = -jax.nn.log_softmax(logits)[np.arange(len(x)), labels]
        return each.mean(), others

    @jax.jit
    def step(state: tuple, x: "jax.Array", labels: "jax.Array") -> tuple:
        trained, others, slots = state
        differentiate = jax.value_and_grad(loss, has_aux=True)
        (mean, others), gradients = differentiate(trained, others, x, labels)
        trained, slots = optimizer.stateless_apply(slots, gradients, trained)
        return (trained, others, slots), mean

    return step
