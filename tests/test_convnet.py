"""labkit.convnet: NumPy against PyTorch, the trained weights and where they come from."""

import hashlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from labkit import convnet, datasets
from labkit.cifar10_files import read_copy
from labkit.datasets import cifar10


@pytest.fixture(scope="module")
def sample():
    return cifar10("sample")


@pytest.fixture(scope="module")
def trained():
    return convnet.load_weights()


@pytest.fixture(scope="module")
def log():
    lines = convnet.TRAINED.with_name("convnet.log.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def predictions(weights, images):
    model = convnet.torch_model(weights)
    with torch.no_grad():
        return torch.cat([model(x).argmax(1) for x in torch.tensor(images).split(500)]).numpy()


# --- one network, twice ---


def test_numpy_and_torch_agree_on_trained_weights(trained, sample):
    x = convnet.normalise(sample.test.images[:64])
    with torch.no_grad():
        expected = convnet.torch_model(trained)(torch.tensor(x)).numpy()
    got = convnet.forward(trained, x)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(got.argmax(1), expected.argmax(1))


@pytest.mark.parametrize("batch", [1, 5])
def test_forward_backward_is_autograd(sample, batch):
    weights = convnet.init(seed=3)
    x, labels = convnet.normalise(sample.train.images[:batch]), sample.train.labels[:batch]
    model = convnet.torch_model(weights).double()
    expected = cross_entropy(model(torch.tensor(x).double()), torch.tensor(labels))
    expected.backward()
    loss, grads = convnet.forward_backward(weights, x, labels)
    assert loss == pytest.approx(expected.item(), rel=1e-9)
    assert list(grads) == list(convnet.SHAPES)
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(grads[name], parameter.grad, rtol=1e-7, atol=1e-10, err_msg=name)


def test_the_names_and_shapes_are_pytorchs():
    state = convnet.torch_model().state_dict()
    assert {name: tuple(w.shape) for name, w in state.items()} == convnet.SHAPES
    per_layer = {layer.name: layer.parameters for layer in convnet.LAYERS if layer.parameters}
    for name, module in convnet.torch_model().named_children():
        assert per_layer.pop(name) == sum(p.numel() for p in module.parameters())
    assert not per_layer


def test_layers_follow_on_each_other():
    for before, after in zip(convnet.LAYERS, convnet.LAYERS[1:], strict=False):
        assert np.prod(before.output_shape) == np.prod(after.input_shape), after.name


def test_init_is_seeded_and_scaled():
    a, b, c = convnet.init(0), convnet.init(0), convnet.init(1)
    assert all(np.array_equal(a[name], b[name]) for name in a)
    assert not np.array_equal(a["conv2.weight"], c["conv2.weight"])
    assert a["fc1.weight"].std() == pytest.approx((2 / 4096) ** 0.5, rel=0.01)
    assert {w.dtype for w in a.values()} == {np.dtype(np.float32)}


def test_normalise_gives_the_training_images_mean_0_and_deviation_1(sample):
    x = convnet.normalise(sample.train.images)
    assert x.dtype == np.float32
    np.testing.assert_allclose(x.mean(axis=(0, 2, 3)), 0, atol=0.05)  # a sample of the 50,000
    np.testing.assert_allclose(x.std(axis=(0, 2, 3)), 1, atol=0.05)
    with pytest.raises(ValueError, match=r"float64\[1, 3, 32, 32\], not uint8"):
        convnet.normalise(np.zeros((1, 3, 32, 32)))


# --- weights in files ---


def test_weights_survive_a_file(tmp_path):
    weights = convnet.init(5)
    convnet.save_weights(weights, tmp_path / "w.safetensors")
    loaded = convnet.load_weights(tmp_path / "w.safetensors")
    assert list(loaded) == list(convnet.SHAPES)
    assert all(np.array_equal(weights[name], loaded[name]) for name in weights)


def test_wrong_weights_are_refused_in_a_sentence(tmp_path):
    weights = convnet.init(0)
    with pytest.raises(ValueError, match=r"fc2.bias has shape \(9,\) but must have \(10,\)"):
        convnet.save_weights({**weights, "fc2.bias": np.zeros(9)}, tmp_path / "w")
    with pytest.raises(ValueError, match="names are"):
        convnet.torch_model({"fc2.bias": np.zeros(10)})
    convnet.save_weights(weights, tmp_path / "w")
    (tmp_path / "half").write_bytes((tmp_path / "w").read_bytes()[:1000])
    with pytest.raises(ValueError, match="not a whole safetensors file"):
        convnet.load_weights(tmp_path / "half")


def test_the_trained_weights_are_right_on_401_of_the_sample(trained, sample):
    """In every rounding: the closest two classes of an image are 0.007 apart."""
    right = predictions(trained, convnet.normalise(sample.test.images)) == sample.test.labels
    assert right.sum() == 401


def test_the_trained_weights_are_those_of_the_log(log):
    assert log[-1]["result"] == convnet.TRAINED.name
    assert log[-1]["sha256"] == hashlib.sha256(convnet.TRAINED.read_bytes()).hexdigest()


def test_the_log_tells_how_they_were_trained(log):
    run, *epochs, result = log
    assert run["data"] == result["data"] == "full"
    assert (run["train_images"], result["test_images"]) == (50_000, 10_000)
    assert [record["epoch"] for record in epochs] == list(range(1, run["arguments"]["epochs"] + 1))
    assert result["test_accuracy"] == epochs[-1]["test_accuracy"] >= 0.70
    assert {"labkit", "python", "torch", "numpy"} <= set(run["versions"])
    assert "/" not in json.dumps(log)


def test_data_md_says_what_the_log_says(log):
    page = (Path(__file__).parents[1] / "DATA.md").read_text()
    arguments, result = log[0]["arguments"], log[-1]
    accuracies = re.findall(r"([\d.]+) ?% of the 10,000", page)
    assert accuracies == [f"{100 * result['test_accuracy']:.2f}"]
    for name in ("epochs", "seed", "batch", "lr"):
        assert f"--{name} {arguments[name]}" in page
    assert f"momentum {arguments['momentum']} and weight decay {arguments['weight_decay']}" in page
    assert datasets.SHA256 in page and datasets.MD5 in page


def test_the_logged_accuracy_is_that_of_the_full_test_set(trained, log):
    if copy := os.environ.get("LABKIT_FULL_CIFAR10"):
        _, test = read_copy(copy)
    elif full := datasets._from_cache():
        test = full.test
    else:
        pytest.skip("no full CIFAR-10: neither LABKIT_FULL_CIFAR10 nor the cache has one")
    right = predictions(trained, convnet.normalise(test.images)) == test.labels
    # Another CPU rounds otherwise: an image on the edge between two classes may fall to the other.
    assert abs(right.sum() - log[-1]["test_accuracy"] * 10_000) <= 3
