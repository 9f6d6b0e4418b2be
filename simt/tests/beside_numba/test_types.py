"""Numba's typing rules: random expressions of all types, against Numba's own compiler on the CPU.

The simulator computes with NumPy's scalars and cannot tell an int64 from an int8.  Here the same
source is a kernel for the machine and a function for `numba.njit`; both store into wide arrays, so
that a result of another type, or one that wrapped too early or too late, shows.
"""

import random

import numba
import numpy as np
import pytest
from kernels import __main__ as loader
from kernels import cuda

from numba_simt import profile

N, LINES, KERNELS = 12, 30, 4
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_".split()
FLOATS = "float32 float64".split()
COMPLEX = "complex64 complex128".split()
CASTS = "float32 float64 int32 int64 uint8 uint32 int8".split()
NAMES = [f"x_{name}" for name in INTEGERS + FLOATS + COMPLEX]


class Author:
    """Expressions of a wanted kind: i(nteger), f(loat) or c(omplex)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def leaf(self, kind: str) -> str:
        types = {"i": INTEGERS, "f": FLOATS, "c": COMPLEX}[kind]
        constants = {"i": ["2", "-3", "1"], "f": ["0.5", "-1.75", "3.0"], "c": ["1j", "(0.5-2j)"]}
        if self.random.random() < 0.2:
            return self.random.choice(constants[kind])
        return f"x_{self.random.choice(types)}[i]"

    def expression(self, kind: str, depth: int = 2) -> str:
        if depth == 0:
            return self.leaf(kind)
        choose = self.random.choice
        # A float comes of floats and integers, a complex number of all three.
        lower = {"i": "i", "f": "fi", "c": "cfi"}[kind]
        p, q = self.expression(kind, depth - 1), self.expression(choose(lower), depth - 1)
        if choose([True, False]):
            p, q = q, p
        forms = [f"({p} {choose('+-*')} {q})", f"({p} {choose('+-*')} {q})", f"(-{p})", f"(+{p})"]
        forms += [f"({p} if {self.condition()} else {q})"]
        if kind != "c":
            divisor = choose(["3", "7"]) if kind == "i" else choose(["2.5", "-0.75", "3"])
            forms += [f"({p} {choose(['//', '%'])} {divisor})"]
            forms += [f"{name}({p} + 0, {q} + 0)" for name in ("min", "max")]  # no bools
            forms += [f"({p}) ** 2", f"{choose(CASTS)}({self.leaf('i')})"]
        if kind == "i":
            a, b = self.leaf("i"), self.leaf("i")
            forms += [f"({a} {choose('&|^')} {b})", f"({a} << 3)", f"({a} >> 1)", f"(~{a})"]
            forms += [f"int({self.condition()})", f"int({self.leaf('f')})", f"abs({a} - 1)"]
        if kind == "f":
            forms += [f"({p} / 3)", f"abs({self.leaf('f')})", f"{self.leaf('c')}.real"]
            functions = ["sqrt(abs(%s))", "exp(-abs(%s))", "atan(%s)", "floor(%s)"]
            forms += ["math." + choose(functions) % self.leaf("f")]
        if kind == "c":
            forms += [f"({p} / (2+1j))", f"complex({self.leaf('f')}, {self.leaf('f')})"]
        return choose(forms)

    def condition(self) -> str:
        kind = self.random.choice("if")
        return f"{self.leaf(kind)} {self.random.choice(['<', '>=', '==', '!='])} {self.leaf('i')}"

    def body(self) -> list[str]:
        lines = []
        for row in range(LINES):
            kind = self.random.choice("iifffc")
            target = {"i": "whole", "f": "real", "c": "both"}[kind]
            lines.append(f"    {target}[{row}, i] = {self.expression(kind)}")
        return lines


def source(seed: int) -> str:
    """A function of i, and a kernel with the same statements."""
    names = ", ".join([*NAMES, "whole", "real", "both"])
    body = "\n".join(Author(seed).body())
    return (
        f"@njit(error_model='numpy')\ndef function_{seed}(i, {names}):\n{body}\n\n\n"
        f"@cuda.jit\ndef kernel_{seed}({names}):\n    i = cuda.grid(1)\n{body}\n"
    )


HEAD = f"""import math

from numba import njit, {", ".join(CASTS)}

from kernels import cuda


"""


def arguments():
    rng = np.random.default_rng(3)
    numbers = rng.integers(-9, 10, N)
    arrays = [np.roll(numbers, k).astype(name) for k, name in enumerate(INTEGERS)]
    arrays += [(rng.standard_normal(N) * 4).astype(name) for name in FLOATS]
    arrays += [(rng.standard_normal(N) + 2j * rng.standard_normal(N)).astype(c) for c in COMPLEX]
    return [*arrays, *(np.zeros((LINES, N), d) for d in (np.int64, np.float64, np.complex128))]


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("types") / "typed.py"
    path.write_text(HEAD + "\n\n".join(map(source, range(KERNELS))))
    return loader.load(str(path))


@pytest.mark.parametrize("seed", range(KERNELS))
def test_random_expressions(module, seed):
    wanted, got = arguments(), arguments()
    for i in range(N):
        getattr(module, f"function_{seed}")(i, *wanted)
    seen = profile(getattr(module, f"kernel_{seed}"), 1, N, *got)
    assert not seen.hazards
    for whole in (
        got[-3],
        wanted[-3],
    ):  # a float too large for int64 saturates on a GPU, not on x86
        whole[whole == np.iinfo(np.int64).max] = np.iinfo(np.int64).min
    for row, statement in enumerate(Author(seed).body()):
        for a, b in zip(got[-3:], wanted[-3:], strict=True):
            np.testing.assert_allclose(a[row], b[row], 2e-6, 1e-12, err_msg=statement)


def test_expressions_use_all_types():
    text = "".join(map(source, range(KERNELS)))
    assert all(text.count(f"{name}[i]") > 4 for name in NAMES)


@pytest.mark.parametrize("name", INTEGERS)
def test_unary_operators_keep_the_width(name):
    """-x, ~x and abs(x) are done in the operand's own width; then the result is widened."""
    edges = [0, 1, 7] + ([np.iinfo(name).min, np.iinfo(name).max] if "int" in name else [])
    x = np.array(edges, name)
    got, wanted = np.zeros((2, 3, x.size), np.int64)
    numba.njit(unary)(x, wanted)
    profile(cuda.jit(unary), 1, 1, x, got)
    np.testing.assert_array_equal(got, wanted)


def unary(x, out):
    for i in range(x.size):
        out[0, i] = -x[i]
        out[1, i] = ~x[i]
        out[2, i] = abs(x[i])
