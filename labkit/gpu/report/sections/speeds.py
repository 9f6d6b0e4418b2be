"""How fast our kernels are beside cuBLAS, cuDNN and PyTorch: products, memory, convolutions."""

from collections.abc import Callable
from functools import partial

import torch
from torch.nn import functional as F
from torch.nn.grad import conv2d_input, conv2d_weight

from labkit.gpu.kernels import implicit_gemm
from labkit.gpu.kernels.matmul import plan_matmul
from labkit.gpu.kernels.pointwise import plan_copy, plan_relu
from labkit.gpu.kernels.pooling import plan_bias_relu_pool
from labkit.gpu.kernels.reductions import plan_row_sum
from labkit.gpu.kernels.softmax import plan_softmax
from labkit.gpu.kernels.tensor_core import plan_tensor_core
from labkit.gpu.report.goals import GOALS, Goal
from labkit.gpu.report.rows import NotHere, Row, Work
from labkit.gpu.report.tasks import Bench, normal, ours, ratio, sides, steps, theirs
from labkit.gpu.report.timing import Task, Timing, measure
from labkit.provenance import Quantity

Found = tuple[float, dict[str, Quantity]]  # the number that the goal is about, and the details


def work(bench: Bench, earlier: dict) -> Work:
    """A row for each goal of this section's kinds."""
    for name, goal in GOALS.items():
        if goal.kind in KINDS:
            yield name, partial(timed, bench, goal, KINDS[goal.kind])


def timed(
    bench: Bench,
    goal: Goal,
    kind: Callable[[Bench, str], Found],
) -> Row:
    """The row of one goal: its number, the times behind it, and whether it is reached."""
    value, details = kind(bench, goal.what)
    number = bench.measured(value, goal.unit)
    if bench.dry:
        return Row({"result": number} | details)
    return Row(
        {"result": number} | details, goal.reached(value), goal.says(value, bench.device.name)
    )


def matmul(bench: Bench, rung: str) -> Found:
    """A rung of the ladder beside cuBLAS."""
    n = bench.size(4096, 70)
    both = {"ours": ours(plan_matmul(n, n, rung), n, n, n)}
    both["cuBLAS"] = theirs(torch.matmul, out=True)
    task = Task(
        rung,
        normal((n, n), (n, n)),
        ((n, n),),
        both,
        lambda a, b: (a @ b,),
    )
    times = measure(task, bench.device)
    return 100 * ratio(times, "cuBLAS"), sides(bench, times, 2 * n**3)


def as_words(t: torch.Tensor) -> torch.Tensor:
    """Two float16 in one uint32, as the tensor-core kernel takes them."""
    return t.view(torch.uint32) if t.dtype == torch.float16 else t


def needs_mma(bench: Bench) -> None:
    """NotHere on a GPU without the instruction."""
    if not bench.dry and torch.cuda.get_device_capability() < (8, 0):
        raise NotHere("mma.m16n8k16 needs sm_80 or higher.")


def tensor_cores(bench: Bench, row: str) -> Found:
    """Our kernel with mma beside cuBLAS in float16."""
    needs_mma(bench)
    n = bench.size(4096, 70)
    inputs = normal((n, n), (n, n), dtype=torch.float16)
    both = {"ours": ours(plan_tensor_core(n, n), n, n, n, view=as_words)}
    both["cuBLAS"] = theirs(lambda a, b: a @ b.T)
    limits = {"ours": 1e-3, "cuBLAS": 5e-3}  # cuBLAS rounds its result to float16
    task = Task(
        row,
        inputs,
        ((n, n),),
        both,
        lambda a, b: (a @ b.T,),
        limits,
    )
    times = measure(task, bench.device)
    return 100 * ratio(times, "cuBLAS"), sides(bench, times, 2 * n**3)


def copy(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """PyTorch's copy, into `out` if it is given."""
    return x.clone() if out is None else out.copy_(x)


def memory(bench: Bench, row: str) -> Found:
    """A kernel that memory limits, beside the bandwidth of PyTorch's copy."""
    columns = bench.size(4096, 70)
    rows = bench.size(min(2**16, bench.device.memory // (128 * columns)), 3)
    n = rows * columns
    flat = (n,)
    table = (rows, columns)
    kinds = {  # row: shapes in and out, PyTorch's function, our plan
        "copy": (flat, flat, copy, plan_copy(n)),
        "ReLU": (flat, flat, partial(torch.clamp, min=0), plan_relu(n)),
        "row sum": (table, (rows,), partial(torch.sum, dim=1), plan_row_sum(*table)),
        "softmax": (table, table, partial(torch.softmax, dim=1), plan_softmax(*table)),
    }
    times: dict[str, dict[str, Timing]] = {}
    moved: dict[str, int] = {}
    for name in dict.fromkeys(("copy", row)):  # bytes, if each number is read once and written once
        shape, out, function, plan = kinds[name]
        moved[name] = 4 * (n + torch.Size(out).numel())
        both = {"ours": ours(plan), "PyTorch": theirs(function, out=True)}
        task = Task(
            name,
            normal(shape),
            (out,),
            both,
            lambda x, f=function: (f(x),),
        )
        times[name] = measure(task, bench.device)
    bandwidth = moved["copy"] / times["copy"]["PyTorch"].seconds
    details = sides(bench, times[row], moved[row], "B/s")
    details["PyTorch's copy"] = bench.measured(bandwidth, "B/s")
    return 100 * moved[row] / times[row]["ours"].seconds / bandwidth, details


def implicit(bench: Bench, row: str) -> Found:
    """Beside our tuned matmul with the same M, N, K (so the same operations), and cuDNN."""
    N = bench.size(64, 2)
    C = bench.size(64, 3)
    H = bench.size(56, 6)
    K = bench.size(128, 5)
    x = (N, C, H, H)
    w = (K, C, 3, 3)
    y = (N, K, H, H)
    pixels = N * H * H
    kinds = {  # row: cuDNN's function; shapes of inputs and output; M, N, K of the product
        "forward": (partial(F.conv2d, padding=1), (x, w, (K,)), y, (K, pixels, 9 * C)),
        "dx": (lambda y, w: conv2d_input(x, w, y, padding=1), (y, w), x, (C, pixels, 9 * K)),
        "dw": (lambda y, x: conv2d_weight(x, w, y, padding=1), (y, x), w, (K, 9 * C, pixels)),
    }
    function, shapes, out, (m, n, k) = kinds[row]
    plan = getattr(implicit_gemm, f"plan_conv2d_{row}")(x, w, stride=1, padding=1)
    limits = dict.fromkeys(("ours", "cuDNN"), 1e-3)  # dw is a sum of 200,000 terms
    both = {
        "ours": ours(plan, view=torch.flatten, zero=row == "dw"),
        "cuDNN": theirs(function),
    }
    task = Task(
        row,
        normal(*shapes),
        (out,),
        both,
        lambda *i: (function(*i),),
        limits,
    )
    times = measure(task, bench.device)
    product = {"ours": ours(plan_matmul(m, n), m, n, k)}
    inputs = normal((m, k), (k, n))
    task = Task(
        f"matmul of {row}",
        inputs,
        ((m, n),),
        product,
        lambda a, b: (a @ b,),
        limits,
    )
    times["tuned matmul"] = measure(task, bench.device)["ours"]
    return 100 * ratio(times, "tuned matmul"), sides(bench, times, 2 * m * n * k)


def eager(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Bias, ReLU and pooling as PyTorch runs them: one kernel each."""
    return F.max_pool2d(F.relu(x + b.view(1, -1, 1, 1)), 2)


def fusion(bench: Bench, row: str) -> Found:
    """Three operations in one kernel, beside three kernels."""
    N = bench.size(256, 2)
    C = bench.size(64, 3)
    H = bench.size(56, 6)
    shape = (N, C, H, H)
    pooled = (N, C, H // 2, H // 2)
    plan = plan_bias_relu_pool(shape).forward
    both = {"ours": ours(plan, view=torch.flatten), "PyTorch": theirs(eager)}
    task = Task(
        row,
        steps(shape, (C,)),
        (pooled,),
        both,
        lambda x, b: (eager(x, b),),
    )
    times = measure(task, bench.device)
    return ratio(times, "PyTorch"), sides(bench, times)


KINDS = {
    "matmul": matmul,
    "tensor cores": tensor_cores,
    "memory": memory,
    "implicit GEMM": implicit,
    "fusion": fusion,
}
