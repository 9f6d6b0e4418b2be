"""Inductor: the loops that PyTorch's compiler writes, or a sentence."""

import re

import pytest
import torch
from torch._inductor import cpp_builder, exc

from labkit_lessons.gpu.a_training_step_on_the_gpu.inductor import compiled_loops


def test_two_operations_on_each_element_are_one_nest_of_loops():
    loops = compiled_loops(lambda x, b: (x + b).relu(), torch.ones(3, 5), torch.ones(5))
    assert len(re.findall(r"^for", loops, re.MULTILINE)) == 1
    assert re.findall(r"(out_ptr\d)\[[^]]*\] =", loops) == ["out_ptr0"]
    assert "in_ptr0[" in loops and "in_ptr1[" in loops and "static_cast<int64_t>" not in loops


def test_pooling_reads_back_what_was_written():
    def after_conv(x, b):
        return torch.max_pool2d(torch.relu(x + b[:, None, None]), 2)

    for _ in range(2):  # and nothing stays in a cache that would break the second time
        loops = compiled_loops(after_conv, torch.ones(1, 2, 8, 8), torch.ones(2))
        assert re.findall(r"(out_ptr\d)\[[^]]*\] =", loops) == ["out_ptr0", "out_ptr1"]
        assert len(re.findall(r"= out_ptr0\[", loops)) == 4


def test_the_code_is_that_of_the_function():
    loops = compiled_loops(lambda x: x * 7, torch.ones(6))
    assert "7.0" in loops and "max" not in loops


def test_without_a_compiler_there_is_a_sentence(monkeypatch):
    def none():
        raise exc.InvalidCxxCompiler

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", none)
    said = compiled_loops(torch.relu, torch.ones(3))
    assert said == "PyTorch's compiler finds no C++ compiler here, so it shows no code."


def test_an_error_of_the_function_is_not_hidden():
    with pytest.raises(Exception, match=r"shape|size"):
        compiled_loops(lambda a, b: a + b, torch.ones(3), torch.ones(4))


def test_a_pytorch_that_hides_its_code_is_a_sentence(monkeypatch):
    from torch._inductor import utils

    monkeypatch.delattr(utils, "get_code")
    assert "does not show its compiler's code" in compiled_loops(torch.relu, torch.ones(3))
