"""Random programs of reads, writes, atomics and barriers: races found against all pairs, by force.

A program is a list of statements, each a read, a write or an atomic addition of one cell by random
threads, a syncthreads, or a syncwarp.  Two accesses of one cell by different threads race if one of
them writes, not both are atomic, and nothing orders them: a barrier between them for threads of one
block, a syncwarp between them for lanes of one warp.  Threads of two blocks are never ordered.  All
pairs of accesses are tried here.  Every report must be such a pair, with its threads and its cell;
where there is one there must be a report.
"""

import random
from itertools import combinations_with_replacement

import numpy as np
import pytest
from kernels import __main__ as loader

from numba_simt import profile

GRID, BLOCK = 2, 96
PROGRAMS = 150
HEAD = "from numba import int32\n\nfrom kernels import cuda\n\n\n"
STATEMENTS = {
    "read": "v += {array}[{cell}]",
    "write": "{array}[{cell}] = {step} * 1000 + i",
    "atomic": "cuda.atomic.add({array}, {cell}, 1)",
}


class Program:
    """Statements, and which thread of the grid takes part in which: mask[statement, thread]."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.name = f"program_{seed}"
        self.array, cells = draw.choice(["s", "y"]), draw.choice([1, 1, 2])
        self.steps = []
        kinds = ["read", "write", "atomic", "syncthreads", "syncwarp"]
        weights = [
            4,
            draw.choice([1, 3]),
            draw.choice([0, 2]),
            draw.choice([0, 1]),
            draw.choice([0, 2]),
        ]
        for _ in range(draw.randint(2, 8)):
            self.steps.append((draw.choices(kinds, weights)[0], draw.randrange(cells)))
        self.mask = np.zeros((len(self.steps), GRID * BLOCK), np.bool_)
        pool = draw.sample(range(GRID * BLOCK), draw.choice([2, 3, 5]))
        if draw.random() < 0.6:  # one block, or one warp of it
            pool = [thread % draw.choice([32, BLOCK]) for thread in pool]
        for row in self.mask:
            row[draw.sample(pool, draw.choice([1, 1, 2]))] = True

    def text(self) -> str:
        lines = ["s = cuda.shared.array(2, int32)", "t, i, v = cuda.threadIdx.x, cuda.grid(1), 0"]
        lines += ["if t < 2:", "    s[t] = 0", "cuda.syncthreads()"]
        for step, (kind, cell) in enumerate(self.steps):
            if kind in STATEMENTS:
                act = STATEMENTS[kind].format(array=self.array, cell=cell, step=step)
                lines += [f"if mask[{step}, i]:", f"    {act}  # {step}"]
            else:
                lines.append(f"cuda.{kind}()  # {step}")
        body = "\n    ".join([*lines, "out[i] = v"])
        return f"@cuda.jit\ndef {self.name}(mask, y, out):\n    {body}\n"

    def races(self) -> set:
        """(cell, {(step, thread), (step, thread)}) of all pairs that nothing orders."""
        events = [
            (step, int(thread), *self.steps[step])
            for step, row in enumerate(self.mask)
            for thread in np.flatnonzero(row)
            if self.steps[step][0] in STATEMENTS
        ]
        found = set()
        for (p, a, kind, cell), (q, b, other, same) in combinations_with_replacement(events, 2):
            if cell != same or a == b or {kind, other} in ({"read"}, {"atomic"}):
                continue
            if a // BLOCK != b // BLOCK:
                if self.array == "s":  # each block has its own
                    continue
            else:
                between = {kind for kind, _ in self.steps[min(p, q) : max(p, q)]}
                warp = a % BLOCK // 32 == b % BLOCK // 32
                if "syncthreads" in between or ("syncwarp" in between and warp):
                    continue
            found.add((cell, frozenset({(p, a), (q, b)})))
        return found


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    path = tmp_path_factory.mktemp("races") / "races.py"
    path.write_text(HEAD + "\n\n".join(Program(seed).text() for seed in range(PROGRAMS)))
    return loader.load(str(path)), path.read_text().splitlines()


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program(kernels, seed):
    module, source = kernels
    program = Program(seed)
    y, out = np.zeros(2, np.int32), np.zeros(GRID * BLOCK, np.int64)
    seen = profile(getattr(module, program.name), GRID, BLOCK, program.mask, y, out)
    races = program.races()

    def event(line, place):
        (block, *_), (thread, *_) = place
        return int(source[line - 1].split("# ")[1]), block * BLOCK + thread

    reported = set()
    for hazard in seen.hazards:
        assert hazard.kind == "race", hazard
        pair = {event(hazard.line, hazard.thread), event(hazard.other_line, hazard.other_thread)}
        cell = int(str(hazard).split("[")[1].split("]")[0])
        reported.add((cell, frozenset(pair)))
    assert reported <= races, program.text()
    assert {cell for cell, _ in reported} == {cell for cell, _ in races}, program.text()
