"""load_float32x4 and its kin: on the SIMT machine, and as the real compiler sees them."""

import numpy as np
import pytest
from numba import float32, uint32

from labkit.gpu import (
    compile_report,
    load_float32x4,
    load_uint32x4,
    profile,
    store_float32x4,
    store_uint32x4,
)
from numba_simt import cuda
from numba_simt.errors import CompileError, KernelError
from numba_simt.execution.hazards import HazardError, OutOfBounds
from numba_simt.extensions import vector


@cuda.jit
def reverse(x, y):
    """Each row of y is that of x, backwards, through shared memory."""
    tile = cuda.shared.array((2, 4, 32), float32, alignment=16)
    row, column = uint32(cuda.threadIdx.y), uint32(cuda.threadIdx.x) * uint32(4)
    a, b, c, d = load_float32x4(x, (row, column))
    store_float32x4(tile[1], (row, uint32(28) - column), d, c, b, a)
    cuda.syncthreads()
    a, b, c, d = load_float32x4(tile, (1, row, column))
    store_float32x4(y, (row, column), a, b, c, d)


@cuda.jit
def double(x, y):
    i = uint32(cuda.grid(1)) * uint32(4)
    a, b, c, d = load_uint32x4(x, i)
    store_uint32x4(y, i, a * uint32(2), b * uint32(2), c * uint32(2), d * uint32(2))


def test_rows_and_shared_memory_move_in_pieces_of_16_bytes():
    x = np.arange(128, dtype=np.float32).reshape(4, 32)
    y = np.zeros_like(x)
    seen = profile(reverse, 1, (8, 4), x, y)
    assert (y == x[:, ::-1]).all() and not seen.hazards
    for space in ("global", "shared"):
        for way in ("load", "store"):
            assert seen.counters[f"{space}_{way}_requests"] == 1
            assert seen.counters[f"{space}_{way}_bytes"] == 512
    assert seen.counters["shared_load_transactions"] == 4  # a quarter of a warp at a time
    assert seen.counters["bank_conflicts"] == 0


def test_all_32_bits_of_an_unsigned_integer_move():
    x = np.random.default_rng(0).integers(0, 2**32, 128, dtype=np.uint32)
    y = np.zeros_like(x)
    double[1, 32](x, y)
    assert (y == 2 * x).all()


def launch(body, x, threads=1):
    kernel = cuda.jit(body)
    profiled = profile(kernel, 1, threads, x)
    kernel[1, threads](x)
    return profiled


def test_what_does_not_fit_is_refused_with_a_sentence():
    def slice_of(x):
        load_float32x4(x[::2], 0)

    def turned(x):
        load_float32x4(x.T, (0, 0))

    def too_few(x):
        load_float32x4(x, 0)

    def integers(x):
        load_uint32x4(x, (0, 0))

    flat, square = np.zeros(16, np.float32), np.zeros((8, 8), np.float32)
    for body, x in ((slice_of, flat), (turned, square), (integers, square)):
        with pytest.raises(CompileError, match="needs a C-contiguous array of"):
            launch(body, x)
    with pytest.raises(CompileError, match="an index for each axis"):
        launch(too_few, square)

    def corner(x):
        load_float32x4(x, (0, 0))

    for x in (np.asfortranarray(np.ones((8, 4), np.float32)), cuda.to_device(square)[:, :4]):
        refusal = "needs a C-contiguous array of float32: the 2-d array x is"
        with pytest.raises(CompileError, match=refusal):
            launch(corner, x)


def test_a_piece_that_crosses_the_end_of_a_row_or_its_16_bytes_is_found():
    def crossing(x):
        store_float32x4(x, (0, 4), 1.0, 2.0, 3.0, 4.0)

    def askew(x):
        load_float32x4(x, (0, 2))

    x = np.zeros((2, 6), np.float32)
    with pytest.raises(OutOfBounds, match="7"):
        launch(crossing, x)
    assert not x.any()
    with pytest.raises(HazardError, match="16"):
        launch(askew, np.zeros((2, 8), np.float32))
    with pytest.raises(KernelError, match="inside a kernel only"):
        vector.store_uint32x4(x, 0, 1, 2, 3, 4)


def test_the_compiler_makes_one_instruction_of_each():
    pytest.importorskip("numba_cuda")
    report = compile_report(reverse, "void(float32[:, ::1], float32[:, ::1])", "sm_75")
    each = ["ld.global.v4", "ld.shared.v4", "st.global.v4", "st.shared.v4"]
    assert report.accesses == dict.fromkeys(each, 1) and not report.lint
    assert "ld.global.v4.f32" in report.ptx or "ld.global.nc.v4.f32" in report.ptx
    report = compile_report(double, "void(uint32[::1], uint32[::1])", "sm_90")
    assert report.accesses == dict.fromkeys(each[::2], 1) and not report.lint


def test_numbas_own_kernels_know_them_by_global_and_by_closure():
    pytest.importorskip("numba_cuda")
    from numba import cuda as numba_cuda

    def build(load, store):
        @numba_cuda.jit
        def kernel(x, y):
            _, b, c, d = load(x, -4)
            store(y, numba_cuda.grid(1), d, c, b, 0.5)  # a float64 is converted

        return kernel

    report = compile_report(
        build(load_float32x4, store_float32x4), "void(float32[::1], float32[::1])"
    )
    assert report.accesses == {"ld.global.v4": 1, "st.global.v4": 1}
    assert "wrapped round" in report.lint[0]
    for wrong in ("float64[::1]", "float32[:]", "float32[::1, :]", "uint32[::1]"):
        with pytest.raises(ValueError, match="load_float32x4"):
            compile_report(build(load_float32x4, store_float32x4), f"void({wrong}, float32[::1])")


@cuda.jit
def unaligned(x):
    odd = cuda.shared.array(1, "float32")
    four = cuda.shared.array(64, "float32")
    odd[0], four[cuda.threadIdx.x] = x[0], x[cuda.threadIdx.x]
    cuda.syncthreads()
    a, b, c, d = load_float32x4(four, 0)
    x[cuda.threadIdx.x] = a + b + c + d


@cuda.jit
def aligned_to_three(x):
    three = cuda.shared.array(64, "float32", alignment=3)
    three[cuda.threadIdx.x] = x[cuda.threadIdx.x]


def test_shared_memory_must_be_aligned_as_on_a_gpu():
    x = np.zeros(64, np.float32)
    with pytest.raises(KernelError, match="make the array with alignment=16"):
        unaligned[1, 64](x)
    with pytest.raises(KernelError, match="a constant power of 2"):
        aligned_to_three[1, 64](x)
