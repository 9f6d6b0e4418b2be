"""Hard inputs for each dtype: zeros, halves, the smallest and the largest, NaN and infinities.

Left out is what nobody promises: dividing an integer or a complex number by zero, powers of a
complex zero, the smallest integer as an exponent, shifting by 2^31 and more, a float that does not
fit in 8 or 16 bits, and functions of complex numbers that are not finite.
"""

import re
from functools import cache
from itertools import product

import numpy as np

from functions_by_dtype.cases import SCALARS, Case

INTEGERS = [0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 100, -1, -2, -3, -7, -8, -100]
INTEGERS += [46341, 3037000499, 123456789012345679]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 0.1, -0.7, 3.14159, -3.0]
FLOATS += [7.0, 10.25, 100.5, -255.7, 300.0, 33000.0, 70000.3, 2.0**24 + 1, 2.0**31, -(2.0**31)]
FLOATS += [2.0**32, 2.0**53 - 1, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, 1e-3, 1e-30, 1e300]
FLOATS += [-1e300, 1e-310, np.nan, np.inf, -np.inf]
FEW = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -1.5, -2.5, 3.0, 0.1, 300.7, -70000.3, 1e30, np.nan, np.inf]
FEW += [-np.inf]
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 0.25, 40.0]
SPECIAL = [complex(a, b) for a, b in product((np.nan, np.inf, -np.inf, 0.0, 1.0), repeat=2)]
MOST = 256  # rows of a case

_DIVISION, _OF_INTEGERS = re.compile(r"/|%|div|mod\("), re.compile(r"//|%|divmod|floordiv|mod\(")
_SHIFT = re.compile(r"<<|>>|shift")
_PLAIN = re.compile(r"isnan|isinf|isfinite|maximum|minimum|fmax|fmin|conj|real|imag|bool|equal")
_FUNCTION = re.compile(r"cmath|np\.|\*\*|pow")


def dtype(code: str) -> np.dtype:
    """NumPy's int32 for "i4" and for "i4[]"."""
    return np.dtype(SCALARS[code.removesuffix("[]")])


def result_dtype(name: str) -> np.dtype:
    """Numba's name of a result type: a NumPy dtype, structured for tuples."""
    name = re.sub(r"Literal\[\w+\]\((\S+?)\)", _of_literal, name)
    if name.startswith("UniTuple("):
        inner, _, count = name[9:-1].partition(" x ")
        return np.dtype([(f"f{i}", inner) for i in range(int(count))], align=True)
    if name.startswith("Tuple("):
        parts = name[6:-1].split(", ")
        return np.dtype([(f"f{i}", part) for i, part in enumerate(parts)], align=True)
    return np.dtype(name)


def _of_literal(found: re.Match) -> str:
    """The type of a literal that Numba names by its value."""
    if found[1] in ("True", "False"):
        return "bool"
    return "int64" if int(found[1]) < 2**63 else "uint64"


@cache
def values(code: str, few: bool = False) -> np.ndarray:
    """The hard inputs of a dtype; a few of them for the product of several arguments."""
    kind = dtype(code)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        chosen = [*INTEGERS[:: 2 if few else 1], limits.min, limits.max, limits.max - 1]
        return np.array([n for n in dict.fromkeys(chosen) if limits.min <= n <= limits.max], kind)
    if kind.kind == "f":
        limits = np.finfo(kind)
        edges = [limits.max / 2, limits.smallest_subnormal]
        edges += [limits.tiny, -limits.max / 2] * (not few)
        with np.errstate(over="ignore"):
            found = np.array([*(FEW if few else FLOATS), *edges], np.float64).astype(kind)
        return found[np.unique(found.view(f"u{kind.itemsize}"), return_index=True)[1]]
    parts = PARTS[::2] if few else PARTS
    plain = [complex(a, b) for a, b in product(parts, repeat=2)]
    return np.array(plain + SPECIAL[:: 6 if few else 1], kind)


@cache
def columns(case: Case) -> tuple[np.ndarray, ...]:
    """An array for each argument, all of one length; for the array A one with rows of four."""
    scalars = [code for code in case.dtypes if not code.endswith("[]")]
    grids = [values(code, few=len(case.dtypes) > 1) for code in scalars]
    if len(grids) > 2:
        grids = [grid[:: max(1, len(grid) // 6)] for grid in grids]
    if "[x]" in case.text or "(A, x, 1)" in case.text:
        grids = [np.array([0, 1, 2, 3]).astype(dtype(scalars[0]))]
    slots = [values(case.dtypes[0], few=True)] if len(case.dtypes) > len(scalars) else []
    found = [column.ravel() for column in np.meshgrid(*slots, *grids, indexing="ij")]
    keep = _promised(case, found)
    step = -(-np.count_nonzero(keep) // MOST)
    step += step > 1 and step % 2 == 0  # so as not to meet the same column again and again
    found = [np.ascontiguousarray(column[keep][::step]) for column in found]
    if slots:
        rows = np.repeat(found[0][:, None], 4, axis=1)
        rows[:, 1:] = np.arange(1, 4)
        found[0] = rows
    return tuple(found)


@np.errstate(all="ignore")
def _promised(case: Case, found: list[np.ndarray]) -> np.ndarray:
    """Where Numba or CUDA say what comes out."""
    keep, last = np.ones(len(found[0]), bool), found[-1]
    kinds = {column.dtype.kind for column in found}
    text = case.text
    if _DIVISION.search(text) and not re.search(r"[/%] [\dT]", text):
        integers = kinds <= {*"biu"} and _OF_INTEGERS.search(text) and "2.5 " not in text
        keep &= (last != 0) | (not integers and "c" not in kinds)
    if _SHIFT.search(text) and last.dtype.kind in "iu":
        keep &= (last >= 0) & (last < 2**31) if len(found) > 1 or text == "2 << x" else True
    if _FUNCTION.search(text) and not _PLAIN.search(text):
        for column in found:
            keep &= np.isfinite(column) if "c" in kinds or "cmath" in text else True
    if re.search(r"\*\*|pow", text) and ("c" in kinds or "1j" in text):
        keep &= found[0] != 0
    if "cmath.log(x, y)" in text:  # whose logarithm is 0
        keep &= last != 1
    if re.search(r"\*\* [xy]|\*\*= y|pow.*y\)|round.*y\)", text) and last.dtype.kind == "i":
        keep &= last > np.iinfo(last.dtype).min  # which has no opposite
    if "round(x, " in text:
        keep &= np.isfinite(last) & (np.abs(last) < 2**31)
    return keep & _fits(case, found)


def _fits(case: Case, found: list[np.ndarray]) -> np.ndarray:
    """Where a float that becomes an integer of 8 or 16 bits fits; float16 is saturated anyway."""
    target, value = re.search(r"\bu?int(?:8|16)\b", case.text), found[-1]
    kind = np.dtype(target[0]) if target else found[0].dtype
    stored = target or case.text.startswith("A[0]")
    added = "A[0] += x" in case.text
    narrow = stored and kind.kind in "iu" and kind.itemsize < 4 and value.dtype.kind == "f"
    if not narrow or (value.dtype == np.float16 and not added):
        return np.ones(len(value), bool)
    limits, value = np.iinfo(kind), found[0] + value if added else value
    return (value > limits.min - 1.0) & (value < limits.max + 1.0)
