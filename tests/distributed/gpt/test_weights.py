"""Weights in files: there and back, files that are cut or foreign, and the trained ones."""

import pytest
import torch
from safetensors.torch import save_file

from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.gpt.weights import load, save

SMALL = Config(vocabulary=11, context=6, width=8, heads=2, layers=1)


@pytest.fixture
def file(tmp_path):
    save(GPT(SMALL, seed=1), tmp_path / "small.safetensors")
    return tmp_path / "small.safetensors"


def equal(one, other):
    ours, theirs = one.state_dict(), other.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_what_is_saved_is_loaded(file):
    model = GPT(SMALL, seed=2)
    assert load(model, file) is model
    assert equal(model, GPT(SMALL, seed=1))


def test_float64_is_saved_as_float32(tmp_path):
    save(GPT(SMALL, seed=1).double(), tmp_path / "w.safetensors")
    assert equal(load(GPT(SMALL), tmp_path / "w.safetensors"), GPT(SMALL, seed=1))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There are no weights at .*none.safetensors"):
        load(GPT(SMALL), tmp_path / "none.safetensors")


@pytest.mark.parametrize("kept", [0, 5, 100, -1])
def test_a_file_that_is_cut_is_refused(file, kept):
    file.write_bytes(file.read_bytes()[:kept])
    model = GPT(SMALL, seed=2)
    with pytest.raises(ValueError, match=r"small.safetensors is not a whole safetensors file"):
        load(model, file)
    assert equal(model, GPT(SMALL, seed=2))


def test_other_names_and_shapes_are_refused(file):
    weights = GPT(SMALL).state_dict()
    model = GPT(SMALL, seed=2)
    bias = weights.pop("final_norm.bias")
    save_file(weights, file)
    with pytest.raises(ValueError, match=r"lacks final_norm.bias, which the model has"):
        load(model, file)
    save_file(weights | {"final_norm.bias": bias, "more": bias + 1}, file)
    with pytest.raises(ValueError, match="has more, which the model lacks"):
        load(model, file)
    save_file(weights | {"final_norm.bias": bias[:7]}, file)
    with pytest.raises(
        ValueError, match=r"final_norm.bias has shape \[7\], and the model's has \[8\]"
    ):
        load(model, file)
    assert equal(model, GPT(SMALL, seed=2))


def test_weights_of_the_same_size_in_another_shape_are_refused(file):
    weights = GPT(SMALL).state_dict()
    weights["blocks.0.mlp.expand.weight"] = weights["blocks.0.mlp.expand.weight"].t().contiguous()
    save_file(weights, file)
    with pytest.raises(ValueError, match=r"has shape \[8, 32\], and the model's has \[32, 8\]"):
        load(GPT(SMALL), file)
