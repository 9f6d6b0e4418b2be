"""Functions of numbers that the SIMT machine computes from simpler ones.

The compiler inlines them as it inlines device functions, so they are written as kernels are.
"""

import cmath
import math

import numpy as np

from numba_simt.in_kernel import InKernel

cuda = InKernel("")  # inside a kernel: numba.cuda
LOG_10, LOG_2 = math.log(10), math.log(2)


def round_to(x, ndigits):
    """x rounded to `ndigits` decimals, halves to even: round(x, ndigits)"""
    if math.isnan(x) or math.isinf(x):
        return x
    if ndigits < 0:
        scale = 10.0**-ndigits
        return nearest(x / scale) * scale
    if ndigits > 22:  # in two factors, so that neither of them overflows
        first, second = 10.0 ** (ndigits - 22), 1e22
    else:
        first, second = 10.0**ndigits, 1.0
    y = (x * first) * second
    if math.isinf(y):
        return x
    return (nearest(y) / second) / first


def nearest(y):
    """The whole number next to y, halves to even; as in Numba for CUDA, within int64."""
    whole = round(y)
    if math.fabs(y - whole) == 0.5:
        return 2.0 * round(y / 2.0)
    return float(whole)


def sincos(x):
    """The sine and the cosine of x: cuda.libdevice.sincos(x)"""
    return math.sin(x), math.cos(x)


def sincospi(x):
    """The sine and the cosine of pi x: cuda.libdevice.sincospi(x)"""
    return cuda.libdevice.sinpi(x), cuda.libdevice.cospi(x)


def reciprocal(x):
    """1 / x in half precision"""
    return np.float16(1.0) / x


def ordered_unequal(x, y):
    """cuda.fp16.hne: not equal, and neither is NaN"""
    return x < y or x > y


def phase(z):
    """The angle of z: cmath.phase(z)"""
    return math.atan2(z.imag, z.real)


def polar(z):
    """The length and the angle of z: cmath.polar(z)"""
    return math.hypot(z.real, z.imag), math.atan2(z.imag, z.real)


def rect(r, phi):
    """The number of length r and angle phi: cmath.rect(r, phi)"""
    if not math.isfinite(phi):  # no direction: of length 0 it does not matter
        if r == 0:
            return complex(abs(r), abs(r))
        if math.isinf(r):
            return complex(r, phi)
    return complex(scaled(math.cos(phi), r), scaled(math.sin(phi), r))


def scaled(part, r):
    """part * r, where 0 times infinity is a 0 with their sign"""
    return part / r if part == 0 and math.isinf(r) else part * r


def log_to_base(z, base):
    """cmath.log(z, base)"""
    return cmath.log(z) / cmath.log(base)


def arccosh_of_complex(z):
    """np.arccosh(z): on the lower side of its cut, where the imaginary part is -0, Numba's sign"""
    w = cmath.acosh(z)
    if z.imag == 0 and math.copysign(1.0, z.imag) < 0 and z.real <= -1:
        return complex(-w.real, -w.imag)
    return w


def log10_of_complex(z):
    """cmath.log10(z), np.log10(z)"""
    natural = cmath.log(z)
    return complex(natural.real / LOG_10, natural.imag / LOG_10)


def log2_of_complex(z):
    """np.log2(z)"""
    natural = cmath.log(z)
    return complex(natural.real / LOG_2, natural.imag / LOG_2)


def complex_less(a, b):
    """a < b by the real parts, then by the imaginary ones"""
    apart = a.real < b.real and a.imag == a.imag and b.imag == b.imag
    return apart or (a.real == b.real and a.imag < b.imag)


def complex_less_equal(a, b):
    """a <= b in the same order"""
    apart = a.real < b.real and a.imag == a.imag and b.imag == b.imag
    return apart or (a.real == b.real and a.imag <= b.imag)


def complex_greater(a, b):
    """a > b in the same order"""
    return complex_less(b, a)


def complex_greater_equal(a, b):
    """a >= b in the same order"""
    return complex_less_equal(b, a)


def complex_maximum(a, b):
    """The greater one; the first NaN, if there is one"""
    if a != a:
        return a
    return a if complex_greater_equal(a, b) and b == b else b


def complex_minimum(a, b):
    """The smaller one; the first NaN, if there is one"""
    if a != a:
        return a
    return a if complex_less_equal(a, b) and b == b else b


def complex_fmax(a, b):
    """The greater one; of a NaN and a number, the number"""
    if b != b:
        return a
    return a if complex_greater_equal(a, b) and a == a else b


def complex_fmin(a, b):
    """The smaller one; of a NaN and a number, the number"""
    if b != b:
        return a
    return a if complex_less_equal(a, b) and a == a else b
