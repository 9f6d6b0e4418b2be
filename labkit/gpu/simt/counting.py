"""From what the machine noted to what a profiler shows: counters by line, requests to memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labkit.gpu.simt import ops
from labkit.gpu.simt.hazards import WARP, unravel
from labkit.gpu.simt.layout import INT32, INT64, Memory, struct
from labkit.gpu.simt.values import Program

KINDS = ("load", "store", "atomic")
AccessRecord = struct(
    "Access", line__array__kind__warp__block__space=INT32, itemsize=INT64, addresses=INT64 * WARP
)

# Floating-point operations of one lane, real and complex, as the textbook formulas have them.
FLOPS = {"ADD": (1, 2), "SUB": (1, 2), "MUL": (1, 6), "DIV": (1, 11), "FMA": (2, 8)}
FLOPS["MMA"] = (2 * 16 * 8 * 16 // WARP, 0)  # counted as fp16, though the sums are float32
PRECISION = {"F16": "fp16", "F32": "fp32", "F64": "fp64", "C64": "fp32", "C128": "fp64"}
SPECIAL = {"POW", "POWI", "LDEXP", "MATH", "MATH2", "CLASSIFY"}
COMPUTES = {*"ADD SUB MUL DIV FLOORDIV MOD NEG ABS FMA MIN MAX LT LE EQ NE".split(), *SPECIAL}
# What only steers masks and names is no instruction of a GPU.
UNCOUNTED = {"COPY", "ELSE", "ENDIF", "LOOP", "JOIN", "BREAK", "CONTINUE", "LOOPELSE", "ENDLOOP"}
UNCOUNTED |= {"EXIT", "JMP", "RET"}


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

    def __init__(self, records: list, program: Program, grid: tuple) -> None:
        self.records, self.program, self.grid = records, program, grid

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, i: int | slice) -> Access | list[Access]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        record = self.records[i]
        return Access(
            self.program.lines[record.line].number,
            ops.SPACES[record.space],
            KINDS[record.kind],
            self.program.arrays[record.array].name,
            unravel(record.block, self.grid),
            record.warp,
            np.array(record.addresses),
            record.itemsize,
        )


def add_executed(program: Program, executed: np.ndarray, counters: np.ndarray) -> None:
    """Instructions, lanes and arithmetic, from how often each instruction ran for how many lanes.

    `executed` [instructions, 2] holds warps and lanes; `counters` [lines, names] is added to.
    """
    column = {name: i for i, name in enumerate(ops.COUNTERS)}
    for row, (warps, lanes) in zip(program.code.tolist(), executed.tolist(), strict=True):
        op, kind, line = ops.OPS[row[0]], ops.TYPES[row[1]], row[-1]
        if not warps or op in UNCOUNTED:
            continue
        counters[line, column["instructions"]] += warps
        counters[line, column["lanes"]] += lanes
        if op in COMPUTES and kind in ("F64", "C128"):
            counters[line, column["float64"]] += lanes
        if op in SPECIAL:
            counters[line, column["special"]] += lanes
        elif op in FLOPS and kind in PRECISION:
            flops = FLOPS[op][kind.startswith("C")]
            counters[line, column[f"flops_{PRECISION[kind]}"]] += flops * lanes


def tabulate(program: Program, counters: np.ndarray, memory: Memory) -> tuple[dict, dict]:
    """Counters of the launch by name, and of each (filename, line) that has any."""
    total = dict(zip(ops.COUNTERS, counters.sum(0).tolist(), strict=True))
    for bit, what in ((1, "unique_load_sectors"), (2, "unique_store_sectors")):
        total[what] = sum(int(np.count_nonzero(s & bit)) for s in memory.sectors)
    by_line: dict[tuple[str, int], Counter] = {}
    for line, row in zip(program.lines, counters.tolist(), strict=True):
        if counts := {name: n for name, n in zip(ops.COUNTERS, row, strict=True) if n}:
            by_line.setdefault(line[:2], Counter()).update(counts)
    return total, by_line
