"""compiled.py: operators and generated kernels, counted."""

import multiprocessing

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from labkit.distributed.gpt.model import Block, Config
from labkit_lessons.distributed.fine_tuning_and_compilers.compiled import (
    KERNEL,
    compiled,
    operators_of,
)

SMALL = Config(vocabulary=80, context=16, width=12, heads=3, layers=1)


def test_views_are_no_kernels():
    x = torch.randn(3, 4)
    assert operators_of(lambda x: x.t()[1:].unsqueeze(0), x) == []
    assert operators_of(lambda x: (x.t() + 1).relu(), x) == ["add", "relu"]
    assert operators_of(lambda x: x.t().contiguous(), x) == ["clone"]
    assert operators_of(lambda x: x.clone().add_(1), x) == ["clone", "add_"]


def test_eager_operators_are_those_that_the_profiler_sees():
    block, x = Block(SMALL), torch.randn(1, 5, 12)  # of one sequence, heads need no copies
    counted = operators_of(block, x)
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU]) as recorded:
        block(x)
    seen = [event.name for event in recorded.events()]
    for name in ("addmm", "bmm", "native_layer_norm", "_softmax", "gelu", "masked_fill"):
        assert counted.count(name) == seen.count(f"aten::{name}") > 0
    assert len(counted) == 19


def test_a_chain_becomes_one_kernel_and_a_product_a_call():
    x, w = torch.randn(8, 8), torch.randn(8, 8)
    made = compiled(lambda x, w: ((x + 1).relu() @ w).tanh() * 2, x, w)
    assert [name[:9] for name in made.kernels] == ["cpp_fused", "extern_ke", "cpp_fused"]
    assert torch.allclose(made.output, ((x + 1).relu() @ w).tanh() * 2, atol=1e-5)
    other = torch.randn(8, 8)
    assert torch.allclose(made.run(other, w), ((other + 1).relu() @ w).tanh() * 2, atol=1e-5)
    assert not multiprocessing.active_children()


def test_the_second_time_there_is_code_again():
    function, x = torch.nn.Sequential(torch.nn.GELU(), torch.nn.Tanh()), torch.ones(6)
    counts = []
    for _ in range(2):
        torch.compiler.reset()
        counts.append(len(compiled(function, x).kernels))
    assert counts == [1, 1]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("        cpp_fused_add_0(buf1, arg0)", ["cpp_fused_add_0"]),
        ("        extern_kernels.bmm(buf1, buf2, out=buf3)", ["extern_kernels.bmm"]),
        ("        buf9 = torch.ops.mkl._mkl_linear(buf1, w)", ["torch.ops.mkl._mkl_linear"]),
        ("cpp_fused_add_0 = async_compile.cpp_pybinding(['float*'])", []),
        ("inductor_ops = torch.ops.inductor", []),
    ],
)
def test_calls_count_and_definitions_do_not(line, found):
    assert KERNEL.findall(line) == found
