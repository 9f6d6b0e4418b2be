"""From what the machine noted to what a profiler shows: counters by line, requests to memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numba_simt import ops
from numba_simt.execution.places import unravel
from numba_simt.execution.structs import WARP, AccessRecord
from numba_simt.program import Program

KINDS = ("load", "store", "atomic")


class Flops(NamedTuple):
    """Floating-point operations of one lane, as the textbook formulas have them."""

    real: int
    complex: int = 0


FLOPS = {
    "ADD": Flops(1, 2),
    "SUB": Flops(1, 2),
    "MUL": Flops(1, 6),
    "DIV": Flops(1, 11),
    "FMA": Flops(2, 8),
    "MMA": Flops(2 * 16 * 8 * 16 // WARP),  # counted as fp16, though the sums are float32
}
PRECISION = {"F16": "fp16", "F32": "fp32", "F64": "fp64", "C64": "fp32", "C128": "fp64"}
SPECIAL = {"POW", "POWI", "LDEXP", "MATH", "MATH2", "CLASSIFY"}
COMPUTES = SPECIAL | {
    *("ADD", "SUB", "MUL", "DIV", "FLOORDIV", "MOD", "NEG", "ABS", "FMA", "MIN", "MAX"),
    *("LT", "LE", "EQ", "NE"),
}
UNCOUNTED = {  # what only steers masks and names is no instruction of a GPU
    *("COPY", "ELSE", "ENDIF", "LOOP", "JOIN", "BREAK", "CONTINUE", "LOOPELSE", "ENDLOOP"),
    *("EXIT", "JMP", "RET"),
}
_LOADED = 1  # bits of a sector: what touched it
_STORED = 2


@dataclass(frozen=True)
class Access:
    """One warp's request: byte offsets from the allocation's start, -1 for lanes without one."""

    line: int
    space: str
    kind: str
    array: str
    block: tuple[int, int, int]
    warp: int
    addresses: np.ndarray
    itemsize: int


class Accesses(Sequence):
    """The first requests of a run, in their order; each is built when it is looked at."""

    def __init__(self, records: list[AccessRecord], program: Program, grid: tuple) -> None:
        self.records = records
        self.program = program
        self.grid = grid

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, i: int | slice) -> Access | list[Access]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        record = self.records[i]
        return Access(
            line=self.program.lines[record.line].number,
            space=ops.SPACES[record.space],
            kind=KINDS[record.kind],
            array=self.program.arrays[record.array].name,
            block=unravel(record.block, self.grid),
            warp=record.warp,
            addresses=np.array(record.addresses),
            itemsize=record.itemsize,
        )


def add_executed(program: Program, executed: np.ndarray, counters: np.ndarray) -> None:
    """Instructions, lanes and arithmetic, from how often each instruction ran for how many lanes.

    `executed` [instructions, 2] holds warps and lanes; `counters` [lines, names] is added to.
    """
    column = {name: i for i, name in enumerate(ops.COUNTERS)}
    for row, (warps, lanes) in zip(program.code.tolist(), executed.tolist(), strict=True):
        op = ops.OPS[row[0]]
        kind = ops.TYPES[row[1]]
        line = counters[row[-1]]
        if not warps or op in UNCOUNTED:
            continue
        line[column["instructions"]] += warps
        line[column["lanes"]] += lanes
        if op in COMPUTES and kind in ("F64", "C128"):
            line[column["float64"]] += lanes
        if op in SPECIAL:
            line[column["special"]] += lanes
        elif op in FLOPS and kind in PRECISION:
            of_complex = kind.startswith("C")
            flops = FLOPS[op].complex if of_complex else FLOPS[op].real
            line[column[f"flops_{PRECISION[kind]}"]] += flops * lanes


def totals(counters: np.ndarray, sectors: list[np.ndarray]) -> dict[str, int]:
    """Counters of the launch by name; `counters` [lines, names], `sectors` of each allocation."""
    total = dict(zip(ops.COUNTERS, counters.sum(0).tolist(), strict=True))
    total["unique_load_sectors"] = _touched(sectors, _LOADED)
    total["unique_store_sectors"] = _touched(sectors, _STORED)
    return total


def _touched(sectors: list[np.ndarray], bit: int) -> int:
    return sum(int(np.count_nonzero(of_one & bit)) for of_one in sectors)


def by_line(program: Program, counters: np.ndarray) -> dict[tuple[str, int], Counter]:
    """Counters of each (filename, line) that has any, by name."""
    found: dict[tuple[str, int], Counter] = {}
    for line, row in zip(program.lines, counters.tolist(), strict=True):
        counts = {name: n for name, n in zip(ops.COUNTERS, row, strict=True) if n}
        if counts:
            place = (line.filename, line.number)
            found.setdefault(place, Counter()).update(counts)
    return found
