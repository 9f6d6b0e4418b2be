"""The SIMT machine against Numba's own simulator: the same kernels, the same results.

Both run the same source; the simulator lives in a process of its own, because it must be chosen
before Numba is imported.  Integers must agree exactly, floats to rounding.  Known differences:

- The simulator has no warp operations, no syncwarp and no float32x4; those kernels are left out.
- It computes with NumPy's scalars: an operation on two int8 is done in 8 bits, and is done in 64 by
  Numba on a GPU.  Stored as int8 both are the same; so results go to arrays of the operands' type.
  float32 with a Python number is float64 for NumPy before 2.0, and float32 after.
- A division by zero of two Python numbers is an exception there, an infinity on a GPU.
- Two shared arrays made on one line are one there.  No kernel here has two.
- The machine refuses what it cannot do: a slice whose step is no constant, and `continue` in the
  `else` of an inner loop.
- Blocks run one after another there, so a block that waits for a later one waits for ever.
"""

import math
import os
import pickle
import random
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels import __main__ as simulator
from kernels import correct, shapes
from kernels.correct import CORRECT

from numba_simt import profile

TESTS = Path(__file__).parents[1]
WITHOUT = {  # what the simulator has not
    "syncwarp": {"flag_between_warps", "half_warp_syncwarp", "half_warps_apart"},
    "syncwarp too": {"reduce_syncwarp_tail", "return_then_warp", "warps_on_their_own"},
    "shuffles": {"half_warp_shuffle", "reduce_butterfly", "reduce_shuffle_down", "scan_shuffle_up"},
    "votes": {"compact_with_ballot", "histogram_matched"},
    "float32x4": {"vector_loads"},
}
SUPPORTED = sorted(CORRECT.keys() - set().union(*WITHOUT.values()))
quick = settings(max_examples=12)
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]


@pytest.fixture(scope="module")
def simulate():
    """Launches on the simulator: (module, kernel, grid, block, shared, arguments) -> arguments."""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-m", "kernels"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=TESTS, env=environment, **pipes) as process:

        def ask(*launch):
            pickle.dump(launch, process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)

        yield ask
        process.stdin.close()


def agree(simulate, module, name, grid, block, arguments, shared=0, rtol=1e-5):
    """Launches on both, and compares every array; the machine must find nothing wrong."""
    place = getattr(module, "__file__", None) if module.__name__.startswith("program") else None
    there = simulate(place or module.__name__, name, grid, block, shared, deepcopy(arguments))
    assert not isinstance(there, str), there
    seen = profile(getattr(module, name), grid, block, *arguments, shared=shared)
    assert not [hazard for hazard in seen.hazards if hazard.severity == "error"], seen.hazards
    for got, wanted in zip(arguments, there, strict=True):
        if np.asarray(got).dtype.kind in "fc":
            np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", SUPPORTED)
def test_correct_kernels(simulate, name):
    case = CORRECT[name]
    half = name == "half_precision"
    arguments = case.fresh(11)
    agree(
        simulate,
        correct,
        name,
        case.grid,
        case.block,
        arguments,
        case.shared,
        2e-3 if half else 1e-5,
    )


# Types


def draw_numbers(seed, dtype, *shape, nonzero=False):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        low, high = max(np.iinfo(dtype).min, -(2**31)), min(np.iinfo(dtype).max, 2**31)
        numbers = rng.integers(low, high, shape)
    elif dtype.kind == "c":
        numbers = 4 * rng.standard_normal(shape) + 4j * rng.standard_normal(shape)
    else:
        numbers = 4 * rng.standard_normal(shape)
    numbers = numbers.astype(dtype)
    return np.where(numbers == 0, dtype.type(3), numbers) if nonzero else numbers


@quick
@given(
    dtype=st.sampled_from(SIGNED + UNSIGNED),
    n=st.integers(1, 60),
    grid=st.integers(1, 3),
    block=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_integers(simulate, dtype, n, grid, block, seed):
    x, y = draw_numbers(seed, dtype, n), draw_numbers(seed + 1, dtype, n, nonzero=True)
    agree(simulate, shapes, "integer_arithmetic", grid, block, (x, y, np.zeros((15, n), dtype)))


@quick
@given(
    kind=st.sampled_from(
        [
            ("float_arithmetic", "float32", 1e-5),
            ("float_arithmetic", "float64", 1e-12),
            ("half_arithmetic", "float16", 0),
            ("complex_arithmetic", "complex64", 1e-5),
            ("complex_arithmetic", "complex128", 1e-12),
        ]
    ),
    n=st.integers(1, 60),
    grid=st.integers(1, 3),
    block=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_floats(simulate, kind, n, grid, block, seed):
    name, dtype, tolerance = kind
    x, y = draw_numbers(seed, dtype, n), draw_numbers(seed + 1, dtype, n, nonzero=True)
    out = np.zeros((15, n), dtype)
    agree(simulate, shapes, name, grid, block, (x, y, out), rtol=tolerance)


@quick
@given(
    dtypes=st.tuples(*3 * [st.sampled_from([*SIGNED, "float32", "float64", "bool"])]),
    out=st.sampled_from(["int16", "int64", "float32", "float64", "complex64"]),
    scale=st.sampled_from([3, -2.5, np.float32(1.5)]),
    seed=st.integers(0, 99),
)
def test_mixed_types(simulate, dtypes, out, scale, seed):
    """Small numbers, so that nothing overflows in NumPy's narrow types."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-5, 6, 20).astype(dtype) for dtype in dtypes]
    if out == "complex64" or "float" in out or all(kind != "float64" for kind in dtypes):
        agree(simulate, shapes, "mixed_types", 3, 8, (*arrays, scale, np.zeros(20, out)))


# Shapes and launches


@quick
@given(
    shape=st.tuples(*3 * [st.integers(1, 6)]),
    grid=st.tuples(*3 * [st.integers(1, 2)]),
    block=st.tuples(*3 * [st.integers(1, 3)]),
    dtype=st.sampled_from(["int32", "float32", "complex64"]),
    order=st.sampled_from("CF"),
)
def test_boxes(simulate, shape, grid, block, dtype, order):
    x = np.array(draw_numbers(5, dtype, *shape), order=order)
    out = np.zeros((shape[2], shape[0], shape[1]), dtype)
    agree(simulate, shapes, "box", grid, block, (x, out))


@quick
@given(grid=st.tuples(*3 * [st.integers(1, 3)]), block=st.tuples(*3 * [st.integers(1, 4)]))
def test_coordinates(simulate, grid, block):
    out = np.zeros((math.prod(grid) * math.prod(block), 5), np.int32)
    agree(simulate, shapes, "where_am_i", grid, block, (out,))


@quick
@given(n=st.integers(1, 40), start=st.integers(-45, 45), stop=st.integers(-45, 45))
def test_slices(simulate, n, start, stop):
    x = np.arange(n, dtype=np.int32)
    agree(simulate, shapes, "slices", 2, 20, (x, start, stop, np.full((3, 40), -1, np.int32)))


@quick
@given(n=st.integers(1, 90), block=st.integers(1, 33), grid=st.integers(1, 3))
def test_block_sums(simulate, n, block, grid):
    x, out = draw_numbers(n, "float32", n), np.zeros(grid, np.float32)
    agree(simulate, shapes, "block_sums", grid, block, (x, out), shared=4 * block)


@settings(quick, max_examples=6)
@given(
    name=st.sampled_from(
        ["matmul_naive", "matmul_tiled", "matmul_double_buffer", "matmul_register_tile"]
    ),
    m=st.integers(1, 17),
    k=st.integers(1, 12),
    n=st.integers(1, 17),
)
def test_ragged_matmuls(simulate, name, m, k, n):
    block = (4, 4) if name == "matmul_register_tile" else (8, 8)
    a, b = draw_numbers(1, "float32", m, k), draw_numbers(2, "float32", k, n)
    arguments = (a, b, np.zeros((m, n), np.float32))
    agree(
        simulate, correct, name, (math.ceil(n / 8), math.ceil(m / 8)), block, arguments, rtol=1e-4
    )


# Random programs


class Author:
    """Writes kernels of nested loops, branches, breaks, returns, ternaries and shared memory.

    Whatever is written ends, stays within int64 and is free of races, so the simulator, the machine
    and a GPU must agree to the last bit.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def leaf(self) -> str:
        leaves = [
            "a",
            "b",
            "c",
            "t",
            "i",
            str(self.random.randrange(-5, 12)),
            "x[(a + t) % x.size]",
        ]
        leaves += ["w[b % 3]", *(f"k{k}" for k in range(self.loops))]
        return self.random.choice(leaves)

    def number(self, depth: int = 2) -> str:
        if depth == 0:
            return self.leaf()
        p, q = self.number(depth - 1), self.number(depth - 1)
        forms = [
            f"({p} + {q})",
            f"({p} - {q})",
            f"({self.leaf()} * {self.leaf()})",
            f"({p} // {self.random.choice([-7, -2, 3, 5])})",
            f"({p} % {self.random.choice([-6, 2, 3, 7])})",
            f"({p} if {self.comparison()} else {q})",
            f"min({p}, {q})",
            f"max({p}, {q})",
            f"abs({p})",
            f"pick({p}, {q})",
            f"(-{p})",
            f"({p} >> {self.random.randrange(4)})",
            f"({p} ^ {q})",
            f"int({self.comparison()})",
            self.leaf(),
        ]
        return self.random.choice(forms)

    def comparison(self) -> str:
        return (
            f"{self.leaf()} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {self.leaf()}"
        )

    def condition(self, depth: int = 1) -> str:
        if depth and self.chance(40):
            p, q = self.condition(0), self.condition(0)
            return self.random.choice([f"{p} and {q}", f"{p} or {q}", f"not {p}", f"{p} != ({q})"])
        p, q = self.number(1), self.number(1)
        if self.chance(15):
            return f"(-3 <= {p} < {q})"
        return f"({p} {self.random.choice(['<', '>', '==', '!='])} {q})"

    def simple(self) -> str:
        p, q = self.number(), self.number()
        name, other = self.random.sample("abc", 2)
        forms = [
            f"{name} = {p} % 1009",
            f"{name} = {p} % 101",
            f"{name}, {other} = {p} % 53, {q} % 97",
            f"{name} = ({name} + {p}) % 499",
            f"{name} -= {self.leaf()} % 31",
            f"w[{self.leaf()} % 3] = {p} % 77",
            f"w[{self.leaf()} % 3] += 1",
            f"f = f * 0.5 + {name}",
            f"f = f - 0.25 * {name} if {self.condition(0)} else f / 3",
            f"out[i, 4] = {p} % 1009",
        ]
        return self.random.choice(forms)

    def block(self, depth: int, leave: str) -> list[str]:
        """The lines of a block; `leave` holds the ways to leave the loop around it."""
        lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, leave)
        if leave and self.chance(25):
            lines.append(self.random.choice(leave.split()))
        elif self.chance(7):
            lines += ["out[i, 3] = 7", "return"]
        return lines

    def statement(self, depth: int, leave: str) -> list[str]:
        if depth == 0 or self.chance(45):
            return [self.simple()]
        if self.chance(50):
            lines = [f"if {self.condition()}:", *indented(self.block(depth - 1, leave))]
            if self.chance(30):
                lines += [f"elif {self.condition()}:", *indented(self.block(depth - 1, leave))]
            if self.chance(60):
                lines += ["else:", *indented(self.block(depth - 1, leave))]
            return lines
        k = f"k{self.loops}"
        if self.chance(50):
            ends = [
                f"{self.number(1)} % 5",
                "4",
                f"{self.leaf()} % 3, 6, 2",
                f"5, {self.leaf()} % 4, -1",
            ]
            lines = [f"for {k} in range({self.random.choice(ends)}):"]
            before = []
        else:
            before = [f"{k} = 0"]
            lines = [f"while {k} < {self.leaf()} % 6 and {self.condition(0)}:", f"    {k} += 1"]
        self.loops += 1
        lines += indented(self.block(depth - 1, "break continue"))
        self.loops -= 1
        if self.chance(30):
            lines += ["else:", *indented(self.block(depth - 1, leave and "break"))]
        return before + lines

    def program(self, name: str) -> str:
        lines = ["s = cuda.shared.array(8, int64)", "w = cuda.local.array(3, int64)"]
        lines += ["for k in range(3):", "    w[k] = k", "i, t = cuda.grid(1), cuda.threadIdx.x"]
        lines += ["a, b, c, f = i, 3, t * 2, 0.5"]
        for _ in range(2):
            lines += [
                f"s[t] = {self.number()}",
                "cuda.syncthreads()",
                f"b = s[{self.leaf()} % 8] % 307",
            ]
            lines += ["cuda.syncthreads()", *self.statement(1, "")]
            lines = [line for line in lines if line.strip() != "return"]  # a barrier follows
        for _ in range(4):
            lines += self.statement(3, "")
        lines += ["out[i, 0], out[i, 1], out[i, 2] = a, b, c", "real[i] = f"]
        return "\n".join(["@cuda.jit", f"def {name}(x, out, real):", *indented(lines)])


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


HEAD = """from numba import int64

from kernels import cuda


@cuda.jit(device=True)
def pick(p, q):
    if p < q:
        return p - 1
    for k in range(3):
        if (p + k) % 3 == 0:
            return q + k
    return -q


"""
PROGRAMS = 40


NIGHT = pytest.mark.night(
    instead="simt/tests/beside_numba/test_against_simulator.py::test_random_programs"
)
BY_DAY = 4
LATER = (pytest.param(seed, marks=NIGHT) for seed in range(BY_DAY, PROGRAMS))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A module of random kernels, program_0 and so on."""
    path = tmp_path_factory.mktemp("programs") / "programs.py"
    texts = (Author(seed).program(f"program_{seed}") for seed in range(PROGRAMS))
    path.write_text(HEAD + "\n\n\n".join(texts) + "\n")
    return simulator.load(str(path))


@pytest.mark.parametrize("seed", [*range(BY_DAY), *LATER])
def test_random_programs(simulate, programs, seed):
    x = np.random.default_rng(seed).integers(-50, 50, 24)
    arguments = (x, np.zeros((24, 5), np.int64), np.zeros(24))
    agree(simulate, programs, f"program_{seed}", 3, 8, arguments, rtol=0)
