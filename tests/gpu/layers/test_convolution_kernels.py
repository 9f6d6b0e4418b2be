"""The convolution kernels, direct and as implicit GEMM, against labkit.reference and PyTorch.

Each launch goes to an output that is poisoned (or 0 where the kernel adds), so that an element
nobody wrote is found. Kernels with a typical mistake must be found out by the same comparison.
"""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numba import uint32

from labkit import convnet
from labkit import reference as ref
from labkit.gpu import compile_report, profile
from labkit.gpu.kernels import direct_convolution as direct
from labkit.gpu.kernels import implicit_gemm as implicit
from labkit.gpu.kernels.direct_convolution import output_shape, place, sizes
from numba_simt import cuda
from tests.night import others_by_night

ARRAY, FLAT = "float32[:, :, :, ::1]", "float32[::1]"
RAGGED = (2, 3, 9, 7), (5, 3, 4, 2), 2, 1  # x, w, stride, padding: no size divides another
# conv1 and conv2 of the network, for one image
LAYERS = [
    ((1, *c.input_shape), convnet.SHAPES[f"{c.name}.weight"], 1, 1)
    for c in convnet.LAYERS
    if c.kind == "conv"
]
NAMES = "forward", "dx", "dw"


def operands(x_shape, w_shape, stride, padding, seed=0):
    """x, w, b and dy, normal."""
    random = np.random.default_rng(seed)
    shapes = x_shape, w_shape, w_shape[:1], output_shape(x_shape, w_shape, stride, padding)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def launches(family, x, w, b, dy, stride, padding) -> dict:
    """name -> plan, arguments without the output, output: for each operation of the family."""
    inputs = {"forward": (x, w, b), "dx": (dy, w), "dw": (dy, x)}
    outputs = [np.full_like(a, np.nan) for a in (dy, x, w)]
    if family is implicit:
        outputs[2][...] = 0  # it adds
    found = {}
    for (name, arrays), output in zip(inputs.items(), outputs, strict=True):
        plan = getattr(family, f"plan_conv2d_{name}")(x.shape, w.shape, stride, padding)
        scalars = (stride, padding) if family is direct else ()
        found[name] = plan, (*arrays, *scalars), output
    return found


def arguments(family, inputs, output):
    """As the kernels want them: implicit GEMM takes flat views."""
    flat = family is implicit
    return [a.reshape(-1) if flat and isinstance(a, np.ndarray) else a for a in (*inputs, output)]


def results(family, *given) -> dict[str, np.ndarray]:
    found = {}
    for name, (plan, inputs, output) in launches(family, *given).items():
        plan.kernel[plan.grid, plan.block](*arguments(family, inputs, output))
        found[name] = output
    return found


def expected(x, w, b, dy, stride, padding) -> dict[str, np.ndarray]:
    """By the oracle, in float64."""
    y, grads = ref.conv2d(x, w, b, stride, padding), ref.conv2d_backward(dy, x, w, stride, padding)
    dx, dw, _ = grads
    return {"forward": y, "dx": dx, "dw": dw}


def assert_close(got: np.ndarray, wanted: np.ndarray) -> None:
    """Float32 against float64: the error grows with the values that were added."""
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-6 * max(1, abs(wanted).max()))


def assert_right(family, x_shape, w_shape, stride, padding, seed=0) -> None:
    given = *operands(x_shape, w_shape, stride, padding, seed), stride, padding
    wanted = expected(*given)
    for name, got in results(family, *given).items():
        assert_close(got, wanted[name])


@st.composite
def geometries(draw):
    sizes = st.integers(1, 3), st.integers(1, 4), st.integers(1, 11), st.integers(1, 11)
    x_shape = tuple(map(draw, sizes))
    w_shape = draw(st.integers(1, 6)), x_shape[1], draw(st.integers(1, 5)), draw(st.integers(1, 5))
    stride, padding = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    room = [n + 2 * padding - k for n, k in zip(x_shape[2:], w_shape[2:], strict=True)]
    assume(min(room) >= 0)
    return x_shape, w_shape, stride, padding


SPECIAL = {
    "all sizes one": ((1, 1, 1, 1), (1, 1, 1, 1), 1, 0),
    "one pixel in a frame": ((1, 1, 1, 1), (1, 1, 3, 3), 1, 1),
    "rows of padding only": ((1, 2, 1, 4), (2, 2, 1, 3), 1, 2),
    "pixels nobody sees": ((1, 2, 8, 9), (3, 2, 1, 2), 3, 0),
    "ragged": RAGGED,
    "larger than a tile": ((3, 5, 13, 11), (37, 5, 3, 3), 1, 1),
    "many taps": ((1, 1, 12, 12), (2, 1, 11, 7), 1, 0),
    "a long sum": ((4, 2, 16, 15), (3, 2, 3, 3), 1, 1),
}


@pytest.mark.parametrize("family", [direct, implicit])
@pytest.mark.parametrize("geometry", SPECIAL.values(), ids=SPECIAL)
def test_special_shapes(family, geometry):
    assert_right(family, *geometry)


@settings(max_examples=40)
@given(geometries(), st.integers(0, 99))
def test_direct_is_the_reference(geometry, seed):
    assert_right(direct, *geometry, seed)


@pytest.mark.night(instead="tests/gpu/layers/test_convolution_kernels.py::test_special_shapes")
@settings(max_examples=8)
@given(geometries(), st.integers(0, 99))
def test_implicit_is_the_reference(geometry, seed):
    assert_right(implicit, *geometry, seed)


@pytest.mark.parametrize("family", [direct, implicit])
@pytest.mark.parametrize("geometry", [RAGGED, *LAYERS], ids=["ragged", "conv1", "conv2"])
def test_is_torch(family, geometry):
    *given, dy = operands(*geometry)
    tensors = [torch.tensor(a, requires_grad=True) for a in given]
    y = F.conv2d(*tensors, stride=geometry[2], padding=geometry[3])
    y.backward(torch.tensor(dy))
    x, w, _ = tensors
    wanted = {"forward": y.detach(), "dx": x.grad, "dw": w.grad}
    for name, got in results(family, *given, dy, *geometry[2:]).items():
        assert_close(got, wanted[name].numpy())


@pytest.mark.parametrize("family", [direct, implicit])
def test_gradcheck(family):
    """Gradients are those of the forward kernel. It is linear in each input: any step will do."""
    x, w, b, dy = operands(*RAGGED)
    geometry = RAGGED[2:]

    def forward(x, w, b):
        plan, inputs, y = launches(family, *map(np.float32, (x, w, b)), dy, *geometry)["forward"]
        plan.kernel[plan.grid, plan.block](*arguments(family, inputs, y))
        return y.astype(np.float64)  # as gradcheck wants it

    grads = results(family, x, w, b, dy, *geometry)
    db = dy.sum(axis=(0, 2, 3))
    checked = ref.gradcheck(
        forward, (x, w, b), (grads["dx"], grads["dw"], db), dy, eps=0.5, rtol=1e-3, atol=1e-4
    )
    assert checked, str(checked)


@pytest.mark.parametrize("family", [direct, implicit])
@pytest.mark.parametrize("geometry", [RAGGED, SPECIAL["a long sum"]], ids=["ragged", "long"])
def test_no_hazards_and_who_adds(family, geometry):
    """No race and no stray access; atomics, whose order is open, only in the implicit dw."""
    given = *operands(*geometry), *geometry[2:]
    for name, (plan, inputs, output) in launches(family, *given).items():
        seen = profile(plan.kernel, plan.grid, plan.block, *arguments(family, inputs, output))
        assert seen.completed and not seen.hazards, (name, seen.hazards)
        assert bool(seen.counters["atomic_lanes"]) == (family is implicit and name == "dw")


def test_implicit_gemm_moves_less():
    """Of conv2: a pixel that lies in shared memory serves all outputs of the block."""
    given = *operands(*LAYERS[1]), *LAYERS[1][2:]
    traffic = []
    for family in direct, implicit:
        plan, inputs, output = launches(family, *given)["forward"]
        seen = profile(plan.kernel, plan.grid, plan.block, *arguments(family, inputs, output))
        traffic.append(seen.counters["traffic_bytes"])
        compulsory = sum(a.nbytes for a in (*given[:3], output))
        assert compulsory <= seen.counters["compulsory_bytes"] <= traffic[-1]
    assert traffic[1] < traffic[0] / 8, traffic


def assert_compiles_well(kernel, signature, arch):
    pytest.importorskip("numba_cuda")
    pytest.importorskip("cuda.bindings.nvjitlink")
    report = compile_report(kernel, signature, arch)
    assert not (report.spills or report.fp64 or report.local_bytes or report.lint), report
    return report


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("name", NAMES)
def test_direct_compiles_well(name, arch):
    plan, inputs, output = launches(direct, *operands(*RAGGED), *RAGGED[2:])[name]
    types = {0: "int64", 1: FLAT, 4: ARRAY}
    signature = f"void({', '.join(types[np.ndim(a)] for a in (*inputs, output))})"
    assert assert_compiles_well(plan.kernel, signature, arch).registers <= 80


LARGE = (64, 64, 56, 56), (128, 64, 3, 3), 1, 1  # tiles of 128 x 128, and 64 x 128 for dx
STRIDED = (16, 128, 28, 28), (256, 128, 3, 3), 2, 1  # tiles of 64 x 64 forward


COMPILED = [(name, LARGE, arch) for name in NAMES for arch in ("sm_75", "sm_90")]
COMPILED = others_by_night(
    [*COMPILED, ("forward", STRIDED, "sm_90")],
    instead="tests/gpu/layers/test_convolution_kernels.py::test_implicit_compiles_well",
)


@pytest.mark.parametrize("name, geometry, arch", COMPILED)
def test_implicit_compiles_well(name, geometry, arch):
    """Loaders take indices apart without a division: the only one shares K out, before the loop."""
    plan = getattr(implicit, f"plan_conv2d_{name}")(*geometry)
    signature = f"void({', '.join((4 if name == 'forward' else 3) * [FLAT])})"
    report = assert_compiles_well(plan.kernel, signature, arch)
    assert report.registers <= (128 if plan.block == 256 else 168)
    assert report.fma == 8 * 64 and report.accesses["ld.shared.v4"] == 8 * 4
    assert len(re.findall(r"\s(div|rem)\.[us](32|64)\s", report.ptx)) <= 2


@cuda.jit
def forward_without_frame(x, w, b, stride, padding, y):
    """Wrong: outside of the image it takes the pixel at the edge, not 0."""
    (N, _, _, _), (_, C, H, W), (_, _, R, S) = sizes(y), sizes(x), sizes(w)
    n, k, p, q = place(uint32(cuda.grid(1)), y)
    if n < N:
        total = b[k]
        for c in range(C):
            for r in range(R):
                for s in range(S):
                    i = min(max(p * stride + r - padding, 0), H - 1)
                    j = min(max(q * stride + s - padding, 0), W - 1)
                    total += w[k, c, r, s] * x[n, c, i, j]
        y[n, k, p, q] = total


@cuda.jit
def dx_of_all_taps(dy, w, stride, padding, dx):
    """Wrong: it rounds p and q, so that an output sends to pixels it never saw."""
    (N, _, _, _), (_, K, P, Q), (_, _, R, S) = sizes(dx), sizes(dy), sizes(w)
    n, c, i, j = place(uint32(cuda.grid(1)), dx)
    if n < N:
        total = np.float32(0)
        for k in range(K):
            for r in range(R):
                for s in range(S):
                    p, q = (i + padding - r) // stride, (j + padding - s) // stride
                    if 0 <= p < P and 0 <= q < Q:
                        total += dy[n, k, p, q] * w[k, c, r, s]
        dx[n, c, i, j] = total


@pytest.mark.parametrize(
    "name, wrong", [("forward", forward_without_frame), ("dx", dx_of_all_taps)]
)
def test_the_wrong_are_refused(monkeypatch, name, wrong):
    monkeypatch.setattr(direct, f"conv2d_{name}", wrong)
    assert_right(
        direct, (1, 2, 6, 5), (3, 2, 3, 2), 1, 0
    )  # what it does wrong does not matter here
    with pytest.raises(AssertionError, match="Mismatched elements"):
        assert_right(direct, *RAGGED)


@pytest.mark.parametrize("plan", [direct.plan_conv2d_forward, implicit.plan_conv2d_forward,
                                  implicit.plan_conv2d_dx, implicit.plan_conv2d_dw])  # fmt: skip
@pytest.mark.parametrize("geometry, sentence", [
    (((1, 3, 4, 4), (2, 2, 3, 3), 1, 0), r"x\[1, 3, 4, 4\] and w\[2, 2, 3, 3\] do not fit: C"),
    (((1, 2, 4, 4), (2, 2, 5, 3), 1, 0), r"window \[5,3\] does not fit into x\[1,2,4,4\]"),
    (((1, 2, 4, 4), (2, 2, 3, 3), 0, 0), r"stride is 0"),
    (((1, 2, 4, 4), (2, 2, 3, 3), 1, -1), r"padding is -1"),
    (((0, 2, 4, 4), (2, 2, 3, 3), 1, 0), r"of x\[0, 2, 4, 4\] and .* one is empty"),
    (((1, 2, 4, 4), (0, 2, 3, 3), 1, 0), r"one is empty: every axis must be 1 or longer"),
    (((1, 2, 4, 4), (2, 2, 3, 3), 2**32, 0), r"stride 4294967296 or padding 0 is 2\*\*31 or more"),
    (((1, 2, 4, 4), (2, 2, 3, 3), 2**40, 2**31), r"padding 2147483648 is 2\*\*31 or more"),
])  # fmt: skip
def test_sizes_that_do_not_fit(plan, geometry, sentence):
    with pytest.raises(ValueError, match=sentence):
        plan(*geometry)


def test_more_than_32_bits_reach():
    with pytest.raises(ValueError, match="2\\*\\*31 elements"):
        implicit.plan_conv2d_forward((2**15, 64, 32, 32), (8, 64, 3, 3), 1, 1)
