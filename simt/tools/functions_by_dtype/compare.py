"""When two results are the same: exactly, but for functions that are approximations."""

import re
import zlib

import numpy as np

from functions_by_dtype import inputs
from functions_by_dtype.cases import Case
from functions_by_dtype.machine import wide

TOLERANCE = {2: 2e-3, 4: 2e-6, 8: 1e-13}  # relative, by the bytes of a float
_NAMES = (
    "sin cos tan exp log erf gamma hypot cbrt pow degrees radians deg rcp rsqrt phase polar rect"
)
APPROXIMATE = re.compile("|".join([*_NAMES.split(), r"\*\*|round\(x, |libdevice|cmath.sqrt"]))
OF_COMPLEX = re.compile(r"[*/]|abs|div|mul")  # one rounding more or less, by contraction
CLAIM = re.compile(  # that the real thing refuses it as well
    r"\b(Numba|CUDA)\b[^.:]* (has no|have no|knows no|takes no|wants|refuses|rejects|cannot)\b"
)


def exact(case: Case, kind: np.dtype) -> bool:
    """Whether the result is determined to the last bit."""
    if all(part.kind in "biu" for part in _parts(kind)):
        return True
    complex_ = kind.kind == "c" or any(code[0] == "c" for code in case.dtypes)
    return not APPROXIMATE.search(case.text) and not (complex_ and OF_COMPLEX.search(case.text))


def differ(case: Case, kind: np.dtype, want: list[np.ndarray], got: list[np.ndarray]) -> np.ndarray:
    """In which rows the results differ; both as `wide` gives them, A's rows perhaps behind."""
    parts, found = _parts(kind), np.zeros(len(want[0]), bool)
    tolerance = 0.0 if exact(case, kind) else _tolerance(case, parts)
    for part, a, b in zip(parts, want, got, strict=False):
        found |= _differ(part, a, b, tolerance)
    for a, b in zip(want[len(parts) :], got[len(parts) :], strict=True):  # rows of A
        found |= _differ(a.dtype, _flat(a), _flat(b), 0.0).reshape(len(a), -1).any(axis=1)
    return found


def _tolerance(case: Case, parts: list[np.dtype]) -> float:
    """That of the narrowest float, the arguments' included: it says how it is computed."""
    kinds = [*parts, *map(inputs.dtype, case.dtypes)]
    sizes = [kind.itemsize // (1 + (kind.kind == "c")) for kind in kinds if kind.kind in "fc"]
    turned = parts[0].kind == "c" and re.search(r"\*\*|pow", case.text)  # by a large angle
    return TOLERANCE[min(sizes)] * (1000 if "fast_" in case.text else 50 if turned else 1)


def _parts(kind: np.dtype) -> list[np.dtype]:
    """Those of a tuple, or the one."""
    return [kind[name] for name in kind.names or ()] or [kind]


def type_name(kind: str) -> str:
    """Numba's name of a type, as the SIMT machine has it."""
    dtype = inputs.result_dtype(kind)
    parts = [str(part) for part in _parts(dtype)]
    return f"({', '.join(parts)})" if dtype.names else parts[0]


def digest(results: list[np.ndarray]) -> str:
    """Four letters for results, the same on every computer that computes them exactly."""
    found = 0
    for part in results:
        real = np.ascontiguousarray(part).view(part.real.dtype)  # a row of A keeps A's precision
        if real.dtype.kind == "f":
            real = np.where(np.isnan(real), real.dtype.type(np.nan), real)
        found = zlib.crc32(real.tobytes(), found)
    return f"{found & 0xFFFF:04x}"


def _flat(rows: np.ndarray) -> np.ndarray:
    return wide(np.ascontiguousarray(rows).reshape(-1))[0]


@np.errstate(all="ignore")
def _differ(kind: np.dtype, want: np.ndarray, got: np.ndarray, tolerance: float) -> np.ndarray:
    if want.dtype.kind not in "fc":
        return want != got
    pairs = [(want.real, got.real), (want.imag, got.imag)][: 1 + (want.dtype.kind == "c")]
    size = np.dtype(kind).itemsize // len(pairs)
    scale = np.max([np.abs(a) for a, _ in pairs], axis=0)
    limits = np.finfo(f"f{size}")
    found = np.zeros(len(want), bool)
    for a, b in pairs:
        same = (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))
        if tolerance:
            near = np.abs(a - b) <= tolerance * scale + 8 * float(limits.smallest_subnormal)
            beyond = np.minimum(np.abs(a), np.abs(b)) >= 0.99 * float(limits.max)
            same |= near | (beyond & (np.sign(a) == np.sign(b)))
        narrow = b.astype(limits.dtype).astype(np.float64)
        found |= ~same | ~((narrow == b) | np.isnan(b))  # computed in the result's own precision
    return found


def rows(results: list[np.ndarray], which: np.ndarray) -> list[np.ndarray]:
    """Some rows of the results."""
    return [part[which] for part in results]


def shown(case: Case, results: list[np.ndarray], row: int) -> str:
    """The result of one row, as a person reads it."""
    return ", ".join(str(part[row].tolist()) for part in results)


def given(case: Case, row: int) -> str:
    """The inputs of one row."""
    return ", ".join(str(column[row].tolist()) for column in inputs.columns(case))
