"""What Google's TPU compiler (XLA, through libtpu) makes of a program; no TPU is needed.

The parent, a notebook's kernel say, only writes the program down; a child process compiles it, so
that a crash of the compiler takes nothing with it. Without a compiler, as on macOS, the committed
snapshot answers. Every number is compiled, none is measured. Lesson 3 of chapter 2 reads them.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from labkit.hardware import machine
from labkit.provenance import Quantity, compiled, predicted
from labkit.tpu import hlo, programs, snapshot

# Multiply-adds a cycle and TensorCores of a chip; a program runs on one TensorCore, or on a v5p or
# later on the whole chip. clock = published peak / (2 * cores * multiply-adds a cycle)
CORES = {"v2": (2, 128**2), "v3": (2, 2 * 128**2), "v4": (2, 4 * 128**2), "v5e": (1, 4 * 128**2)}
CORES |= {"v5p": (1, 8 * 128**2), "v6e": (1, 4 * 256**2)}
CHILD = programs.NO_TPU | {"JAX_PLATFORMS": "cpu"}  # it must not touch a TPU, even where one is


class CompilerError(RuntimeError):
    """The compiler is missing, refused the program, crashed or took too long."""


class TPUOutOfMemory(CompilerError):
    """The program needs more memory than the TPU has. `needed`, `available`: bytes."""

    needed: float
    available: float


def topologies() -> list[str]:
    """What can be compiled for: one chip or four, of v2 to v6e."""
    return [f"{generation}:{chips}" for generation in CORES for chips in ("1x1", "2x2")]


def compile_for_tpu(
    f: Callable,
    shapes: Sequence,
    topology: str = "v5e:1x1",
    *,
    source: str = "auto",
    timeout: float = 300,
    shardings: Sequence | None = None,
) -> "Compiled":
    """Compile `f` for a TPU and return what the compiler says about it.

    `f` is a JAX function, a Keras model or a tf.function; `shapes` one entry for each argument:
    (32, 56, 56, 64), which is bfloat16, or ((1024, 1024), "float32"), or what has a shape and a
    dtype, or a tuple, list or dict of these. It is compiled for one device (a TensorCore of a v2
    to v4, else a chip), unless `shardings` says for each argument which axis is cut over all
    devices of the topology: (("devices",), ()) cuts axis 0 of the first, copies the second.
    `source`: "compiler", "snapshot", or "auto", the compiler where it is installed.

    Raises ValueError for a topology, shapes or a source that cannot be, TPUOutOfMemory,
    CompilerError, and LookupError where the snapshot does not hold this program.
    """
    if topology not in topologies():
        near = ", ".join(get_close_matches(str(topology), topologies(), 3, 0.3) or topologies())
        raise ValueError(f"There is no topology {topology!r}; near it: {near}.")
    if source not in {"auto", "compiler", "snapshot"}:
        raise ValueError(f"source is {source!r}: use 'auto', 'compiler' or 'snapshot'.")
    program = programs.trace(f, shapes, shardings)
    if source == "snapshot" or (source == "auto" and not installed()):
        answer = snapshot.recall(program, topology)
        by = f"snapshot: compiled by {answer.pop('by')} on {answer.pop('date')}"
    else:
        answer = ask(program, topology, timeout)
        by = f"compiled by {answer.pop('by')}"
    if "error" in answer:
        raise _refusal(answer["error"], program.title, topology, by)
    made = read(answer, program.names)
    return Compiled(**made, title=program.title, topology=topology, source=by)


def installed() -> bool:
    """Is the compiler here? LABKIT_TPU_COMPILER=off says no."""
    switched_off = os.environ.get("LABKIT_TPU_COMPILER") == "off"
    return not switched_off and all(map(find_spec, ("jax", "libtpu")))


def ask(program: programs.Program, topology: str, timeout: float = 300) -> dict:
    """What the compiler in a child process says of `program`: its error, or its text and counts."""
    if not installed():
        raise CompilerError(f"Google's TPU compiler is not here. {snapshot.INSTALL}")
    with tempfile.TemporaryDirectory(prefix="labkit-tpu-") as name:
        (Path(name) / "program").write_bytes(program.serialise())
        request = {"topology": topology, "shardings": program.shardings}
        (Path(name) / "request.json").write_text(json.dumps(request))
        command = [sys.executable, "-m", "labkit.tpu.compile_worker", name]
        options = {"capture_output": True, "text": True, "timeout": timeout}
        try:
            done = subprocess.run(command, env=os.environ | CHILD, **options)
        except subprocess.TimeoutExpired:
            raise CompilerError(
                f"The compiler was stopped after {timeout:g} s, its time limit, on {program.title} "
                f"for {topology}. Allow more, timeout={2 * timeout:g}, or take a smaller program."
            ) from None
        if (Path(name) / "answer.json").exists():
            return json.loads((Path(name) / "answer.json").read_text())
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    pair = " with ".join(f"{name} {version(name)}" for name in ("jax", "libtpu"))
    raise CompilerError(
        f"The compiler crashed ({how}): {pair}. Your session goes on. Some pairs crash, as jax "
        "0.7.2 with libtpu 0.0.21.1; jax 0.7.1 with libtpu 0.0.20 works. Install that pair, or "
        f"use source='snapshot'. Its last words: {done.stderr.strip()[-300:] or 'none'}"
    )


def read(answer: dict, names: list[str]) -> dict:
    """The compiler's text as operations, arrays and collectives; the snapshot's is already read."""
    answer |= hlo.read(answer["hlo"], names) if "hlo" in answer else {}
    kinds = {"ops": hlo.Op, "padding": hlo.Array, "collectives": hlo.Collective}
    for field, kind in kinds.items():
        plain = ([tuple(v) if isinstance(v, list) else v for v in one] for one in answer[field])
        answer[field] = [kind(*one) for one in plain]
    return answer


def _refusal(said: str, title: str, topology: str, by: str) -> CompilerError:
    """The compiler's own error as an exception."""
    if not (match := re.search(r"Used ([\d.]+)([KMG]) of ([\d.]+)([KMG]) hbm", said)):
        return CompilerError(f"The compiler refused {title} on {topology}: {said[:500]} ({by})")
    need, have = (float(match[i]) * 1024 ** (1 + "KMG".index(match[i + 1])) for i in (1, 3))
    error = TPUOutOfMemory(
        f"{title} needs {need / 2**30:.2f} GiB of memory; {topology} has {have / 2**30:.2f} GiB. "
        f"Take a smaller batch ({by})."
    )
    error.needed, error.available = need, have
    return error


@dataclass(frozen=True, repr=False, kw_only=True)
class Compiled:
    """What the compiler made of a program. Every number is compiled; `seconds` is predicted."""

    title: str
    topology: str
    source: str  # which compiler, and when if from the snapshot
    ops: list[hlo.Op]  # in the order in which they run
    padding: list[hlo.Array]  # arguments, then what the operations write
    collectives: list[hlo.Collective]
    flops: float  # XLA's own count: a loop's body once
    bytes_accessed: float
    memory: dict[str, int]  # bytes of argument, output, temp, generated_code
    hlo: str | None = None  # the optimised program; None from the snapshot

    @property
    def estimated_cycles(self) -> int | None:
        """The sum over all operations that have an estimate: a lower bound if some have none."""
        known = [op.cycles for op in self.ops if op.cycles is not None]
        return sum(known) if known else None

    @property
    def unestimated(self) -> list[str]:
        """Operations without an estimate: asynchronous copies, collectives, own kernels."""
        return [op.name for op in self.ops if op.cycles is None]

    @property
    def layouts(self) -> dict[str, str]:
        """Name of an array: its tiles, as "T(8,128)(2,1)"."""
        return {one.name: one.layout for one in self.padding}

    @property
    def clock(self) -> float:
        """Hz: the published peak over the arithmetic of one cycle."""
        generation = self.topology.partition(":")[0]
        cores, macs = CORES[generation]
        return float(machine(f"tpu_{generation}").peak["bf16"]) / (2 * cores * macs)

    @property
    def seconds(self) -> Quantity | None:
        """estimated_cycles / clock: without the operations that have no estimate."""
        cycles, said = self.estimated_cycles, f"estimated cycles at {self.clock / 1e9:.2f} GHz"
        return None if cycles is None else predicted(cycles / self.clock, "s", said)

    def quantity(self, name: str) -> Quantity:
        """`name` is "estimated_cycles", "flops", "bytes_accessed" or a kind of memory."""
        units = {"estimated_cycles": "cycles", "flops": "FLOP"}
        value = self.memory[name] if name in self.memory else getattr(self, name)
        return compiled(value, units.get(name, "B"), self.source)

    def __repr__(self) -> str:
        cycles = self.estimated_cycles
        said = "none" if cycles is None else f"{cycles:,} cycles, {self.seconds.number}"
        lines = [f"{self.title} on {self.topology}, {self.source}"]
        lines += [f"  estimated        {said}", f"  arithmetic       {self.flops:,.0f} FLOP"]
        lines += [f"  {name.replace('_', ' '):<16} {n:,} B" for name, n in self.memory.items()]
        top = sorted((op for op in self.ops if op.cycles), key=lambda op: -op.cycles)[:5]
        lines += [f"  {op.cycles:>12,} cycles  {op.kind:<14} {op.layer}" for op in top]
        if self.unestimated:
            lines.append(f"  {len(self.unestimated)} operations without an estimate")
        return "\n".join(lines)
