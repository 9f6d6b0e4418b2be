"""The child process in which Google's TPU compiler runs: it may crash or hang, its parent may not.

    python -m labkit.tpu.compile_worker REQUEST < PROGRAM

REQUEST is JSON (topology, shardings, mesh, donate), PROGRAM what jax.export serialised. The last
line written is JSON: the optimised program with the compiler's counts, or its error. No TPU is
needed and none is touched: the topology is only described.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax
    from jax.sharding import Mesh


def versions() -> str:
    """The compiler by its version, and jax, which hands programs to it."""
    return f"libtpu {version('libtpu')} through jax {version('jax')}"


def compile_program(
    program: bytes,
    topology: str,
    shardings: list | None,
    mesh: dict[str, int] | None = None,
    donate: Sequence[int] = (),
) -> dict:
    """The compiler's answer for one program on `topology`; without shardings, for one device.

    `shardings` has for each array a list: the mesh axis, a list of several, or None, of each of its
    dimensions. `mesh` has the axes with their sizes; None: one axis, "devices". `donate` has the
    arguments whose memory the results may take.
    """
    import jax
    import jax.export

    exported = jax.export.deserialize(program)
    devices = _mesh(topology, everything=bool(shardings), axes=mesh)
    cuts = shardings or [[] for _ in exported.in_avals]
    placed = [
        _placed(aval, cut, devices) for aval, cut in zip(exported.in_avals, cuts, strict=True)
    ]
    arguments, _ = exported.in_tree.unflatten(placed)
    jitted = jax.jit(exported.call, keep_unused=True, donate_argnums=tuple(donate))
    compiled = jitted.lower(*arguments).compile()
    counts = compiled.cost_analysis() or {}
    sizes = compiled.memory_analysis()
    shared = {"alias": sizes.alias_size_in_bytes} if donate else {}
    return {
        "flops": counts.get("flops", 0.0),  # XLA leaves out what it counts as 0
        "bytes_accessed": counts.get("bytes accessed", 0.0),
        "memory": {
            "argument": sizes.argument_size_in_bytes,
            "output": sizes.output_size_in_bytes,
            "temp": sizes.temp_size_in_bytes,
            "generated_code": sizes.generated_code_size_in_bytes,
        }
        | shared,
        "hlo": compiled.as_text(),
    }


def _mesh(topology: str, everything: bool, axes: dict[str, int] | None) -> Mesh:
    """All devices of the topology along these axes or along one, or its first device alone."""
    import numpy as np
    from jax.experimental.topologies import get_topology_desc
    from jax.sharding import Mesh

    one_chip = {"chips_per_host_bounds": (1, 1, 1)} if topology.endswith(":1x1") else {}
    devices = get_topology_desc(topology, "tpu", **one_chip).devices
    chosen = devices if everything else devices[:1]
    axes = axes or {"devices": len(chosen)}
    return Mesh(np.reshape(chosen, tuple(axes.values())), tuple(axes))


def _placed(aval: jax.core.ShapedArray, cut: list, mesh: Mesh) -> jax.ShapeDtypeStruct:
    """An argument without values, cut over the devices of the mesh."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    axes = [tuple(one) if isinstance(one, list) else one for one in cut]
    sharding = NamedSharding(mesh, PartitionSpec(*axes))
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)


if __name__ == "__main__":
    try:
        answer = compile_program(sys.stdin.buffer.read(), **json.loads(sys.argv[1]))
    except Exception as error:  # of XLA: out of memory, or a program it does not take
        answer = {"error": f"{type(error).__name__}: {error}"}
    print("\n" + json.dumps(answer | {"source": f"compiled by {versions()}"}))
