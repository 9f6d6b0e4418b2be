"""onnx_runtime.py: the same logits without PyTorch, and nodes, counted."""

import onnx
import pytest
import torch

from labkit.distributed.gpt.model import GPT, Config
from labkit_lessons.distributed.fine_tuning_and_compilers.onnx_runtime import (
    Session,
    computing,
    exported,
    nodes_of,
)

SMALL = Config(vocabulary=80, context=16, width=12, heads=3, layers=2)
TOKENS = torch.randint(0, 77, (2, 9), generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="module")
def graph():
    return exported(GPT(SMALL), TOKENS)


@pytest.mark.parametrize("optimise", [True, False])
def test_the_logits_are_those_of_pytorch(graph, optimise):
    session = Session(graph, optimise)
    for tokens in (TOKENS, TOKENS.flip(1)):
        assert torch.allclose(session(tokens), GPT(SMALL)(tokens), atol=1e-4)
    assert not torch.allclose(session(TOKENS), GPT(SMALL, seed=1)(TOKENS), atol=1e-4)


def test_the_nodes_are_those_of_the_two_graphs(graph):
    written = nodes_of(graph)
    assert sum(written.values()) == len(onnx.load_from_string(graph).graph.node)
    plain, rewritten = Session(graph, optimise=False).nodes, Session(graph).nodes
    assert plain == written
    assert plain["MatMul"] == 2 * 8 + 1  # 6 layers and 2 products of attention; the head
    assert rewritten["Gemm"] == 2 * 6 and rewritten["FusedMatMul"] == 2
    assert rewritten["MatMul"] == 2 + 1 and "Trilu" not in rewritten
    assert computing(rewritten) < computing(plain)
    assert computing({"Reshape": 5, "Gemm": 2}) == 2


def test_it_says_nothing(capfd):
    Session(exported(GPT(SMALL), TOKENS))(TOKENS)
    assert capfd.readouterr() == ("", "")
