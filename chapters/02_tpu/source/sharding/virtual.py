"""Eight virtual devices of this CPU for JAX, and small reports on what each of them holds.

JAX fixes the number of its devices when it starts, so `devices` comes before any other use of it.
Lesson sharding shows what runs on them.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from labkit import figures
from labkit.provenance import counted
from labkit.tpu.tracing import NO_TPU

DEVICES = 8


def devices() -> list:
    """Eight virtual devices of this CPU, and a line that says so.

    Raises RuntimeError where JAX has already started with fewer.
    """
    os.environ.update(NO_TPU)  # else libtpu asks around for a TPU, aloud
    import jax

    try:
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", DEVICES)
    except RuntimeError:
        pass  # it has started: its devices stay as they are
    found = jax.devices("cpu")
    if len(found) < DEVICES:
        raise RuntimeError(
            f"JAX has already started, with {len(found)} device(s) of this CPU; this lesson needs "
            f"{DEVICES}. Restart the kernel, and run the cells from the top."
        )
    print(f"Runs on: {DEVICES} virtual devices of this CPU, NOT on a TPU.")
    return found[:DEVICES]


def shards(placed: object) -> Iterator[tuple[dict[str, int], np.ndarray]]:
    """Of each device: its place along the axes of the mesh, and the block that it holds."""
    mesh = placed.sharding.mesh
    for shard in placed.addressable_shards:
        where = np.argwhere(mesh.device_ids == shard.device.id)[0]
        yield dict(zip(mesh.axis_names, where.tolist(), strict=True)), np.asarray(shard.data)


def sums_in(function: Callable, *arguments: np.ndarray) -> str:
    """The sums over devices in the program that JAX makes of the function, by their names."""
    import jax

    program = str(jax.make_jaxpr(function)(*arguments))
    names = dict.fromkeys(re.findall(r"= (p(?:sum|mean)\w*)\[", program))
    return ", ".join(names) or "none"


def held(array: np.ndarray, shardings: Mapping[str, object]) -> None:
    """A table of what devices hold of an array for each sharding, as JAX places it."""
    import jax

    rows = []
    for name, sharding in shardings.items():
        shards = jax.device_put(array, sharding).addressable_shards
        blocks = {str(shard.index) for shard in shards}
        each = {shard.data.shape for shard in shards}
        total = sum(shard.data.nbytes for shard in shards)
        shape = " x ".join(map(str, each.pop()))
        rows.append([name, shape, len(blocks), counted(total / 2**20, "MiB", "JAX's shards")])
    heads = ["spec", "each device holds", "different blocks", "all devices together"]
    figures.table(heads, rows)


def results(
    functions: Mapping[str, Callable], mesh: object, array: np.ndarray, axis: str, cut: object
) -> None:
    """A table of what each device has after each of the functions, given its part of `array`."""
    import jax

    rows = []
    for name, function in functions.items():
        whole = jax.shard_map(function, mesh=mesh, in_specs=cut, out_specs=cut, check_vma=False)
        shards = sorted(whole(array).addressable_shards, key=lambda shard: shard.device.id)
        rows.append([name, *(_numbers(shard.data) for shard in shards)])
    parts = jax.device_put(array, jax.sharding.NamedSharding(mesh, cut)).addressable_shards
    rows.insert(0, ["nothing yet", *(_numbers(shard.data) for shard in parts)])
    figures.table(["after", *(f"device {i}" for i in range(mesh.shape[axis]))], rows)


def _numbers(block: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in np.ravel(block))
