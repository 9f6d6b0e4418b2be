"""Reading the text of an optimised TPU program (HLO): its operations, their cycles, their layouts.

The text is a list of computations; ENTRY runs, one instruction after the other. An instruction is
`%name = SHAPE{LAYOUT} opcode(operands), attributes`. The compiler writes "estimated_cycles" on an
instruction of ENTRY for everything inside it, so what lies within a counted one is not read again;
the body of a while loop counts once for every trip.
"""

import re
from collections import namedtuple
from math import prod
from typing import NamedTuple

Instruction = namedtuple("Instruction", "name shape opcode rest")
# cycles: None if the compiler writes none; count: several operations, summed up
Op = namedtuple("Op", "name kind cycles layer count", defaults=[1])
Collective = namedtuple("Collective", "kind shape bytes group")  # group: how many devices take part


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


_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"}
_FREE |= {"partition-id", "replica-id"}
_COLLECTIVE = re.compile("all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute")


def read(text: str, arguments: list[str]) -> dict[str, list]:
    """ops, in the order in which they run; padding, of the arguments and then of what the
    operations write; collectives.

    An operation has no estimate if it is a copy that runs beside the arithmetic, a collective, a
    loop, a branch or a kernel of one's own.
    """
    found = computations(text)
    ops, given, written = [], {}, []
    for one in found["ENTRY"]:
        layer, cycles = _layer(one), re.search(r'"estimated_cycles":"(\d+)"', one.rest)
        if one.opcode == "parameter":
            number = int(re.match(r"\d+", one.rest)[0])
            given[number] = arrays(one, arguments[number])[0]
        elif one.opcode not in _FREE and not one.opcode.endswith("-done"):
            ops.append(Op(one.name, _kind(one, found), cycles and int(cycles[1]), layer))
            written += [] if one.opcode.endswith("-start") else arrays(one, layer or one.name)
    every = [one for block in found.values() for one in block]
    sent = [_collective(one) for one in every if _COLLECTIVE.match(one.opcode)]
    padding = [given[number] for number in sorted(given)] + written
    return {"ops": ops, "padding": padding, "collectives": sent}


def computations(text: str) -> dict[str, list[Instruction]]:
    """Every computation with its instructions, under its name; the one that runs as "ENTRY"."""
    found: dict[str, list[Instruction]] = {}
    for line in text.splitlines():
        if match := re.match(r"(ENTRY )?%?(\S+) .*\{$", line):
            current = found.setdefault("ENTRY" if match[1] else match[2], [])
        elif match := re.match(r"\s+(?:ROOT )?%?(\S+) = (.*?) ([a-z][\w-]*)\((.*)", line):
            current.append(Instruction(*match.groups()))
    return found


def _kind(one: Instruction, found: dict[str, list[Instruction]]) -> str:
    """ "convolution" or "matmul" where the matrix unit works, else the last thing that is done."""
    if one.opcode == "convolution":  # a matmul is one without a window
        return "convolution" if "window={" in one.rest else "matmul"
    called = re.search(r"calls=%?([\w.-]+)", one.rest)
    inside = found[called[1]] if called else []
    kinds = [_kind(part, found) for part in inside if part.opcode not in _FREE]
    dense = [kind for kind in kinds if kind in {"convolution", "matmul"}]
    return [one.opcode, *kinds, *dense[:1]][-1]


def _layer(one: Instruction) -> str:
    """Where in the learner's program it comes from: "conv1/max"."""
    said = re.search(r'op_name="([^"]*)"', one.rest)
    parts = said[1].split("/") if said else []
    return "/".join(p for p in parts if not re.match(r"p?jit\(|call_exported", p))


def arrays(one: Instruction, name: str) -> list[Array]:
    """What the instruction writes: one array, or several."""
    found = re.findall(r"(\w+)\[([\d,]*)\](?:\{([^}]*)\})?", one.shape)
    return [array(name, *parts) for parts in found]


def array(name: str, dtype: str, dims: str, layout: str) -> Array:
    """One array as it lies in memory. 1,0:T(8,128)(2,1): dimension 1 varies fastest, 0 next; cut
    into tiles of 8 x 128, those into 2 x 1; every dimension is filled up to whole tiles.

    padded bytes = product of the dimensions so rounded up * bytes of an element
    """
    shape = tuple(int(n) for n in dims.split(",") if n)
    order, _, rest = layout.partition(":")
    tiles, _, memory = rest.partition("S(")  # S(1): the vector memory on the chip
    physical = [shape[int(i)] for i in reversed(order.split(",")) if i] or [1]
    for tile in re.findall(r"\(([\d,]+)\)", tiles):
        sizes = [int(n) for n in tile.split(",")]
        physical = [1] * (len(sizes) - len(physical)) + physical
        inner = zip(physical[-len(sizes) :], sizes, strict=True)
        physical = [*physical[: -len(sizes)], *(-(-n // t) for n, t in inner), *sizes]
    size = int(re.search(r"\d+", dtype.replace("pred", "8"))[0]) / 8  # s4: half a byte
    place = "VMEM" if memory.startswith("1") else "HBM"
    logical, padded = int(prod(shape) * size), int(prod(physical) * size)
    return Array(name, shape, dtype, order, tiles, place, logical, padded)


def _collective(one: Instruction) -> Collective:
    sent = arrays(one, "")
    group = re.search(r"replica_groups=(?:\[\d+,(\d+)\]|\{\{([\d,]+))", one.rest)
    size = int(group[1] or 1 + group[2].count(",")) if group else 0
    said = " ".join(f"{a.dtype}{[*a.shape]}" for a in sent)
    return Collective(one.opcode, said, sum(a.logical_bytes for a in sent), size)
