"""The one-line kernels: expressions over x, y, z and the array A, and dtypes to ask them with.

A case is an expression with the dtypes of its names, in the order A, x, y, z, by NumPy's short
names: ("x + y", ("i4", "f4")). Statements may precede the expression: "v = x; v += y; v".
"""

import cmath
import math
import operator
import re
from itertools import product
from typing import NamedTuple

import numpy as np

SCALARS = {"b1": "bool_"}
SCALARS |= {f"{kind}{n}": f"{'u' * (kind == 'u')}int{8 * n}" for kind in "iu" for n in (1, 2, 4, 8)}
SCALARS |= {"f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64"}
SCALARS |= {"c16": "complex128"}
DTYPES = list(SCALARS)
MIXED = """i4,i8 i8,i4 i4,u4 u4,i4 i8,u8 u8,i8 u1,i1 i1,i4 u4,i8 b1,i4 i4,b1 b1,f4 i4,f4 f4,i4
    i8,f4 f4,i8 i8,f8 f8,i8 u8,f4 f8,u8 f4,f8 f8,f4 f2,f4 f4,f2 f2,i4 i4,f2 f2,f8 f4,c8 c8,f4 f8,c8
    c8,c16 c16,c8 i4,c8 c16,i8 b1,c8 f2,c8"""
PAIRS = [(one, one) for one in DTYPES] + [tuple(pair.split(",")) for pair in MIXED.split()]
CHOICES = """i4,f4,f8 f4,f4,i4 f4,f8,f4 b1,f4,f8 i8,f4,f4 c8,f4,f4 b1,f4,f4 b1,f8,f8 b1,i2,i2
    b1,i4,i4 b1,i8,i8 b1,u8,u8"""
TRIPLES = [(one,) * 3 for one in DTYPES] + [tuple(three.split(",")) for three in CHOICES.split()]

SIGNS = "+ - * / // % ** & | ^ << >>".split()
COMPARISONS = "< <= > >= == !=".split()
OPERATORS = """add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift lt le gt ge eq ne
    iadd imul itruediv ifloordiv ipow"""
MATH_2 = "atan2 comb copysign fmod gcd hypot isclose lcm ldexp nextafter perm pow remainder log"
OF_SEQUENCES = "dist fsum prod sumprod".split()
NUMPY = "round real imag angle sinc fix nan_to_num iscomplex isreal i0 sum mean"
HALF_1 = "sin cos exp exp10 exp2 log log10 log2 sqrt rsqrt rcp ceil floor rint trunc abs neg"
HALF_2 = "add sub mul div max min eq ne gt ge lt le"
SCOPE = {"math": math, "cmath": cmath, "np": np, "operator": operator}
SCOPE |= {"WHOLE": 3, "NEGATIVE": -2, "TRUTH": True, "REAL": 0.75}  # outside of the kernels
SCOPE |= {"BYTE": np.uint8(200), "SHORT": np.int16(-300), "SINGLE": np.float32(0.1)}


class Case(NamedTuple):
    """An expression and the dtypes of its names."""

    text: str
    dtypes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.text}  with {','.join(self.dtypes)}"


def names(text: str) -> list[str]:
    """The names in an expression that are arguments, in their order."""
    return [name for name in "Axyz" if re.search(rf"(?<![\w.]){name}\b", text)]


def function_source(case: Case, name: str = "f") -> str:
    """The device function that computes the expression."""
    *before, last = case.text.split("; ")
    body = "".join(f"    {line}\n" for line in before)
    return f"def {name}({', '.join(names(case.text))}):\n{body}    return {last}\n"


def cases() -> list[Case]:
    """All of them, but those of libdevice."""
    texts = dict.fromkeys(text for family in families().values() for text in family)
    return [Case(text, dtypes) for text in texts for dtypes in _dtypes(text)]


def families() -> dict[str, list[str]]:
    """Name -> its expressions."""
    return {
        "operators": _operators(),
        "operators with literals": _literals(),
        "builtins": _builtins(),
        "casts": _casts(),
        "math": [*_module("math", math, MATH_2.split()), "math.hypot(x)", "math.hypot(x, y, z)"],
        "cmath": _module("cmath", cmath, ["isclose", "rect", "log"]),
        "ufuncs": _ufuncs(),
        "numpy": [f"np.{name}(x)" for name in NUMPY.split()]
        + ["np.where(x, y, z)", "np.clip(x, y, z)", "np.round(x, 2)"],
        "intrinsics": _intrinsics(),
        "warps": _warps(),
        "atomics": _atomics(),
        "arrays": _arrays(),
    }


def known(accepted: dict[str, dict]) -> list[Case]:
    """The cases of committed answers, as far as this Python and this NumPy have the functions."""
    found = []
    for text, types in accepted.items():
        own = [*types, ("c8",) * len(names(text))]  # what libdevice's functions are asked with
        asked = own if "libdevice" in text else _dtypes(text)
        found += [Case(text, dtypes) for dtypes in asked if _exists(text)]
    return found


def _exists(text: str) -> bool:
    """Whether what an expression calls is there; of CUDA's everything is."""
    found = re.match(r"(math|cmath|np|operator)\.(\w+)", text)
    return found is None or hasattr(SCOPE[found[1]], found[2])


def _operators() -> list[str]:
    found = ["-x", "+x", "~x", "not x", "1 if x else 0", "y if x else z", "x < y < z"]
    found += [f"x {sign} y" for sign in [*SIGNS, *COMPARISONS, "and", "or"]]
    found += [f"v = x; v {sign}= y; v" for sign in SIGNS]
    found += [f"operator.{name}(x, y)" for name in OPERATORS.split()]
    return found + [f"operator.{name}(x)" for name in "neg pos invert not_ truth abs".split()]


def _literals() -> list[str]:
    found = [f"x {sign} {n}" for sign, n in product(SIGNS[:7], ("2", "2.5", "1j", "True"))]
    found += [f"{n} {sign} x" for sign, n in product(SIGNS[:7], ("2", "2.5"))]
    found += [f"x {sign} 2" for sign in [*SIGNS[7:], *COMPARISONS]]
    return [*found, "2 << x", "x << 40", "x ** -1", "x ** 0", "x ** 3", "x ** 0.5"]


def _builtins() -> list[str]:
    found = [f"{name}(x)" for name in "abs int float complex bool round min max".split()]
    found += ["round(x, 2)", "round(x, -1)", "round(x, y)", "complex(x, y)", "divmod(x, y)"]
    found += ["pow(x, y)", "pow(x, 2)", "pow(x, y, z)", "x.real", "x.imag", "x.conjugate()"]
    several = "x, y", "x, y, z", "(x, y)", "x, 1", "1.5, x"
    return found + [f"{name}({given})" for name in ("min", "max") for given in several]


def _casts() -> list[str]:
    return [f"{module}.{name}(x)" for module in ("np", "types") for name in SCALARS.values()]


def _module(name: str, module: object, two: list[str]) -> list[str]:
    found = [n for n, f in vars(module).items() if n[0] != "_" and callable(f)]
    one = [n for n in found if n not in (*OF_SEQUENCES, *two) or n == "log"]
    return [f"{name}.{n}(x)" for n in one] + [f"{name}.{n}(x, y)" for n in two]


def _ufuncs() -> list[str]:
    found = {n: f for n, f in vars(np).items() if isinstance(f, np.ufunc) and not f.signature}
    found.pop("isnat")  # of dates
    return [f"np.{n}({', '.join('xyz'[: f.nin])})" for n, f in sorted(found.items())]


def _intrinsics() -> list[str]:
    found = [f"cuda.{name}(x)" for name in "popc clz ffs brev cbrt".split()]
    found += ["cuda.fma(x, y, z)", "cuda.selp(x, y, z)", "cuda.fp16.hfma(x, y, z)"]
    found += [f"cuda.fp16.h{name}(x)" for name in HALF_1.split()]
    return found + [f"cuda.fp16.h{name}(x, y)" for name in HALF_2.split()]


def _warps() -> list[str]:
    shuffles = [f"shfl_{kind}sync" for kind in ("", "up_", "down_", "xor_")]
    votes = "all_sync any_sync eq_sync ballot_sync match_any_sync match_all_sync".split()
    operands = "-1, x, 1", "x, 1, 1", "-1, 1, x"
    found = [f"cuda.{name}({given})" for name in shuffles for given in operands]
    found += [f"cuda.{name}({given})" for name in votes for given in ("-1, x", "x, 1")]
    found += ["cuda.shfl_sync(0xFFFFFFFF, x, 1)", "cuda.ballot_sync(0xFFFFFFFF, x)"]
    found += ["cuda.syncwarp(x); 1", "cuda.nanosleep(x); 1", "cuda.grid(x)"]
    return found + [f"cuda.syncthreads_{name}(x)" for name in ("count", "and", "or")]


def _atomics() -> list[str]:
    names = "add sub max min nanmax nanmin and_ or_ xor inc dec exch".split()
    found = [f"cuda.atomic.{name}(A, 0, x)" for name in names]
    found += ["cuda.atomic.cas(A, 0, x, y)", "cuda.atomic.compare_and_swap(A, x, y)"]
    return [*found, "cuda.atomic.add(A, x, 1)"]


def _arrays() -> list[str]:
    """Slots of arrays, and indices."""
    found = ["A[0] = x; A[0]", "A[x]", "A[0] += x; A[0]"]
    for space, name in product(("shared", "local"), SCALARS.values()):
        found.append(f"s = cuda.{space}.array(2, np.{name}); s[0] = x; s[0]")
    return found


def _dtypes(text: str) -> list[tuple[str, ...]]:
    """The combinations of dtypes that an expression is asked with."""
    found = names(text)
    if found[0] != "A":
        asked = {1: [(one,) for one in DTYPES], 2: PAIRS, 3: TRIPLES}[len(found)]
        return asked[: len(DTYPES)] if text.startswith("operator.") else asked
    if "[x]" in text or ", x, 1)" in text:
        return [("f4[]", one) for one in DTYPES]
    if text.startswith("A[0]"):
        return [(f"{slot}[]", one) for slot, one in product(DTYPES, DTYPES)]
    return [(f"{slot}[]", *(one,) * (len(found) - 1)) for slot, one in PAIRS]
