"""What Google's TPU compiler (XLA, through libtpu) makes of a program; no TPU is needed.

The parent, a notebook's kernel say, only writes the program down; a child process compiles it, so
that a crash of the compiler takes nothing with it. Without a compiler, as on macOS, the committed
snapshot answers. Every number is compiled, none is measured. Lessons
what_the_compiler_makes_of_a_layer and what_a_training_step_costs read them.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.util import find_spec
from math import prod
from pathlib import Path

from labkit.hardware import machine
from labkit.provenance import Quantity, predicted
from labkit.tpu import bundles as dumps
from labkit.tpu import hlo, snapshot, tracing
from labkit.tpu.compile_worker import versions

# A program runs on one TensorCore of a chip, or on a v5p or later on the whole chip.
# clock = published peak / (2 * cores * multiply-adds a cycle)
UNITS = {  # generation: matrix units of what a program runs on, rows and columns of each
    "v2": (1, 128),
    "v3": (2, 128),
    "v4": (4, 128),
    "v5e": (4, 128),
    "v5p": (8, 128),
    "v6e": (4, 256),  # Google names two, but compiled products take more than two could do
}
CORES = {  # generation: cores of a chip, multiply-adds a cycle of a core
    generation: (2 if generation in ("v2", "v3", "v4") else 1, units * size**2)
    for generation, (units, size) in UNITS.items()
}
PATIENCE = 600.0  # seconds for one program: this only ends a hang
CHILD = tracing.NO_TPU | {"JAX_PLATFORMS": "cpu"}  # it must not touch a TPU, even where one is


class CompilerError(RuntimeError):
    """The compiler is missing, refused the program, crashed or took too long."""


class CompilerCrash(CompilerError):
    """The compiler's process ended in the middle: some pairs of libtpu and jax do that."""


class TPUOutOfMemory(CompilerError):
    """The program needs more memory than the TPU has, or a kernel more VMEM."""


def topologies() -> list[str]:
    """What can be compiled for: one chip or four, of v2 to v6e."""
    return [f"{generation}:{chips}" for generation in CORES for chips in ("1x1", "2x2")]


def compile_for_tpu(
    f: Callable,
    shapes: Sequence,
    topology: str = "v5e:1x1",
    *,
    source: str = "auto",
    timeout: float = PATIENCE,
    shardings: Sequence | None = None,
    mesh: Mapping[str, int] | None = None,
    donate: Sequence[int] = (),
    bundles: bool = False,
) -> "Compiled":
    """Compile `f` for a TPU and return what the compiler says about it.

    `f` is a JAX function, a Keras model or a tf.function; `shapes` one entry for each argument:
    (32, 56, 56, 64), which is bfloat16, or ((1024, 1024), "float32"), or what has a shape and a
    dtype, or a tuple, list or dict of these. It is compiled for one device (a TensorCore of a v2
    to v4, else a chip), unless `shardings` says for each argument which axis is cut over all
    devices of the topology: (("devices",), ()) cuts axis 0 of the first, copies the second. With
    `mesh={"data": 2, "model": 2}` the devices have two axes with these names, and a sharding may be
    a PartitionSpec. `f` may be a `jax.shard_map` over a `jax.sharding.AbstractMesh` of this form.
    `donate` names the arguments, from 0, whose memory the results may take (donate_argnums); how
    much they do take is `memory["alias"]`.
    `source`: "compiler", "snapshot", or "auto", the compiler where it is installed and, should it
    crash, what the snapshot has of this program; the answer's `source` says which it was.
    With `bundles`, `kernels` says how long each Pallas kernel in `f` is (labkit.tpu.bundles).

    Raises ValueError for a topology, shapes, mesh or source that cannot be, TPUOutOfMemory,
    CompilerError, and LookupError where the snapshot does not hold this program.
    """
    if topology not in topologies():
        near = get_close_matches(str(topology), topologies(), 3, 0.3) or topologies()
        raise ValueError(f"There is no topology {topology!r}; near it: {', '.join(near)}.")
    if source not in ("auto", "compiler", "snapshot"):
        raise ValueError(f"source is {source!r}: use 'auto', 'compiler' or 'snapshot'.")
    if not timeout > 0:
        raise ValueError(f"timeout is {timeout}; it must be more than 0 seconds.")
    _check_mesh(mesh, shardings, topology)
    program = tracing.trace(f, shapes, shardings, mesh, donate)
    if source == "snapshot" or (source == "auto" and not installed()):
        answer = snapshot.recall(program.fingerprint, topology, program.title, bundles)
    else:
        try:
            answer = ask(program, topology, timeout, bundles)
        except CompilerCrash:
            if source == "auto":
                with suppress(LookupError):
                    return report(
                        snapshot.recall(program.fingerprint, topology, program.title, bundles)
                    )
            raise
    return report(answer)


def _check_mesh(mesh: Mapping | None, shardings: Sequence | None, topology: str) -> None:
    """Raises ValueError for a mesh that the topology cannot have."""
    if mesh is None:
        return
    chips = topology.partition(":")[2].split("x")
    devices = int(chips[0]) * int(chips[1])
    if topology.startswith(("v2", "v3")):
        devices *= 2  # each core is a device
    if shardings is None:
        raise ValueError("A mesh needs shardings, which say what is cut along its axes.")
    if prod(mesh.values()) != devices:
        sizes = " x ".join(map(str, mesh.values()))
        raise ValueError(f"A mesh of {sizes} does not have the {devices} devices of {topology}.")


def recall(name: str, topology: str) -> "Compiled":
    """The snapshot's answer for a program too large for a lesson, which it stores by its name.

    tools/tpu_resnet.py has the program. Its operations are summed by their kind, and its arrays
    left out. Raises TPUOutOfMemory, CompilerError, and LookupError for a name that is not stored.
    """
    return report(snapshot.recall(name, topology, name))


def installed() -> bool:
    """Is the compiler here? LABKIT_TPU_COMPILER=off says no."""
    switched_off = os.environ.get("LABKIT_TPU_COMPILER") == "off"
    return not switched_off and all(map(find_spec, ("jax", "libtpu")))


def ask(
    program: tracing.TracedProgram,
    topology: str,
    timeout: float = PATIENCE,
    bundles: bool = False,
) -> dict:
    """What the compiler in a child process says of `program`: its error, or Compiled's fields.

    With `bundles` it also dumps its text, and the kernels in it are read.

    Raises CompilerError where the compiler is missing, crashes or takes longer than `timeout` s.
    """
    if not installed():
        said = f"Google's TPU compiler is not here. {snapshot.INSTALL}"
        raise CompilerError(f"{said}; elsewhere use source='snapshot'.")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | CHILD
        if bundles:
            environment["LIBTPU_INIT_ARGS"] = dumps.flags(Path(folder))
        answer = _answer_of_child(program, topology, timeout, environment)
        if bundles and "error" not in answer:
            answer["kernels"] = dumps.kernels_in(Path(folder))
    if "hlo" in answer:
        answer |= hlo.parse(answer["hlo"], program.names)
    return answer | {"title": program.title, "topology": topology}


def _answer_of_child(
    program: tracing.TracedProgram, topology: str, timeout: float, environment: dict
) -> dict:
    asked = {
        "topology": topology,
        "shardings": program.shardings,
        "mesh": program.mesh,
        "donate": program.donate,
    }
    request = json.dumps(asked)
    command = [sys.executable, "-P", "-m", "labkit.tpu.compile_worker", request]
    options = {"capture_output": True, "timeout": timeout, "env": environment}
    try:
        done = subprocess.run(command, input=program.serialise(), **options)
    except subprocess.TimeoutExpired:
        more = f"Allow more, timeout={2 * timeout:g}, or take a smaller program"
        said = f"The compiler was stopped after {timeout:g} s, its time limit, on {program.title}"
        raise CompilerError(f"{said} for {topology}. {more}.") from None
    if done.returncode:
        raise _crash(done)
    return json.loads(done.stdout.splitlines()[-1])


def _crash(done: subprocess.CompletedProcess) -> CompilerCrash:
    """How the child process ended, and what can be done."""
    code = done.returncode
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    words = done.stderr.decode(errors="replace").strip()[-300:] or "none"
    return CompilerCrash(
        f"The compiler crashed ({how}): {versions()}. Your session goes on. Some pairs crash: "
        "if these are not libtpu 0.0.20 and jax 0.7.1, install those; if they are, take a "
        f"smaller program or source='snapshot'. Its last words: {words}"
    )


def report(answer: dict) -> "Compiled":
    """The answer of `ask` or of the snapshot, or the compiler's own error as an exception.

    Raises TPUOutOfMemory and CompilerError.
    """
    if "error" not in answer:
        return Compiled(**answer)
    title = answer["title"]
    topology = answer["topology"]
    error = answer["error"]
    source = answer["source"]
    if used := re.search(r"Used (\S+)([KMG]) of (\S+)([KMG]) hbm", error):
        need = f"{used[1]} {used[2]}iB of memory"
        have = f"{used[3]} {used[4]}iB"
        said = f"{title} needs {need}; {topology} has {have}. Take a smaller batch"
        raise TPUOutOfMemory(f"{said} ({source}).")
    if scoped := re.search(r"Scoped allocation with size .*? by [\d.]+[KMG]?", error):
        said = f"A kernel of {title} needs more VMEM than {topology} gives it. {scoped[0]}"
        raise TPUOutOfMemory(f"{said}. Take smaller blocks ({source}).")
    raise CompilerError(f"The compiler refused {title} on {topology}: {error[:500]} ({source})")


@dataclass(frozen=True, repr=False, kw_only=True)
class Compiled:
    """What the compiler made of a program. Every number is compiled; `seconds` is predicted."""

    title: str
    topology: str
    source: str  # which compiler, and when if from the snapshot
    ops: list[hlo.Op]  # in the order in which they run
    padding: list[hlo.Array]  # arguments, then what the operations write
    collectives: list[hlo.Collective]
    flops: float  # XLA's own count: a loop's body once, and no sine or exponential
    bytes_accessed: float
    # bytes of argument, output, temp, generated_code; of a program that donates, of alias: what
    # of the output lies in an argument's place
    memory: dict[str, int]
    hlo: str | None = None  # the optimised program; None from the snapshot
    kernels: list[dumps.KernelBundles] = field(default_factory=list)  # if asked for: bundles=True

    @property
    def estimated_cycles(self) -> int | None:
        """The sum over all operations that have an estimate: a lower bound if some have none."""
        known = [op.cycles for op in self.ops if op.cycles is not None]
        return sum(known) if known else None

    @property
    def unestimated(self) -> int:
        """How many operations have none: asynchronous copies, collectives, own kernels."""
        return sum(op.count for op in self.ops if op.cycles is None)

    @property
    def clock(self) -> float:
        """Hz: the published peak over the arithmetic of one cycle."""
        generation = self.topology.partition(":")[0]
        cores, macs = CORES[generation]
        return float(machine(f"tpu_{generation}").peak["bf16"]) / (2 * cores * macs)

    @property
    def seconds(self) -> Quantity | None:
        """estimated_cycles / clock: without the operations that have no estimate."""
        cycles = self.estimated_cycles
        if cycles is None:
            return None
        said = f"estimated cycles at {self.clock / 1e9:.2f} GHz"
        return predicted(cycles / self.clock, "s", said)

    def __repr__(self) -> str:
        known = sorted((op for op in self.ops if op.cycles), key=lambda op: -op.cycles)
        estimate = "none"
        if known:
            estimate = f"{self.estimated_cycles:,} cycles, {self.seconds.number} (predicted)"
        lines = [
            f"{self.title} on {self.topology}",
            f"  {self.source}",
            f"  estimated        {estimate}",
            f"  arithmetic       {self.flops:,.0f} FLOP",
        ]
        for name, size in self.memory.items():
            lines.append(f"  {name.replace('_', ' '):<16} {size:,} B")
        for op in known[:5]:
            lines.append(f"  {op.cycles:>12,} cycles  {op.kind:<14} {op.layer}")
        if self.unestimated:
            lines.append(f"  operations without an estimate: {self.unestimated}")
        return "\n".join(lines)
