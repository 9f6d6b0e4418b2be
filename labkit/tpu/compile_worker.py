"""The child process in which Google's TPU compiler runs: it may crash or hang, its parent may not.

    python -m labkit.tpu.compile_worker REQUEST < PROGRAM

REQUEST is JSON (topology, shardings), PROGRAM what jax.export serialised. The last line written is
JSON: the optimised program with the compiler's counts, or its error. No TPU is needed and none is
touched: the topology is only described.
"""

import json
import sys
from importlib.metadata import version


def versions() -> str:
    return f"libtpu {version('libtpu')} through jax {version('jax')}"


def compile_program(program: bytes, topology: str, shardings: list | None) -> dict:
    """The compiler's answer for one program on `topology`; without shardings, for one device."""
    import jax
    import jax.export
    import numpy as np
    from jax.experimental.topologies import get_topology_desc
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    alone = {"chips_per_host_bounds": (1, 1, 1)} if topology.endswith(":1x1") else {}
    devices = np.array(get_topology_desc(topology, "tpu", **alone).devices)
    mesh = Mesh(devices[: len(devices) if shardings else 1], ("devices",))
    exported = jax.export.deserialize(program)
    cuts, arguments = shardings or [()] * len(exported.in_avals), []
    for aval, axes in zip(exported.in_avals, cuts, strict=True):
        place = NamedSharding(mesh, PartitionSpec(*axes))
        arguments.append(jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=place))
    given, _ = exported.in_tree.unflatten(arguments)
    made = jax.jit(exported.call, keep_unused=True).lower(*given).compile()
    counts, sizes = made.cost_analysis() or {}, made.memory_analysis()
    names = ("argument", "output", "temp", "generated_code")
    return {
        "flops": counts.get("flops", 0.0),  # XLA leaves out what it counts as 0
        "bytes_accessed": counts.get("bytes accessed", 0.0),
        "memory": {name: getattr(sizes, f"{name}_size_in_bytes") for name in names},
        "hlo": made.as_text(),
    }


if __name__ == "__main__":
    try:
        answer = compile_program(sys.stdin.buffer.read(), **json.loads(sys.argv[1]))
    except Exception as error:  # of XLA: out of memory, or a program it does not take
        answer = {"error": f"{type(error).__name__}: {error}"}
    print("\n" + json.dumps(answer | {"source": f"compiled by {versions()}"}))
