"""The child process in which Google's TPU compiler runs: it may crash or hang, its parent may not.

    python -m labkit.tpu.compile_worker FOLDER

reads FOLDER/request.json (topology, shardings) and FOLDER/program (what jax.export serialised) and
writes FOLDER/answer.json: the optimised program with the compiler's counts, or its error. No TPU
is needed and none is touched: the topology is only described.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path


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
    made = jax.jit(exported.call, keep_unused=True).lower(*arguments).compile()
    cost, memory = made.cost_analysis(), made.memory_analysis()
    names = ("argument", "output", "temp", "generated_code")
    memory = {name: getattr(memory, f"{name}_size_in_bytes") for name in names}
    counts = {"flops": cost["flops"], "bytes_accessed": cost["bytes accessed"], "memory": memory}
    return counts | {"hlo": made.as_text()}


def main(folder: Path) -> None:
    request = json.loads((folder / "request.json").read_text())
    try:
        answer = compile_program((folder / "program").read_bytes(), **request)
    except Exception as error:  # of XLA: out of memory, or a program it does not take
        answer = {"error": f"{type(error).__name__}: {error}"}
    answer["by"] = f"libtpu {version('libtpu')} through jax {version('jax')}"
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
