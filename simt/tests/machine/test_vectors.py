"""Vector types, enumerations, loads with hints, arrays of other libraries, In and Out."""

import ctypes
from enum import Enum, IntEnum

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import CompileError, UsageError

numba = pytest.importorskip("numba")


class Colour(Enum):
    red = 1
    blue = 2.5
    crimson = 1


class Shape(IntEnum):
    circle = 2
    square = 500


def run(kernel, n=4, dtype=np.float64):
    out = np.zeros(n, dtype)
    cuda.jit(kernel)[1, 1](out)
    return out.tolist()


def test_vectors_are_made_of_numbers_and_of_vectors():
    def kernel(out):
        pair = cuda.float32x2(1, 2.7)
        v = cuda.float4(pair, cuda.float32x1(3), 0.1)
        out[0] = v.x
        out[1] = v.y
        out[2] = v.z
        out[3] = v.w

    assert run(kernel) == [1, np.float32(2.7), 3, np.float32(0.1)]


def test_vectors_go_through_variables_branches_and_functions():
    @cuda.jit(device=True)
    def turned(v):
        return cuda.short2(v.y, v.x + 70000)

    @cuda.jit
    def kernel(x, out):
        i = cuda.threadIdx.x
        v = cuda.int16x2(x[i], 5)
        if i > 1:
            v = turned(v)
        w = cuda.int16x2(-1, -2)
        v, w = w, v
        out[i, 0] = w.x
        out[i, 1] = w.y
        out[i, 2] = v.x

    out = np.zeros((4, 3), np.int64)
    kernel[1, 4](np.arange(4), out)
    assert out.tolist() == [[0, 5, -1], [1, 5, -1], [5, 4466, -1], [5, 4467, -1]]


def test_two_tuples_and_two_slices_change_places():
    def kernel(out):
        a, b = (1, 2), (3, 4)
        a, b = b, a
        out[0] = a[0] + 10 * a[1] + 100 * b[0] + 1000 * b[1]
        low, high = out[1:2], out[2:3]
        low, high = high, low
        low[0] = 8
        high[0] = 9

    assert run(kernel, 3) == [2143, 9, 8]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("cuda.float32x2(1, 2, 3)", "made of 2 numbers, not of 3"),
        ("cuda.float32x3(cuda.float64x2(1, 2), 1)", "made of float32s, not of a float64x2"),
        ("cuda.float32x2(1j, 1)", "not of a complex128"),
        ("cuda.float32x2(1, 2).z", "has no .z"),
        ("cuda.float32x2(1, 2)[0]", "cannot be indexed"),
        ("cuda.float32x2(1, 2) + 1", "float32x2"),
        ("out[cuda.ldcg(out, (0, 0))]", "takes 1 indices here, not 2"),
        ("Shape['oval']", "has the members circle, square"),
        ("out[0].value", "has no .value"),
    ],
)
def test_what_is_refused(line, why, tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(f"def kernel(out):\n    v = {line}\n    out[0] = 1\n")
    names = {"cuda": cuda, "Shape": Shape}
    exec(compile(path.read_text(), path, "exec"), names)
    with pytest.raises(CompileError, match=why):
        run(names["kernel"])


def test_types_are_names_of_cuda_in_kernels_too():
    def kernel(out):
        part = cuda.local.array(2, cuda.float32)
        part[0] = 0.1
        out[0] = part[0]
        out[1] = cuda.int8(300)

    assert run(kernel, 2) == [np.float32(0.1), 44]


def test_enumerations():
    def kernel(out):
        out[0] = Shape.circle + Shape["square"].value
        out[1] = Colour.red == Colour.blue
        out[2] = Colour["red"] is Colour.crimson
        out[3] = Colour.blue.value

    assert run(kernel) == [502, 0, 1, 2.5]

    @cuda.jit
    def given(shape, out):
        out[0] = 1 if shape == Shape.square else 2

    out = np.zeros(1)
    given[1, 1](Shape.square, out)
    assert out[0] == 1


def test_loads_and_stores_with_hints():
    @cuda.jit
    def kernel(x, out):
        i = cuda.threadIdx.x
        cuda.stcs(out, (i, 0), cuda.ldca(x, i) + cuda.ldcg(x, i))
        cuda.stwt(out, (i, 1), cuda.ldcv(x, 3 - i) + cuda.ldlu(x, 0) + cuda.ldcs(x, 1))

    x, out = np.arange(4.0), np.zeros((4, 2))
    kernel[1, 4](x, out)
    assert out.tolist() == [[0, 4], [2, 3], [4, 2], [6, 1]]


@cuda.jit
def add_one(x):
    x[cuda.grid(1)] += 1


class Foreign:
    """An array of another library, of which only the interface is known."""

    def __init__(self, array, address=None):
        self.array = array
        data = address or array.ctypes.data
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "data": (data, False),
            "version": 3,
        }


def test_arrays_of_others_are_shared():
    array = np.arange(8.0)
    view = cuda.as_cuda_array(Foreign(array[::-2]))
    assert view.strides == (-16,) and view[0] == 7
    add_one[1, 4](view)
    add_one[1, 8](Foreign(array))
    assert array.tolist() == [1, 3, 3, 5, 5, 7, 7, 9]
    assert (
        cuda.from_cuda_array_interface(Foreign(np.zeros((0, 3))).__cuda_array_interface__).size == 0
    )
    with pytest.raises(UsageError, match="lies on a GPU"):
        cuda.as_cuda_array(Foreign(array, address=0x30_0000_0000_0000))
    with pytest.raises(UsageError, match="use to_device"):
        cuda.as_cuda_array(array)


def test_tensors_are_shared():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(4.0)
    add_one[1, 4](cuda.as_cuda_array(tensor))
    add_one[1, 4](tensor)
    add_one[1, 4](cuda.as_cuda_array(tensor.detach()))
    assert tensor.tolist() == [3, 4, 5, 6]


def test_wrapped_arguments():
    @cuda.jit
    def kernel(given, taken):
        i = cuda.grid(1)
        taken[i] = given[i] + 1
        given[i] = 0

    x, y = np.ones(4), np.full(4, 7.0)
    kernel[1, 4](cuda.In(x), cuda.Out(y))
    assert x.tolist() == [1] * 4 and y.tolist() == [2] * 4
    kernel[1, 4](cuda.InOut(x), cuda.Out(cuda.to_device(y)))
    assert x.tolist() == [0] * 4

    @cuda.jit
    def half(taken):
        taken[0] = 1

    half[1, 1](cuda.Out(y))
    assert y[0] == 1 and np.isnan(y[1:]).all()


def test_addresses_of_this_process_are_told_from_others():
    buffer = (ctypes.c_double * 3)(1, 2, 3)
    array = np.ctypeslib.as_array(buffer)
    assert cuda.as_cuda_array(Foreign(array)).copy_to_host().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("interface", "why"),
    [
        ({"shape": (8,), "typestr": "<zz", "data": (64, False)}, "describes no array: data type"),
        ({"shape": 8, "typestr": "<f4", "data": (64, False)}, "describes no array: 'int'"),
        ({"shape": (8,), "typestr": "<f4"}, "has no 'data'"),
        (5, "is a dict, not 5"),
        (
            {"shape": (8,), "typestr": "<f4", "data": (64, False), "strides": (4, 4)},
            "no array: zip",
        ),
    ],
)
def test_what_describes_no_array_is_refused(interface, why):
    with pytest.raises(UsageError, match=why):
        cuda.from_cuda_array_interface(interface)
