"""Functions of numbers, beside Python's own: rounding, complex numbers, pairs, NaN and infinity."""

import cmath
import math
import warnings
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from numba_simt import cuda
from numba_simt.errors import CompileError

INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.25, INF, -INF, NAN]
COMPLEX = [complex(re, im) for re in EDGES for im in EDGES]


@cuda.jit
def rounded(x, digits, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = round(x[i], digits[i])


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e6, 1e6), st.integers(-6, 9))
@example(2.675, 2)
@example(0.5, 0)
@example(-2.5, 0)
@example(math.inf, 2)
@example(math.nan, -2)
def test_round_to_digits_is_pythons_but_for_the_last_bits(x, digits):
    """CPython's fallback, which CUDA uses, may take the other neighbour where x lies halfway."""
    out = np.zeros(1)
    rounded[1, 1](np.array([x]), np.array([digits]), out)
    if not math.isfinite(x):
        np.testing.assert_equal(out[0], x)
        return
    wanted, step = round(x, digits), 10.0**-digits
    halfway = abs(abs(x) % step - step / 2) <= 1e-9 * step or 1e6 * math.ulp(x) > step
    assert abs(out[0] - wanted) <= 4 * math.ulp(wanted) + (step if halfway else 0)


def test_round_at_the_ends_is_numbas():
    """Where x * 10^n overflows, x comes back; from 2^63 on Numba's inner round() saturates."""
    x = np.array([1.7976931348623157e308, -1.7976931348623157e308, 1e30, 1e-300, 123456.0])
    digits, out = np.array([12, 300, 2, 305, -3]), np.zeros(5)
    rounded[1, 8](x, digits, out)
    np.testing.assert_allclose(out, [x[0], x[1], 2.0**63 / 100, 1e-300, 123000.0])


def table(function, values):
    """The function of every value, by a kernel and by Python (None: Python raises)."""
    x = np.array(values)
    out = np.zeros(len(x), x.dtype)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(x[i])

    kernel[1, 128](x, out)
    for value, found in zip(values, out.tolist(), strict=True):
        try:
            yield value, found, function(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue


def same(found: complex, wanted: complex) -> bool:
    """Both parts equal or close, or both NaN; the sign of a 0 is free."""
    pairs = (found.real, wanted.real), (found.imag, wanted.imag)
    return all(
        (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-12)
        for a, b in pairs
    )


FINITE = [z for z in COMPLEX if cmath.isfinite(z)]


@pytest.mark.parametrize(
    "name",
    """acos acosh asin asinh atan cos cosh exp log log10 sin sinh sqrt tan tanh""".split(),
)
def test_functions_of_complex_numbers_are_pythons(name):
    function = getattr(cmath, name)
    for z, found, wanted in table(function, FINITE):
        assert same(found, wanted), (name, z, found, wanted)


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_classes_of_complex_numbers(name):
    for z, found, wanted in table(getattr(cmath, name), COMPLEX):
        assert bool(found) == wanted, (name, z)


def test_polar_and_rect_go_there_and_back():
    z, back = np.array(FINITE), np.zeros(len(FINITE), complex)

    @cuda.jit
    def kernel(z, back):
        i = cuda.grid(1)
        if i < z.size:
            r, phi = cmath.polar(z[i])
            back[i] = cmath.rect(r, phi)

    kernel[1, 128](z, back)
    np.testing.assert_allclose(back, z, atol=1e-15)


def test_products_and_quotients_are_pythons():
    values = [z for z in COMPLEX if z != 0]
    a, b = np.array(values), np.array(values[::-1])
    product, quotient = np.zeros(len(a), complex), np.zeros(len(a), complex)

    @cuda.jit
    def kernel(a, b, product, quotient):
        i = cuda.grid(1)
        if i < a.size:
            product[i] = a[i] * b[i]
            quotient[i] = a[i] / b[i]

    kernel[1, 128](a, b, product, quotient)
    for x, y, times, over in zip(values, values[::-1], product, quotient, strict=True):
        assert same(times, x * y) and same(over, x / y), (x, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs(dtype):
    x = np.array([0.0, -0.75, 8.5, -1e30, 5e-39, INF, -INF], dtype)
    parts = np.zeros((4, len(x)), dtype)

    @cuda.jit
    def kernel(x, parts):
        i = cuda.grid(1)
        if i < x.size:
            parts[0, i], parts[1, i] = math.frexp(x[i])
            parts[2, i], parts[3, i] = math.modf(x[i])

    kernel[1, 8](x, parts)
    wanted = [(*math.frexp(v), *math.modf(v)) for v in x.tolist()]
    np.testing.assert_array_equal(parts.T, np.array(wanted, dtype))


def extremes(function, pairs, dtype):
    a, b = (np.array(side, dtype) for side in zip(*pairs, strict=True))
    out = np.zeros(len(a), dtype)

    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = function(a[i], b[i])

    kernel[1, 32](a, b, out)
    return out


NAN_PAIRS = [(NAN, 1), (1, NAN), (NAN, NAN), (2, 3), (3, 2), (-INF, NAN)]


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_of_nan_are_numpys(name, dtype):
    ufunc = getattr(np, name)
    a, b = (np.array(side, dtype) for side in zip(*NAN_PAIRS, strict=True))
    np.testing.assert_array_equal(extremes(ufunc, NAN_PAIRS, dtype), ufunc(a, b))


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_extremes_of_integers(name):
    pairs = [(-128, 127), (5, 5), (0, -1), (100, 3)]
    a, b = (np.array(side, np.int8) for side in zip(*pairs, strict=True))
    ufunc = getattr(np, name)
    np.testing.assert_array_equal(extremes(ufunc, pairs, np.int8), ufunc(a, b))


@pytest.mark.parametrize("function", [max, min])
def test_pythons_extremes_take_the_number_beside_a_nan(function):
    """As CUDA's fmax and fmin, which Numba calls for them; Python itself takes the first."""
    found = extremes(function, NAN_PAIRS, np.float32)
    assert found[:2].tolist() == [1, 1] and math.isnan(found[2]) and found[5] == -INF


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("np.sqrt(x[0])", "use math.sqrt"),
        ("np.exp(x[0])", "use math.exp"),
        ("np.arctan2(x[0], np.float16(1))", "use math.atan2"),
        ("np.add(x[0], x[0])", "no np.add for numbers"),
        ("math.cbrt(x[0])", "no math.cbrt for numbers"),
        ("math.sqrt(z[0])", "no math.sqrt for complex64"),
        ("cmath.polar(x[0])[0]", "no cmath.polar for float32"),
        ("cuda.ffs(np.int8(3))", "no cuda.ffs for int8"),
        ("cuda.selp(x[0] > 0, 1, 2.0)", "no cuda.selp for int64 and float64"),
        ("cuda.selp(1, 1, 2)", "asks for a bool"),
        ("min(x[0], x[0] > 0)", r"no min\(float32, bool\)"),
        ("(x[0] > 0).real", "a bool has no .real"),
        ("float(x[0] > 0)", r"no float\(\) for a bool"),
        ("1 if np.float16(x[0]) else 0", "compare it"),
        ("cuda.libdevice.expm2(x[0])", "is not supported here"),
    ],
)
def test_what_numba_refuses_is_refused_with_a_cure(tmp_path, written, hint):
    """The same kernels, given to numba-cuda's own compiler, are refused as well."""
    file = tmp_path / "kernels.py"
    file.write_text(
        f"import math, cmath\nimport numpy as np\ndef kernel(x, z, out):\n    out[0] = {written}\n"
    )
    space = {"cuda": cuda, "__name__": "kernels"}
    exec(compile(file.read_text(), str(file), "exec"), space)
    x, z, out = np.ones(1, np.float32), np.ones(1, np.complex64), np.zeros(1)
    with pytest.raises(CompileError, match=hint):
        cuda.jit(space["kernel"])[1, 1](x, z, out)
    assert out[0] == 0
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed here")
    exec("def right(x, z, out):\n    out[0] = x[0]", space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_numba(space, "right", x, z, out)
        with pytest.raises(Exception, match=r"."):  # of many kinds, some of them by mistake
            by_numba(space, "kernel", x, z, out)


def by_numba(space, name, *arguments):
    """Compiles a kernel with numba-cuda, for a GPU that need not exist."""
    from numba import cuda as numbas
    from numba import typeof

    space["cuda"] = numbas
    device = SimpleNamespace(compute_capability=(7, 5))
    with patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        numbas.compile_ptx(space[name], tuple(map(typeof, arguments)), cc=(7, 5))


def test_functions_of_libdevice_with_two_results():
    @cuda.jit
    def kernel(x, single, out):
        i = cuda.grid(1)
        out[i, 0], out[i, 1] = cuda.libdevice.sincos(x[i])
        out[i, 2], out[i, 3] = cuda.libdevice.sincospi(x[i])
        out[i, 4], out[i, 5] = cuda.libdevice.frexp(x[i])
        out[i, 6], out[i, 7] = cuda.libdevice.modf(x[i])
        single[i, 0], single[i, 1] = cuda.libdevice.sincosf(single[i, 0])
        single[i, 2], single[i, 3] = cuda.libdevice.fast_sincosf(single[i, 2])

    x = np.array([0.3, 1.75, -2.5, 8])
    out, single = np.zeros((4, 8)), np.repeat(x[:, None], 4, 1).astype(np.float32)
    kernel[1, 4](x, single, out)
    turned = np.pi * x
    for i, expected in enumerate(
        (np.sin(x), np.cos(x), np.sin(turned), np.cos(turned), *np.frexp(x), *np.modf(x))
    ):
        np.testing.assert_allclose(out[:, i], expected, atol=1e-14)
    for i, expected in enumerate((np.sin(x), np.cos(x)) * 2):
        np.testing.assert_allclose(single[:, i], expected, atol=1e-6)
