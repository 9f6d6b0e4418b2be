"""labkit.gpu.compile_report: what the compiler says, counts of the PTX, and what the lint finds."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
pytest.importorskip("cuda.bindings.nvjitlink")
from cuda.bindings import nvjitlink
from numba import cuda as numba_cuda
from numba import float32, types, uint32

from labkit.gpu import compile_report, compiled_kernel, compiler, occupancy
from labkit.gpu import ptx as assembly
from labkit.gpu.compiled_kernel import UNITS
from labkit.gpu.ptx import fours, instructions
from numba_simt import cuda
from numba_simt.cuda import grid, syncthreads

MATRIX, VECTOR = "float32[:, ::1]", "float32[::1]"
MATMUL = f"void({MATRIX}, {MATRIX}, {MATRIX})"
MAP = f"void({VECTOR}, {VECTOR})"


@cuda.jit
def register_tiles(a, b, c):
    """c = a b, for shapes that are multiples of 128 and 8; 256 threads hold 8 x 8 of 128 x 128."""
    a_tile = cuda.shared.array((8, 128), float32, alignment=16)  # transposed
    b_tile = cuda.shared.array((8, 128), float32, alignment=16)
    total = cuda.local.array((8, 8), float32)
    column, row = cuda.local.array(8, float32), cuda.local.array(8, float32)
    t = uint32(cuda.threadIdx.x)
    y, x = uint32(cuda.blockIdx.y) * uint32(128), uint32(cuda.blockIdx.x) * uint32(128)
    ty, tx = t // uint32(16) * uint32(8), t % uint32(16) * uint32(8)
    for i in range(8):
        for j in range(8):
            total[i, j] = float32(0)
    for k0 in range(uint32(0), uint32(a.shape[1]), uint32(8)):
        for part in range(4):
            i = t + uint32(256 * part)
            a_tile[i % uint32(8), i // uint32(8)] = a[y + i // uint32(8), k0 + i % uint32(8)]
            b_tile[i // uint32(128), i % uint32(128)] = b[
                k0 + i // uint32(128), x + i % uint32(128)
            ]
        cuda.syncthreads()
        for k in range(8):
            for i in range(8):
                column[i] = a_tile[k, ty + uint32(i)]
                row[i] = b_tile[k, tx + uint32(i)]
            for i in range(8):
                for j in range(8):
                    total[i, j] += column[i] * row[j]
        cuda.syncthreads()
    for i in range(8):
        for j in range(8):
            c[y + ty + uint32(i), x + tx + uint32(j)] = total[i, j]


@cuda.jit(device=True)
def scaled(x, factor):
    return twice(x) * factor


@cuda.jit(device=True)
def twice(x):
    return x + x


@cuda.jit
def scale(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 0.1 * x[i]


@cuda.jit
def scale_well(x, y):
    i = uint32(cuda.grid(1))
    if i < uint32(x.size):
        y[i] = float32(0.1) * x[i]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_register_tiles_reach_the_goal(arch):
    report = compile_report(register_tiles, MATMUL, arch)
    assert (report.spills, report.local_bytes, report.fp64, report.lint) == (0, 0, 0, [])
    assert 64 < report.registers <= 128
    assert report.shared_bytes == 2 * 8 * 128 * 4
    assert report.fma == 64
    assert report.accesses["ld.shared.v4"] == report.vector_loads == 4
    assert report.accesses["ld.global"] == report.scalar_loads > 0  # 8, if NVVM unrolls that loop
    assert report.arch == arch and f".target {arch}" in report.ptx


def test_a_report_tells_how_many_blocks_fit():
    found = occupancy(compile_report(register_tiles, MATMUL), 256)
    assert (found.blocks, found.limiter) == (2, "registers")


def test_a_report_compiles_once_and_reads_each_line_of_the_ptx_a_few_times(lines_run, monkeypatch):
    compiled, linked, reports = [], [], []
    compile_ptx = numba_cuda.compile_ptx

    def compiles(function, *given, **options):
        compiled.append(options["cc"])
        return compile_ptx(function, *given, **options)

    complete = nvjitlink.complete

    def links(handle):
        linked.append(handle)
        return complete(handle)

    monkeypatch.setattr(numba_cuda, "compile_ptx", compiles)
    monkeypatch.setattr(nvjitlink, "complete", links)
    modules = compiler, compiled_kernel, assembly
    lines = lines_run(lambda: reports.append(compile_report(register_tiles, MATMUL)), *modules)
    assert compiled == [(8, 0)] and len(linked) == 1
    assert lines < 100 * len(reports[0].ptx.splitlines())


def line_of(kernel, text):
    source = Path(kernel.py_func.__code__.co_filename).read_text().splitlines()
    first = kernel.py_func.__code__.co_firstlineno
    return next(n for n, line in enumerate(source, 1) if n > first and text in line)


def test_float64_literals_and_signed_indices_are_named_with_their_line():
    report = compile_report(scale, MAP)
    assert report.fp64 == len(re.findall(r"^\s*(?!ld|st|mov)\w\S*\.f64", report.ptx, re.M)) > 0
    place = f"line {line_of(scale, '0.1 * x')}: `y[i] = 0.1 * x[i]`"
    doubles, indices = report.lint
    assert doubles.startswith(f"{report.fp64} float64 instructions ({place}): ")
    assert "float32(0.5)" in doubles
    assert place in indices and "uint32" in indices
    good = compile_report(scale_well, MAP)
    assert (good.fp64, good.lint) == (0, [])
    assert "No cost found" in repr(good)


def test_an_unsigned_number_beside_an_int64_is_a_float64():
    @cuda.jit
    def compare(x, y):
        i = uint32(cuda.grid(1))
        if i + uint32(3) < x.size:  # uint64 < int64
            y[i] = x[i]

    (sentence,) = compile_report(compare, MAP).lint
    assert "`if i + uint32(3) < x.size:" in sentence and "uint64 with int64" in sentence


def test_spills_are_the_compilers():
    free, held = (compile_report(register_tiles, MATMUL, max_registers=n) for n in (None, 64))
    assert free.spills == 0 and free.registers > 64
    assert held.registers <= 64 and held.local_bytes > 0
    assert held.lint == [s for s in held.lint if s.startswith(f"{held.spills} bytes of registers")]
    bounded = compile_report(register_tiles, MATMUL, launch_bounds=(256, 4))
    assert bounded.registers <= 64 and bounded.spills > 0  # 4 blocks of 256 threads share 65,536


def test_a_local_array_indexed_by_a_variable_is_in_local_memory():
    @cuda.jit
    def pick(x, y):
        a = cuda.local.array(64, float32)
        for k in range(64):
            a[k] = x[k]
        y[0] = a[uint32(x[65])]

    report = compile_report(pick, MAP)
    assert report.local_bytes == 256 and report.spills == 0
    assert any("accesses to local memory" in s and "a[uint32(x[65])]" in s for s in report.lint)


@cuda.jit
def four(x, y):
    i = uint32(cuda.grid(1)) * uint32(4)
    total = float32(0)
    for k in range(4):
        total += x[i + uint32(k)]
    y[i] = total


@cuda.jit
def three(x, y):
    i = uint32(cuda.grid(1)) * uint32(4)
    y[i] = x[i] + x[i + uint32(1)] + x[i + uint32(2)]


@cuda.jit
def stencil(x, y):
    i = uint32(cuda.grid(1))
    total = float32(0)
    for k in range(5):
        total += x[i + uint32(k)]
    y[i] = total


@cuda.jit
def rows_of_four(x, y):
    tile = cuda.shared.array(1024, float32)
    i = uint32(cuda.threadIdx.x)
    tile[i] = x[i]
    cuda.syncthreads()
    j = i * uint32(4)
    y[i] = (tile[j] + tile[j + uint32(1)]) + (tile[j + uint32(2)] + tile[j + uint32(3)])


@pytest.mark.parametrize(
    ("kernel", "fours", "space"),
    [(four, 1, "global"), (three, 0, ""), (stencil, 0, ""), (rows_of_four, 1, "shared")],
)
def test_four_neighbours_of_one_lane_should_be_one_load(kernel, fours, space):
    said = [s for s in compile_report(kernel, MAP).lint if "fours" in s]
    assert len(said) == fours
    assert all(s.startswith("1 fours of neighbours") and space in s for s in said)


def test_aligned_shared_arrays_cure_it():
    @cuda.jit
    def aligned(x, y):
        tile = cuda.shared.array(1024, float32, alignment=16)
        i = uint32(cuda.threadIdx.x)
        tile[i] = x[i]
        cuda.syncthreads()
        j = i * uint32(4)
        y[i] = (tile[j] + tile[j + uint32(1)]) + (tile[j + uint32(2)] + tile[j + uint32(3)])

    report = compile_report(aligned, MAP)
    assert report.accesses["ld.shared.v4"] == 1 and report.lint == []


def ptx(*lines):
    return instructions("\n".join(["mov.u32 %r1, %tid.x;", *lines]))


def loads(base, *offsets):
    return [f"ld.global.f32 %f{n}, [{base}+{n}];" for n in offsets]


def test_fours_want_one_base_one_block_and_addresses_16_bytes_apart_between_lanes():
    wide = ["mul.wide.u32 %rd2, %r1, 16;", "add.s64 %rd3, %rd1, %rd2;"]
    narrow = ["shl.b32 %r2, %r1, 3;", "cvt.u64.u32 %rd2, %r2;", "add.s64 %rd3, %rd1, %rd2;"]
    assert len(fours(ptx(*wide, *loads("%rd3", 0, 4, 8, 12)), "global")) == 1
    assert len(fours(ptx(*wide, *loads("%rd3", 12, 20, 16, 24, 4, 8)), "global")) == 1
    assert len(fours(ptx(*wide, *loads("%rd3", *range(0, 32, 4))), "global")) == 2
    assert not fours(ptx(*wide, *loads("%rd3", 0, 4, 8, 16)), "global")
    assert not fours(ptx(*wide, *loads("%rd3", 0, 4, 8, 12)), "shared")
    assert not fours(ptx(*narrow, *loads("%rd3", 0, 4, 8, 12)), "global")
    half = [*loads("%rd3", 0, 4), "@%p1 bra $L1;", *loads("%rd3", 8, 12)]
    assert not fours(ptx(*wide, *half), "global")


def test_vector_loads_of_inline_assembly_are_counted():
    code = "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"
    (load,) = instructions(code)
    assert load.operands == ["{%f1, %f2, %f3, %f4}", "[%rd1]"]


def test_the_same_kernel_costs_the_same_in_our_words_and_in_numbas():
    def build(cuda):
        @cuda.jit(device=True)
        def half(x):
            return x * float32(0.5)

        @cuda.jit
        def kernel(x, y):
            tile = cuda.shared.array(32, float32)
            i = cuda.grid(1)
            tile[cuda.threadIdx.x] = half(x[i])
            cuda.syncthreads()
            y[i] = cuda.shfl_down_sync(0xFFFFFFFF, tile[31 - cuda.threadIdx.x], 1)

        return compile_report(kernel, MAP)

    ours, numbas = build(cuda), build(numba_cuda)
    for name in [*UNITS, "accesses", "lint"]:
        assert getattr(ours, name) == getattr(numbas, name), name


def test_device_functions_and_names_imported_from_cuda_are_translated():
    def kernel(x, y):
        tile = cuda.shared.array(32, float32)
        i = grid(1)
        tile[i] = scaled(x[i], float32(3))
        syncthreads()
        y[i] = tile[31 - i]

    report = compile_report(kernel, MAP)  # not decorated at all
    assert report.shared_bytes == 128 and report.fp64 == 0
    assert kernel.__globals__["grid"] is grid  # the learner's module is as it was


def test_costs_of_a_device_function_are_found_in_its_own_line():
    def kernel(x, y):
        y[0] = scaled(x[0], 0.1)

    line = line_of(scaled, "twice(x) * factor")
    assert f"line {line}: `return twice(x) * factor`" in compile_report(kernel, MAP).lint[0]


def test_options_of_numbas_kernels_count():
    @numba_cuda.jit(fastmath=True)
    def fast(x, y):
        y[0] = x[0] / x[1]

    assert "div.approx" in compile_report(fast, MAP).ptx
    assert "div.approx" not in compile_report(fast, MAP, fastmath=False).ptx
    held = numba_cuda.jit(max_registers=64)(register_tiles.py_func)
    assert compile_report(held, MATMUL).registers <= 64


def test_options_of_our_kernels_and_device_functions_count():
    @cuda.jit(fastmath=True)
    def fast(x, y):
        y[0] = x[0] / x[1]

    @cuda.jit(device=True, inline="always")
    def third(x):
        return x / float32(3)

    def plain(x, y):
        y[0] = third(x[0])

    assert "div.approx" in compile_report(fast, MAP).ptx
    assert "call" not in compile_report(plain, MAP).ptx
    held = cuda.jit(launch_bounds=(256, 4))(register_tiles.py_func)
    assert (
        compile_report(held, MATMUL).registers
        <= 64
        < compile_report(register_tiles, MATMUL).registers
    )
    assert held.targetoptions == {"launch_bounds": (256, 4)}


@pytest.mark.parametrize(
    "signature",
    [
        MAP,
        types.void(types.float32[::1], types.float32[::1]),
        (types.float32[::1], types.float32[::1]),
        [np.zeros(3, np.float32), np.zeros(3, np.float32)],
        (np.zeros(3, np.float32), cuda.to_device(np.zeros(3, np.float32))),
    ],
)
def test_signatures_of_all_kinds(signature):
    assert compile_report(scale_well, signature).scalar_loads == 1


def test_example_numbers_and_tensors_are_typed():
    torch = pytest.importorskip("torch")

    def kernel(x, i, factor):
        x[i] *= factor

    for example in (torch.zeros(4), np.zeros((4,), np.float32)):
        assert compile_report(kernel, (example, 3, np.float32(2))).fp64 == 0
        assert compile_report(kernel, (example, 3, 2.0)).fp64 > 0


def test_numbers_come_with_their_provenance():
    report = compile_report(register_tiles, MATMUL, "sm_90")
    quantity = report.quantity("registers")
    assert (quantity.value, quantity.word) == (report.registers, "compiled")
    assert re.fullmatch(r"NVVM V[\d.]+ and nvJitLink for sm_90", quantity.source)
    assert all(report.quantity(name).value == getattr(report, name) for name in UNITS)
    with pytest.raises(ValueError, match="no number 'speed', but registers"):
        report.quantity("speed")


def test_views_are_short_and_the_ptx_is_there_on_request():
    report = compile_report(scale, MAP)
    text, html = repr(report), report._repr_html_()
    assert text.startswith("scale: compiled by NVVM")
    assert max(map(len, text.splitlines())) <= 100 and len(text.splitlines()) < 25
    assert "<td>registers</td>" in html and "if i &lt; x.size" not in text
    assert "mul.f64" not in text + html
    assert "mul.f64" in report.ptx and "st.global" in report.ptx


def test_an_unknown_architecture_is_refused_with_those_known():
    with pytest.raises(ValueError, match=r"'sm_20' is no architecture .*: sm_\d\d, .*sm_90"):
        compile_report(scale, MAP, "sm_20")


@pytest.mark.parametrize("missing", ["numba_cuda", "cuda.bindings.nvjitlink", "cuda.bindings"])
def test_a_missing_compiler_is_a_sentence(monkeypatch, missing):
    for name in [name for name in sys.modules if name.startswith(missing)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=r"pip install 'numba-cuda\[cu13\]'"):
        compile_report(scale, MAP)


def test_what_does_not_compile_is_refused_with_the_reason():
    @cuda.jit
    def wrong(x, y):
        y[0] = x.colour

    @cuda.jit
    def large(x, y):
        tile = cuda.shared.array(20_000, float32)
        tile[cuda.threadIdx.x] = x[0]
        cuda.syncthreads()
        y[0] = tile[5]

    line = line_of(wrong, "x.colour")
    with pytest.raises(ValueError, match=rf"wrong: Unknown attribute 'colour' .*{line}"):
        compile_report(wrong, MAP)
    with pytest.raises(ValueError, match="too much shared data"):
        compile_report(large, MAP)
    with pytest.raises(ValueError, match="1 argument types given, but function takes 2"):
        compile_report(scale, VECTOR.join(["(", ",)"]))
    with pytest.raises(ValueError, match="Numba type of <class 'object'>"):
        compile_report(scale, (object(), object()))


def test_only_a_report_loads_the_compiler():
    code = "import sys, labkit.gpu.compiler; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("bounds", [0, -32, (0, 2), (0, 0), (256, 0), True, "a", 1.5])
@pytest.mark.parametrize("option", ["launch_bounds", "max_registers"])
def test_bounds_that_would_end_the_compiler_are_refused(option, bounds):
    with pytest.raises(ValueError, match=f"{option} is .* integers from 1 on"):
        compile_report(scale, "void(float32[::1], float32[::1])", "sm_90", **{option: bounds})
