"""Reading the text of an optimised TPU program (HLO): its operations, their cycles, their layouts.

The text is a list of computations; ENTRY runs, one instruction after the other. An instruction is
`%name = SHAPE{LAYOUT} opcode(operands), attributes`. The compiler writes "estimated_cycles" on an
instruction of ENTRY for everything inside it, so what lies within a counted one is not read again;
the body of a while loop is not counted, since its trips are not written.
"""

import re
from math import prod
from typing import NamedTuple


class Instruction(NamedTuple):
    """One line of a computation, in its parts."""

    name: str
    shape: str  # with its layout: "bf16[8,128]{1,0:T(8,128)(2,1)}", or several in parentheses
    opcode: str
    rest: str  # operands and attributes


class Op(NamedTuple):
    """An operation that the program runs."""

    name: str
    kind: str  # "convolution" or "matmul" on the matrix unit, else the last thing that is done
    cycles: int | None  # None if the compiler writes none
    layer: str  # where in the learner's program it comes from: "conv1/max"
    count: int = 1  # more where several operations are summed up


class Collective(NamedTuple):
    """An operation in which devices exchange data."""

    kind: str
    shape: str
    bytes: int
    group: int  # how many devices take part; 0 where it is not said


class Array(NamedTuple):
    """An array as it lies in the TPU's memory; `order`: its dimensions, the fastest first."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    order: str
    layout: str  # "T(8,128)(2,1)": cut into tiles of 8 x 128, those into 2 x 1
    memory: str  # "HBM", or "VMEM" on the chip
    logical_bytes: int
    padded_bytes: int

    @property
    def waste(self) -> float:
        """The share of its bytes that only fills up tiles."""
        return 1 - self.logical_bytes / self.padded_bytes

    @property
    def axes(self) -> tuple[int, ...]:
        """`order` as numbers: (1, 0) where axis 1 is the fastest of two."""
        return tuple(int(axis) for axis in self.order.split(",") if axis)

    @property
    def tile(self) -> tuple[int, ...]:
        """The sizes of the tiles that the array is cut into: (8, 128), the fastest axis last.

        What cuts these tiles once more, such as (2,1), is left out; () where there are no tiles.
        """
        first = re.search(r"\(([\d,]+)\)", self.layout)
        return tuple(int(n) for n in first[1].split(",")) if first else ()


# What costs nothing when it runs.
_FREE = {
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "after-all",
    "partition-id",
    "replica-id",
}
_COLLECTIVE = re.compile("all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute")
_SCATTER = "all-reduce-scatter"  # XLA's fusion of an all-reduce and the part that a device keeps
_COMPUTATION = re.compile(r"(ENTRY )?%?(\S+) .*\{$")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?(\S+) = (.*?) ([a-z][\w-]*)\((.*)")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{([^}]*)\})?")  # dtype[dims]{layout}


def parse(text: str, arguments: list[str]) -> dict[str, list]:
    """{"ops", "padding", "collectives"} of a program whose arguments have these names.

    ops          every `Op`, in the order in which they run
    padding      an `Array` for each argument, then for what the operations write
    collectives  every `Collective` once, also those within other computations

    An operation has no estimate if it is a copy that runs beside the arithmetic, a collective, a
    loop, a branch or a kernel of one's own.
    """
    found = computations(text)
    entry = found["ENTRY"]
    running = [one for one in entry if _runs(one)]
    every = [one for name, block in found.items() for one in block if _SCATTER not in name]
    return {
        "ops": [_op(one, found) for one in running],
        "padding": _given(entry, arguments) + _written(running),
        "collectives": _collectives(every) + _scatters(every, found),
    }


def computations(text: str) -> dict[str, list[Instruction]]:
    """Every computation with its instructions, under its name; the one that runs as "ENTRY"."""
    found: dict[str, list[Instruction]] = {}
    for line in text.splitlines():
        if match := _COMPUTATION.match(line):
            entry, name = match.groups()
            current = found.setdefault("ENTRY" if entry else name, [])
        elif match := _INSTRUCTION.match(line):
            current.append(Instruction(*match.groups()))
    return found


def _runs(one: Instruction) -> bool:
    """Is it an operation? What ends an asynchronous one, "copy-done", is none of its own."""
    return one.opcode not in _FREE and not one.opcode.endswith("-done")


def _op(one: Instruction, bodies: dict[str, list[Instruction]]) -> Op:
    estimate = re.search(r'"estimated_cycles":"(\d+)"', one.rest)
    cycles = int(estimate[1]) if estimate else None
    return Op(one.name, _kind(one, bodies), cycles, _layer(one))


def _given(entry: list[Instruction], arguments: list[str]) -> list[Array]:
    """The arguments, in their order; the text has them in another."""
    given = {}
    for one in entry:
        if one.opcode == "parameter":
            number = int(re.match(r"\d+", one.rest)[0])
            given[number] = arrays(one, arguments[number])[0]
    return [given[number] for number in sorted(given)]


def _written(running: list[Instruction]) -> list[Array]:
    """What the operations write, save those that have only started."""
    written = []
    for one in running:
        if not one.opcode.endswith("-start"):
            written += arrays(one, _layer(one) or one.name)
    return written


def _kind(one: Instruction, bodies: dict[str, list[Instruction]]) -> str:
    """ "convolution" or "matmul" where the matrix unit works, else the last thing that is done."""
    if one.opcode == "convolution":  # a matmul is one without a window
        return "convolution" if "window={" in one.rest else "matmul"
    called = re.search(r"calls=%?([\w.-]+)", one.rest)
    if not called:
        return one.opcode
    kinds = [_kind(part, bodies) for part in bodies[called[1]] if part.opcode not in _FREE]
    for kind in kinds:
        if kind in ("convolution", "matmul"):
            return kind
    return kinds[-1] if kinds else one.opcode


def _layer(one: Instruction) -> str:
    """Where in the learner's program it comes from: "conv1/max"."""
    path = re.search(r'op_name="([^"]*)"', one.rest)
    parts = path[1].split("/") if path else []
    return "/".join(part for part in parts if not re.match(r"p?jit\(|call_exported", part))


def arrays(one: Instruction, name: str) -> list[Array]:
    """What the instruction writes: one array, or several, all under this name."""
    return [array(name, *parts) for parts in _ARRAY.findall(one.shape)]


def array(name: str, dtype: str, dims: str, layout: str) -> Array:
    """One array as it lies in memory. 1,0:T(8,128)(2,1): dimension 1 varies fastest, 0 next; cut
    into tiles of 8 x 128, those into 2 x 1; every dimension is filled up to whole tiles.

    padded bytes = product of the dimensions so rounded up * bytes of an element
    """
    shape = tuple(int(n) for n in dims.split(",") if n)
    order, _, rest = layout.partition(":")
    tiles, _, memory = rest.partition("S(")  # S(1): the vector memory on the chip
    slowest_first = [shape[int(i)] for i in reversed(order.split(",")) if i]
    bits = 8 if dtype == "pred" else int(re.search(r"\d+", dtype)[0])
    return Array(
        name=name,
        shape=shape,
        dtype=dtype,
        order=order,
        layout=tiles,
        memory="VMEM" if memory.startswith("1") else "HBM",
        logical_bytes=prod(shape) * bits // 8,
        padded_bytes=_filled_up(slowest_first, tiles) * bits // 8,
    )


def _filled_up(sizes: list[int], tiles: str) -> int:
    """How many elements an array takes, its sizes slowest first, in tiles "T(8,128)(2,1)".

    Each tile cuts the fastest dimensions, and the next one cuts the tile.
    """
    physical = sizes or [1]
    for text in re.findall(r"\(([\d,]+)\)", tiles):
        tile = [int(n) for n in text.split(",")]
        missing = max(0, len(tile) - len(physical))
        physical = [1] * missing + physical
        outer = physical[: -len(tile)]
        cut = physical[-len(tile) :]
        whole = [-(-n // t) for n, t in zip(cut, tile, strict=True)]  # tiles, rounded up
        physical = outer + whole + tile
    return prod(physical)


def _collectives(every: list[Instruction]) -> list[Collective]:
    """Each exchange once: its start, and what runs beside the arithmetic, have one channel."""
    exchanges = [one for one in every if _COLLECTIVE.match(one.opcode)]
    ended = {}  # the name of a start -> its end, whose shape is the result's alone
    for one in exchanges:
        if one.opcode.endswith("-done"):
            ended |= dict.fromkeys(re.findall(r"%?([\w.-]+)\)", one.rest), one)
    found = {}
    for one in exchanges:
        if one.opcode.endswith("-done"):
            continue
        kind = one.opcode.removesuffix("-start")
        channel = re.search(r"channel_id=(\d+)", one.rest)
        key = (kind, channel[1]) if channel else one.name
        if one.name in ended or key not in found:
            found[key] = _collective(kind, ended.get(one.name, one), _group(one))
    return list(found.values())


def _scatters(every: list[Instruction], found: dict[str, list[Instruction]]) -> list[Collective]:
    """Reduce-scatters that are fusions: the all-reduce within is not carried out in full."""
    scatters = []
    for one in every:
        called = re.search(rf"calls=%?({_SCATTER}[\w.-]*)", one.rest)
        if called and one.opcode == "fusion":
            inner = next(part for part in found[called[1]] if part.opcode == "all-reduce")
            scatters.append(_collective("reduce-scatter", one, _group(inner)))
    return scatters


def _collective(kind: str, one: Instruction, group: int) -> Collective:
    sent = arrays(one, "")
    shape = " ".join(f"{one.dtype}{[*one.shape]}" for one in sent)
    return Collective(kind, shape, sum(one.logical_bytes for one in sent), group)


def _group(one: Instruction) -> int:
    """How many devices exchange: "[2,4]<=[8]" is 2 groups of 4; else the first group is listed."""
    if counted := re.search(r"replica_groups=\[\d+,(\d+)\]", one.rest):
        return int(counted[1])
    if listed := re.search(r"replica_groups=\{\{([\d,]+)", one.rest):
        return len(listed[1].split(","))
    return 0
