"""print() in kernels: what is written, where it goes, in which order, and how much of it."""

import contextlib
import ctypes
import io

import numpy as np
import pytest

from numba_simt import cuda, profile
from numba_simt.errors import CompileError, KernelError
from numba_simt.execution import printing

OUTSIDE = "50 % off"


def said(launch, *arguments):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        launch(*arguments)
    return text.getvalue()


def by_c(pattern, number):
    """What C's printf makes of it."""
    buffer = ctypes.create_string_buffer(400)
    ctypes.CDLL(None).snprintf(buffer, len(buffer), pattern, number)
    return buffer.value.decode()


def test_floats_are_written_as_c_writes_them():
    @cuda.jit
    def show(x):
        print(x[cuda.threadIdx.x])

    numbers = [0.1, -0.0, 1e300, 1e-9, 2.5, -1234567.891, np.inf, -np.inf, np.nan]
    expected = [by_c(b"%f", ctypes.c_double(one)) for one in numbers]
    assert said(show[1, len(numbers)], np.array(numbers)).splitlines() == expected
    singles = np.array(numbers[:1] + numbers[4:6], np.float32)
    expected = [by_c(b"%f", ctypes.c_double(float(one))) for one in singles]
    assert said(show[1, 3], singles).splitlines() == expected


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integers_keep_their_sign(dtype):
    @cuda.jit
    def show(x):
        print(x[cuda.threadIdx.x])

    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    assert said(show[1, 2], ends).split() == [str(one) for one in ends.tolist()]


def test_bools_texts_tuples_and_positions():
    @cuda.jit
    def show(x):
        i = cuda.threadIdx.x
        pair = (i, x[i])
        print("100 %s", x[i] > 1, True, pair, (i,), OUTSIDE, cuda.threadIdx, cuda.blockDim)
        print()

    lines = said(show[1, 2], np.array([1.0, 2.0])).split("\n")
    assert lines == [
        "100 %s False True (0, 1.000000) (0,) 50 % off (0, 0, 0) (2, 1, 1)",
        "100 %s True True (1, 2.000000) (1,) 50 % off (1, 0, 0) (2, 1, 1)",
        *("", "", ""),
    ]


def test_lanes_print_in_order_and_only_the_active_ones():
    @cuda.jit
    def show():
        i = cuda.grid(1)
        for k in range(i):
            if k % 2:
                print(i, k)

    expected = []
    for block in range(2):
        for k in range(1, 40, 2):
            expected += [f"{i} {k}" for i in range(20 * block, 20 * block + 20) if k < i]
    assert said(show[2, 20]).splitlines() == expected


def test_a_device_function_prints_and_a_profile_does():
    @cuda.jit(device=True)
    def tell(x):
        print("told", x)
        return x

    @cuda.jit
    def show(x):
        x[0] = tell(7) + tell(8)

    x = np.zeros(1)
    assert said(show[1, 1], x) == "told 7\ntold 8\n" and x[0] == 15
    assert said(profile, show, 1, 1, x) == "told 7\ntold 8\n"


def test_what_was_printed_before_a_stop_is_there():
    @cuda.jit
    def show(x):
        print("before")
        x[9] = 1

    text = io.StringIO()
    with contextlib.redirect_stdout(text), pytest.raises(KernelError, match="Out of bounds"):
        show[1, 1](np.zeros(2))
    assert text.getvalue() == "before\n"


def test_a_million_lines_are_counted_and_the_first_are_kept():
    @cuda.jit
    def show(n):
        for k in range(n):
            print(k)

    with pytest.warns(RuntimeWarning, match="printed 1,001,472 lines.*first 100,000"):
        lines = said(show[1, 32], 31296).splitlines()
    assert len(lines) == printing.LINES and lines[-1] == str((printing.LINES - 1) // 32)
    assert said(show[1, 1], 3) == "0\n1\n2\n"


def test_more_than_32_things_are_not_printed_as_in_cuda():
    @cuda.jit
    def show(x):
        print(1, 2, 3, 4, 5, 6, 7, 8, 9, x[0], 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
              21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33)  # fmt: skip

    with pytest.warns(RuntimeWarning, match="cannot print more than 32 items"):
        text = said(show[1, 1], np.ones(1))
    assert text.split() == 9 * ["%lld"] + ["%f"] + 23 * ["%lld"]


def test_what_cannot_be_printed_is_named_with_its_line():
    @cuda.jit
    def array(x):
        print("x", x)

    @cuda.jit
    def ended(x):
        print(x[0], end="")

    @cuda.jit
    def complex_(x):
        print(x[0] * 1j)

    for kernel, why in (
        (array, r'`print\("x", x\)`: .*not the 1-d array x'),
        (ended, "`print` takes other arguments.*end"),
        (complex_, "not a complex128"),
    ):
        with pytest.raises(CompileError, match=why):
            kernel[1, 1](np.zeros(2))
