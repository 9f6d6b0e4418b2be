"""The one network of the course: a small ConvNet that tells ten kinds of CIFAR-10 pictures apart.

    image [3,32,32]
      conv1 3x3, 32 channels -> relu1 -> pool1    [32,16,16]
      conv2 3x3, 64 channels -> relu2 -> pool2    [64, 8, 8]
      flatten                                     [4096]
      fc1 -> relu3                                [128]
      fc2                                         [10]     one logit per class

It exists twice, in NumPy on `labkit.reference` and in PyTorch, with one format of weights: a dict
of float32 arrays named and shaped as in `SHAPES` (PyTorch's layout), kept in safetensors files.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labkit import reference as ref
from labkit.costs import Layer, LayerCost, step_costs

if TYPE_CHECKING:
    import torch

SHAPES = {
    "conv1.weight": (32, 3, 3, 3),  # [K,C,R,S]
    "conv1.bias": (32,),
    "conv2.weight": (64, 32, 3, 3),
    "conv2.bias": (64,),
    "fc1.weight": (128, 4096),  # [K,D], D counts channels, then rows, then columns
    "fc1.bias": (128,),
    "fc2.weight": (10, 128),
    "fc2.bias": (10,),
}
# Mean and standard deviation of each colour over the 50,000 training images, scaled to 0..1, right
# to six digits. The trained weights belong to exactly these numbers.
MEAN = (0.4913997, 0.4821584, 0.4465309)
STD = (0.2470323, 0.2434851, 0.2615879)
TRAINED = Path(__file__).parent / "data" / "convnet.safetensors"

LAYERS = [
    Layer("conv1", "conv", (3, 32, 32), (32, 32, 32), 32 * (3 * 3 * 3 + 1)),
    Layer("relu1", "relu", (32, 32, 32), (32, 32, 32), 0),
    Layer("pool1", "pool", (32, 32, 32), (32, 16, 16), 0),
    Layer("conv2", "conv", (32, 16, 16), (64, 16, 16), 64 * (32 * 3 * 3 + 1)),
    Layer("relu2", "relu", (64, 16, 16), (64, 16, 16), 0),
    Layer("pool2", "pool", (64, 16, 16), (64, 8, 8), 0),
    Layer("fc1", "linear", (4096,), (128,), 128 * (4096 + 1)),
    Layer("relu3", "relu", (128,), (128,), 0),
    Layer("fc2", "linear", (128,), (10,), 10 * (128 + 1)),
]


def init(seed: int = 0) -> dict[str, np.ndarray]:
    """Fresh weights: normal, variance 2 / fan_in (He et al. 2015, arXiv:1502.01852); biases 0."""
    random = np.random.default_rng(seed)
    weights = {}
    for name, shape in SHAPES.items():
        spread = np.sqrt(2 / np.prod(shape[1:])) if name.endswith("weight") else 0.0
        weights[name] = (spread * random.standard_normal(shape)).astype(np.float32)
    return weights


def load_weights(path: str | Path | None = None) -> dict[str, np.ndarray]:
    """Weights from a safetensors file; without a path the trained ones that come with labkit."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = TRAINED if path is None else Path(path)
    try:
        return _checked(load_file(path), str(path))
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error}).") from error


def save_weights(weights: dict[str, np.ndarray], path: str | Path) -> None:
    """Write weights to a safetensors file, as float32."""
    from safetensors.numpy import save

    weights = _checked(weights, "the weights to save")
    float32 = {name: np.ascontiguousarray(w, dtype=np.float32) for name, w in weights.items()}
    Path(path).write_bytes(save(float32))


def _checked(weights: dict[str, np.ndarray], where: str) -> dict[str, np.ndarray]:
    """The weights in the order of SHAPES, or a sentence saying which one does not belong."""
    if set(weights) != set(SHAPES):
        raise ValueError(f"{where}: names are {sorted(weights)} but must be {sorted(SHAPES)}.")
    for name, shape in SHAPES.items():
        if (got := np.shape(weights[name])) != shape:
            raise ValueError(f"{where}: {name} has shape {got} but must have {shape}.")
    return {name: weights[name] for name in SHAPES}


def normalise(images: np.ndarray) -> np.ndarray:
    """Pixels for the network: uint8 images[N,3,32,32] -> float32, (pixel / 255 - MEAN) / STD."""
    images = np.asarray(images)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3:
        got = f"{images.dtype}{list(images.shape)}"
        raise ValueError(f"normalise: images are {got}, not uint8[N,3,H,W].")
    mean, std = (np.array(v, dtype=np.float32)[:, None, None] for v in (MEAN, STD))
    return (images.astype(np.float32) / np.float32(255) - mean) / std


def forward(weights: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """Logits[N,10] of normalised images x[N,3,32,32], computed in float64.

    Holds all N images' activations at once, about 1 MB each: give it some hundred at a time.
    """
    return activations(weights, x)["fc2"]


def activations(w: dict[str, np.ndarray], x: np.ndarray) -> dict[str, np.ndarray]:
    """What every layer puts out, by its name; "image" is the input."""
    a = {"image": np.asarray(x)}
    a["conv1"] = ref.conv2d(a["image"], w["conv1.weight"], w["conv1.bias"], padding=1)
    a["relu1"] = ref.relu(a["conv1"])
    a["pool1"] = ref.maxpool2d(a["relu1"])
    a["conv2"] = ref.conv2d(a["pool1"], w["conv2.weight"], w["conv2.bias"], padding=1)
    a["relu2"] = ref.relu(a["conv2"])
    a["pool2"] = ref.maxpool2d(a["relu2"])
    a["flat"] = a["pool2"].reshape(len(x), -1)  # [N,4096]
    a["fc1"] = ref.linear(a["flat"], w["fc1.weight"], w["fc1.bias"])
    a["relu3"] = ref.relu(a["fc1"])
    a["fc2"] = ref.linear(a["relu3"], w["fc2.weight"], w["fc2.bias"])
    return a


def forward_backward(
    weights: dict[str, np.ndarray], x: np.ndarray, labels: np.ndarray
) -> tuple[float, dict[str, np.ndarray]]:
    """Mean loss of x[N,3,32,32] with labels[N], and dL/dw for every weight, named as in SHAPES."""
    w, a, grads = weights, activations(weights, x), {}  # grads[layer] is [dw, db]
    loss = ref.softmax_cross_entropy(a["fc2"], labels)
    dy = ref.softmax_cross_entropy_backward(a["fc2"], labels)
    dy, *grads["fc2"] = ref.linear_backward(dy, a["relu3"], w["fc2.weight"])
    dy = ref.relu_backward(dy, a["fc1"])
    dy, *grads["fc1"] = ref.linear_backward(dy, a["flat"], w["fc1.weight"])
    dy = ref.maxpool2d_backward(dy.reshape(a["pool2"].shape), a["relu2"])
    dy = ref.relu_backward(dy, a["conv2"])
    dy, *grads["conv2"] = ref.conv2d_backward(dy, a["pool1"], w["conv2.weight"], padding=1)
    dy = ref.maxpool2d_backward(dy, a["relu1"])
    dy = ref.relu_backward(dy, a["conv1"])
    _, *grads["conv1"] = ref.conv2d_backward(dy, a["image"], w["conv1.weight"], padding=1)
    by_name = {}
    for layer in reversed(grads):  # conv1 first, as in SHAPES
        by_name[f"{layer}.weight"], by_name[f"{layer}.bias"] = grads[layer]
    return loss, by_name


def layer_costs(batch: int, training: bool = True) -> list[LayerCost]:
    """FLOPs and bytes of one training step on `batch` images: a row for each layer, loss and sgd.

    Each row has .name, .flops, .bytes and .intensity, and .operations (forward, dW, dX), of which
    they are the sums. The rules of counting are in `labkit.costs.step_costs`. In short: float32,
    a multiply-add is 2 FLOPs, every operation reads its operands and writes its results once.
    """
    return step_costs(LAYERS, batch, training)


def torch_model(weights: dict[str, np.ndarray] | None = None) -> "torch.nn.Module":
    """The network in PyTorch, float32 on the CPU; without weights, PyTorch's own random ones."""
    import torch
    from torch import nn
    from torch.nn.functional import max_pool2d, relu

    class ConvNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 32, 3, padding=1)
            self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
            self.fc1 = nn.Linear(4096, 128)
            self.fc2 = nn.Linear(128, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:  # [N,3,32,32] -> [N,10]
            x = max_pool2d(relu(self.conv1(x)), 2)  # [N,32,16,16]
            x = max_pool2d(relu(self.conv2(x)), 2)  # [N,64,8,8]
            return self.fc2(relu(self.fc1(x.flatten(1))))

    model = ConvNet()
    if weights is not None:
        weights = _checked(weights, "torch_model")
        float32 = {name: torch.tensor(w, dtype=torch.float32) for name, w in weights.items()}
        model.load_state_dict(float32)
    return model
