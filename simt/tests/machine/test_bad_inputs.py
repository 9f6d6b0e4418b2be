"""What a learner may hand over by mistake: a sentence each time, and the arrays untouched."""

import re
import signal

import numpy as np
import pytest

from numba_simt import cuda, profile
from numba_simt.errors import KernelError
from numba_simt.execution import machine


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def first(x):
    x[0] = 3


@cuda.jit
def scalar(x):
    x[()] = 3


@cuda.jit
def compare(x):
    if x[0] < x[1]:
        x[0] = 1


@cuda.jit
def count(x):
    for _ in range(x[0]):
        x[0] = 1


@cuda.jit
def index(x):
    x[x[0]] = 1


@cuda.jit
def large_shared(x):
    tile = cuda.shared.array(1 << 20, np.float64)
    tile[0] = 1
    x[0] = tile[0]


@cuda.jit
def large_local(x):
    mine = cuda.local.array(60_000, np.float64)
    mine[0] = 1
    x[0] = mine[0]


class Odd:
    def __array__(self, *_, **__):
        raise ValueError("not now")


def works():
    """The machine is as good as new."""
    x = np.zeros(3)
    add_one[1, 32](x)
    return x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("kernel", "x", "said"),
    [
        (add_one, np.zeros((0, 3)), r"x\[i\] \+= 1.*no \+= for arrays here"),
        (add_one, np.array(5.0), r"x\[i\] \+= 1.*0-d array x has 0 indices"),
        (first, np.zeros(0), r"x\[0\] = 3.*length there is 0"),
        (first, np.array(5.0), r"x\[0\] = 3.*0-d array"),
        (compare, np.zeros(2, complex), r"if x\[0\] < x\[1\].*no `<` for complex128"),
        (count, np.zeros(2, complex), "range takes one to three real numbers"),
        (index, np.zeros(2, complex), "an integer is needed, not a complex128"),
        (index, np.zeros(2), "an index must be an integer, and .* is a float64"),
        (index, np.zeros(2, bool), "an integer is needed, not a bool"),
        (large_shared, np.zeros(1), "a block has 49,152 B"),
        (add_one, np.zeros((1,) * 7), "7 dimensions is too much"),
        (add_one, "text", "is a str"),
        (add_one, [1, 2], "is a list"),
        (add_one, None, "is a NoneType"),
        (add_one, 2**70, "holds object"),
        (add_one, Odd(), "no array of numbers: not now"),
        (add_one, np.array([None]), "holds object"),
        (add_one, np.array(["a"]), "holds <U1"),
        (add_one, np.zeros(3, [("a", "f4")]), "is a record, no number"),
        (add_one, np.zeros(3, [("a", object)]), "holds"),
        (add_one, np.zeros(3, "M8[s]"), r"holds datetime64\[s\]"),
        (add_one, np.zeros(3, np.longdouble), "holds"),
        (add_one, np.zeros(3, ">f4"), "native byte order"),
        (add_one, np.zeros(8)[::2], "not contiguous"),
        (add_one, np.broadcast_to(np.zeros(1), (3,)), "not contiguous"),
    ],
)
def test_arguments(kernel, x, said):
    before = x.copy() if isinstance(x, np.ndarray) else x
    with pytest.raises(KernelError, match=said):
        kernel[1, 32](x)
    if isinstance(x, np.ndarray) and x.dtype != object:
        np.testing.assert_array_equal(x, before)
    assert works()


@pytest.mark.parametrize(
    "grid",
    [0, -1, 1.5, float("nan"), True, 2**31, 10**30, (1, 70_000), (1, 1, 1, 1), (), "1", None],
)
def test_grids(grid):
    with pytest.raises(KernelError, match="grid"):
        add_one[grid, 32](np.zeros(3))


@pytest.mark.parametrize("block", [0, -1, 1.5, 2000, (32, 33), (1, 1, 65), (), None])
def test_blocks(block):
    with pytest.raises(KernelError, match="block"):
        add_one[1, block](np.zeros(3))


def test_more_warps_than_can_be_counted():
    with pytest.raises(KernelError, match="more warps"):
        add_one[2**31 - 1, 1024](np.zeros(3))


@pytest.mark.parametrize("dtype", "?bhilBHILefdFD")
def test_arrays_without_elements_and_without_dimensions(dtype):
    empty, zero = np.zeros(0, dtype), np.zeros((), dtype)
    add_one[2, 32](empty)
    assert profile(add_one, 2, 32, empty).hazards == []
    scalar[1, 1](zero)
    assert zero == np.array(3).astype(dtype)


def test_functions_without_a_source():
    space = {}
    exec("def kernel(x):\n    x[0] = 1", space)
    x = np.zeros(1)
    with pytest.raises(KernelError, match="source cannot be read"):
        cuda.jit(space["kernel"])[1, 1](x)
    with pytest.raises(KernelError, match="source cannot be read"):
        cuda.jit(eval("lambda x: None"))[1, 1](x)
    cuda.jit(lambda x: None)[1, 1](x)
    with pytest.raises(KernelError, match="a kernel returns nothing"):
        cuda.jit(lambda x: x[0])[1, 1](x)
    for thing in (len, int, np.sqrt):
        with pytest.raises(KernelError, match="takes a Python function"):
            cuda.jit(thing)
    for thing in (5.5, object(), "void(nothing)"):
        with pytest.raises(KernelError, match="is no signature"):
            cuda.jit(thing)(add_one.py_func)
    assert x[0] == 0


def test_ctrl_c_comes_through_while_blocks_take_much_memory(monkeypatch):
    """Each block of this launch fills half a gigabyte; there are a hundred thousand."""
    slices, simt_run = [], machine._library().simt_run

    def interrupted(*given):
        slices.append(simt_run(*given))
        signal.raise_signal(signal.SIGINT)
        return slices[-1]

    x, before = np.zeros(1), signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(machine._library(), "simt_run", interrupted)
        large_local[100_000, 1024](x)
    signal.signal(signal.SIGINT, before)
    assert slices == [machine.MORE] and x[0] == 0 and works()


@cuda.jit
def half_of_an_argument(x, n):
    x[n // 2] = 1


@cuda.jit
def half_of_the_thread(x, n):
    i = cuda.grid(1) / 2
    x[i] = 1


@cuda.jit
def place_from_data(x, n):
    k = x[0] * 2
    x[1 : k // 2] = 1


@cuda.jit
def halved_in_place(x, n):
    i = 8
    i /= 2
    x[i] = 1


@cuda.jit
def one_of_two(x, n):
    i, (k, j) = 1, (2, cuda.threadIdx.x / 2)
    x[i + k + j] = 1


FLOATS = {
    half_of_an_argument: r"because the argument `n` is a float; // and %.*: write int\(n // 2\)",
    half_of_the_thread: r"/ always gives a float: `cuda.grid\(1\) / 2` \(in `i`\): use //",
    place_from_data: r"`x\[0\]` \(in `k`\) is an element of an array of floats; .*int\(k // 2\)",
    halved_in_place: r"/ always gives a float: `i / 2` \(in `i`\): use //",
    one_of_two: r"/ always gives a float: `cuda.threadIdx.x / 2` \(in `j`\): use //",
}


@pytest.mark.parametrize("kernel", FLOATS, ids=lambda kernel: kernel.__name__)
def test_a_float_index_is_told_what_makes_it_one(kernel):
    with pytest.raises(KernelError) as error:
        kernel[1, 1](np.zeros(4), 3.0)
    assert re.match(r"line \d+: `x\[.*\] = 1`: an index must be", str(error.value))
    assert re.search(FLOATS[kernel], str(error.value)), str(error.value)


def test_a_refusal_stands_right_below_the_launch():
    """The traceback ends in the launch: none of the compiler's frames, and no other error."""
    with pytest.raises(KernelError) as error:
        half_of_an_argument[1, 1](np.zeros(4), 3.0)
    frames = [entry.path.name for entry in error.traceback]
    assert set(frames[1:]) <= {"dispatcher.py"} and len(frames) <= 5
    assert error.value.__cause__ is None and error.value.__suppress_context__
