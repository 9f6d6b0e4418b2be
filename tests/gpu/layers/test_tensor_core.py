"""The tensor core's instruction, and the kernel made of it."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import float32, uint32

from labkit.gpu import compile_report, mma_m16n8k16, profile
from labkit.gpu.kernels.tensor_core import plan_tensor_core, tensor_core
from labkit.gpu.linker import linked
from numba_simt import cuda
from numba_simt.errors import CompileError
from numba_simt.execution.hazards import HazardError
from numba_simt.extensions import mma

WORDS = "uint32[:, ::1]"


@cuda.jit
def one(a, b, c):
    """c += a b^T for a[16, 16] and b[8, 16] of halves, two in a word; the layout is that of PTX."""
    lane = uint32(cuda.threadIdx.x)
    g, t = lane // uint32(4), lane % uint32(4)
    h, n = g + uint32(8), t * uint32(2)
    left = a[g, t], a[h, t], a[g, t + uint32(4)], a[h, t + uint32(4)]
    right = b[g, t], b[g, t + uint32(4)]
    total = c[g, n], c[g, n + uint32(1)], c[h, n], c[h, n + uint32(1)]
    total = mma_m16n8k16(left, right, total)
    c[g, n], c[g, n + uint32(1)], c[h, n], c[h, n + uint32(1)] = total


def halves(values):
    return np.ascontiguousarray(values, np.float16)


def multiply_add(a, b, c):
    c = np.ascontiguousarray(c, np.float32)
    seen = profile(one, 1, 32, a.view(np.uint32), b.view(np.uint32), c)
    assert not seen.hazards and seen.counters["flops_fp16"] == 2 * 16 * 8 * 16
    assert seen.counters["flops_fp32"] == 0
    return c


def test_one_instruction_multiplies_16_x_16_by_16_x_8():
    rng = np.random.default_rng(0)
    a, b = halves(rng.standard_normal((16, 16))), halves(rng.standard_normal((8, 16)))
    c = rng.standard_normal((16, 8)).astype(np.float32)
    exact = a.astype(float) @ b.astype(float).T + c
    assert np.abs(multiply_add(a, b, c) - exact).max() < 1e-6
    places = halves(np.arange(256).reshape(16, 16)), halves(np.eye(8, 16, 3))
    assert (multiply_add(*places, np.zeros((16, 8))) == places[0] @ places[1].T).all()


def test_all_halves_come_through_the_smallest_and_the_largest_too():
    """Each of the 65,536 halves times 1."""
    eye = halves(np.eye(8, 16))
    for start in range(0, 65536, 128):
        bits = np.zeros((16, 16), np.uint16)
        bits[:, :8] = np.arange(start, start + 128).reshape(16, 8)
        if not np.isfinite(bits.view(np.float16)).all():
            continue  # infinity times 0
        a = bits.view(np.float16)
        c = np.zeros((16, 8), np.float32)
        one[1, 32](bits.view(np.uint32), eye.view(np.uint32), c)
        assert (c == a[:, :8].astype(np.float32)).all()


def test_products_are_exact_and_sums_float32():
    a, b = np.zeros((16, 16), np.float16), np.zeros((8, 16), np.float16)
    a[0, :2], b[0, :2] = [2**-24, 65504], [2**-24, 65504]  # the smallest and the largest square
    assert multiply_add(a, b, np.zeros((16, 8)))[0, 0] == np.float32(65504.0**2)
    a[0, 1] = 0
    assert multiply_add(a, b, np.zeros((16, 8)))[0, 0] == np.float32(2.0**-48)
    assert multiply_add(a, b, np.ones((16, 8)))[0, 0] == 1
    a[0, :2], b[0, :2] = [1, 1], [2048, 1]
    assert multiply_add(a, b, np.zeros((16, 8)))[0, 0] == 2049  # half precision has no 2049


def test_infinity_and_nan_spread_as_far_as_their_row_and_column():
    a, b = halves(np.ones((16, 16))), halves(np.ones((8, 16)))
    a[3, 5], b[2, 7] = np.inf, np.nan
    c = multiply_add(a, b, np.zeros((16, 8)))
    assert np.isnan(c[:, 2]).all() and np.isposinf(np.delete(c[3], 2)).all()
    assert np.isfinite(np.delete(np.delete(c, 2, 1), 3, 0)).all()


def test_a_warp_that_is_not_whole_is_refused():
    @cuda.jit
    def branching(c):
        if cuda.threadIdx.x < 16:
            zero = uint32(0)
            c[cuda.threadIdx.x], _, _, _ = mma_m16n8k16(
                (zero, zero, zero, zero),
                (zero, zero),
                (float32(0), float32(0), float32(0), float32(0)),
            )

    c = np.ones(32, np.float32)
    with pytest.raises(HazardError, match="lanes of its warp, but here are 0x0000ffff"):
        branching[1, 32](c)
    with pytest.raises(HazardError, match="launch blocks of whole warps"):
        one[1, 16](*(np.zeros((16, 8), np.uint32) for _ in range(2)), np.zeros((16, 8), np.float32))
    assert (c == 1).all()


def test_other_arguments_are_refused():
    @cuda.jit
    def short(c):
        zero = uint32(0)
        c[0], _, _, _ = mma_m16n8k16((zero, zero), (zero, zero), (c[0], c[1], c[2], c[3]))

    with pytest.raises(CompileError, match="takes tuples of 4, 2 and 4, not a tuple of 2"):
        short[1, 32](np.zeros(4, np.float32))
    with pytest.raises(RuntimeError, match="inside a kernel only"):
        mma_m16n8k16((), (), ())


@settings(max_examples=6)
@example(1, 1, 1)
@example(129, 258, 33)
@example(130, 7, 64)  # whole 16 bytes
@given(M=st.integers(1, 150), N=st.integers(1, 300), half_k=st.integers(1, 70))
def test_the_kernel_is_right_for_any_size(M, N, half_k):
    rng = np.random.default_rng(M)
    a, b = (halves(rng.standard_normal((rows, 2 * half_k))) for rows in (M, N))
    c = np.full((M, N), np.nan, np.float32)
    plan = plan_tensor_core(M, N)
    words = a.view(np.uint32), b.view(np.uint32)
    plan.kernel[plan.grid, plan.block](*words, c, M, N, 2 * half_k)
    wide = a.astype(float), b.astype(float)
    assert (np.abs(c - wide[0] @ wide[1].T) <= 1e-6 * np.abs(wide[0]) @ np.abs(wide[1]).T).all()


def test_the_kernel_reads_shared_memory_without_conflicts():
    a, b = halves(np.ones((128, 64))), halves(np.ones((256, 64)))
    c = np.zeros((128, 256), np.float32)
    seen = profile(
        *plan_tensor_core(128, 256), a.view(np.uint32), b.view(np.uint32), c, 128, 256, 64
    )
    n = seen.counters
    assert (c == 64).all() and not seen.hazards
    assert n["bank_conflicts"] == 0 and n["flops_fp16"] == 2 * 128 * 256 * 64
    assert n["global_load_bytes"] == n["global_load_sectors"] * 32 == 2 * 64 * (128 + 256)
    assert n["shared_load_requests"] == 2 * 8 * 16  # for 64 products of a warp


def test_the_compiler_makes_tensor_core_instructions():
    pytest.importorskip("numba_cuda")
    signature = f"void({WORDS}, {WORDS}, float32[:, ::1], int64, int64, int64)"
    report = compile_report(tensor_core, signature, "sm_80")
    assert report.ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 64
    assert report.spills == report.local_bytes == report.fp64 == 0 and not report.lint
    assert report.accesses["ld.shared.v4"] == 16 and report.registers <= 255


def test_operands_stand_in_the_order_of_ptx():
    """d, then a, b and c: nothing else here can tell, for no tensor core runs."""
    pytest.importorskip("numba_cuda")

    @cuda.jit
    def constants(d):
        a = uint32(101), uint32(102), uint32(103), uint32(104)
        c = float32(1), float32(2), float32(3), float32(4)
        d[0], d[1], d[2], d[3] = mma_m16n8k16(a, (uint32(105), uint32(106)), c)

    ptx = compile_report(constants, "void(float32[::1])", "sm_80").ptx
    value = dict(re.findall(r"mov\.\w+\s+(%\w+), (\w+);", ptx))
    d, *given = (part.split(",") for part in re.search(r"mma\.sync.*?;", ptx)[0].split("{")[1:])
    names = [[re.search(r"%?\w+", name)[0] for name in part if name.strip(" };")] for part in given]
    a, b, c = ([value.get(name, name) for name in part] for part in names)
    assert [int(n) for n in a] == [101, 102, 103, 104] and [int(n) for n in b] == [105, 106]
    bits = [int(n.removeprefix("0f"), 16) for n in c]
    assert np.array(bits, np.uint32).view(np.float32).tolist() == [1, 2, 3, 4]
    stored = re.findall(r"st\.global\S*\s+\[%\w+(\+\d+)?\], (%\w+);", ptx)
    results = [re.search(r"%\w+", name)[0] for name in d if "%" in name]
    assert stored == list(zip(["", "+4", "+8", "+12"], results, strict=True))


LACKS = "one: mma_m16n8k16 needs a GPU from sm_80 on (an A100, H200 or RTX 30), but this kernel is "
LACKS += (
    "compiled for sm_75. The tensor cores of a T4 (sm_75) multiply float16 in steps of 8 along "
)
LACKS += "k, so they lack m16n8k16; they also lack bfloat16 and TF32, and the T4 lacks cp.async. "


def test_a_t4_is_refused_with_a_sentence_that_says_what_it_lacks():
    pytest.importorskip("numba_cuda")
    signature = f"void({WORDS}, {WORDS}, float32[:, ::1])"
    with pytest.raises(ValueError) as refusal:
        compile_report(one, signature, "sm_75")
    assert str(refusal.value).startswith(LACKS) and "ptxas" not in str(refusal.value)
    with pytest.raises(ValueError, match=r"tensor_core: mma_m16n8k16 needs .* for sm_75\."):
        compile_report(tensor_core, f"{signature[:-1]}, int64, int64, int64)", "sm_75")
    for newer in ("sm_80", "sm_90"):
        assert "mma.sync" in compile_report(one, signature, newer).ptx


def test_numba_itself_says_so_when_a_kernel_is_launched_on_a_t4(monkeypatch):
    """Where no compile_report tidies the message: as a launch compiles, up to the driver."""
    pytest.importorskip("numba_cuda")
    from numba import cuda as numbas
    from numba.cuda import dispatcher

    mma.register()
    t4 = SimpleNamespace(compute_capability=(7, 5))
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: t4)

    @numbas.jit
    def four(c):
        o = uint32(0)
        c[0], _, _, _ = mma_m16n8k16((o, o, o, o), (o, o), (c[0], c[1], c[2], c[3]))

    with pytest.raises(NotImplementedError, match=r"^mma_m16n8k16 needs a GPU from sm_80 on"):
        four.compile((float32[::1],))


NEEDED = {  # of PTX, what the sentence says of an sm_75: the instruction, and whether it has it
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {f},{%r0,%r1},{%r2},{f};": True,
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f},{r},{%r0,%r1},{f};": False,
    "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {f},{%r0,%r1},{%r2},{f};": False,
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f},{r},{%r0,%r1},{f};": False,
    "cp.async.ca.shared.global [%r0], [%d0], 16;": False,
}


@pytest.mark.parametrize("instruction", NEEDED)
def test_the_sentence_is_true(instruction):
    """NVIDIA's linker is asked, for both architectures."""
    pytest.importorskip("cuda.bindings.nvjitlink")
    line = instruction.replace("{f}", "{%f0,%f1,%f2,%f3}").replace("{r}", "{%r0,%r1,%r2,%r3}")

    def links(arch):
        registers = ".reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %d<1>;"
        head = f".version 8.0\n.target {arch}\n.address_size 64\n"
        try:
            linked(f"{head}.visible .entry k() {{ {registers} {line} ret; }}", arch)
        except ValueError as error:
            assert "requires .target sm_80 or higher" in str(error)
            return False
        return True

    assert links("sm_80") and links("sm_75") is NEEDED[instruction]
