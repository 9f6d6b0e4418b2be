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

from math import prod
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


def _parameters(layer: str) -> int:
    """How many weights and biases a layer has."""
    return prod(SHAPES[f"{layer}.weight"]) + prod(SHAPES[f"{layer}.bias"])


LAYERS = [  # name, kind, shape of the input and of the output, weights and biases
    Layer("conv1", "conv", (3, 32, 32), (32, 32, 32), _parameters("conv1")),
    Layer("relu1", "relu", (32, 32, 32), (32, 32, 32), 0),
    Layer("pool1", "pool", (32, 32, 32), (32, 16, 16), 0),
    Layer("conv2", "conv", (32, 16, 16), (64, 16, 16), _parameters("conv2")),
    Layer("relu2", "relu", (64, 16, 16), (64, 16, 16), 0),
    Layer("pool2", "pool", (64, 16, 16), (64, 8, 8), 0),
    Layer("fc1", "linear", (4096,), (128,), _parameters("fc1")),
    Layer("relu3", "relu", (128,), (128,), 0),
    Layer("fc2", "linear", (128,), (10,), _parameters("fc2")),
]


def init(seed: int = 0) -> dict[str, np.ndarray]:
    """Fresh weights, float32, shaped as in SHAPES; equal seeds give equal weights.

    Weights are normal with variance 2 / fan_in, where fan_in is the number of inputs that one
    output reads (He et al. 2015, arXiv:1502.01852). Biases are 0.
    """
    random = np.random.default_rng(seed)
    weights = {}
    for name, shape in SHAPES.items():
        fan_in = prod(shape[1:])
        spread = np.sqrt(2 / fan_in) if name.endswith("weight") else 0.0
        drawn = random.standard_normal(shape)  # for the biases too: they move the generator on
        weights[name] = (spread * drawn).astype(np.float32)
    return weights


def load_weights(path: str | Path | None = None) -> dict[str, np.ndarray]:
    """Weights from a safetensors file; without a path the trained ones that come with labkit.

    Raises ValueError for a file that is not whole, and for names or shapes other than SHAPES has.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = TRAINED if path is None else Path(path)
    try:
        weights = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error}).") from error
    return checked(weights, str(path))


def save_weights(weights: dict[str, np.ndarray], path: str | Path) -> None:
    """Write weights to a safetensors file, as float32.

    Raises ValueError when their names or shapes are not those of SHAPES.
    """
    from safetensors.numpy import save

    float32 = {}
    for name, weight in checked(weights, "the weights to save").items():
        float32[name] = np.ascontiguousarray(weight, dtype=np.float32)
    Path(path).write_bytes(save(float32))


def checked(weights: dict[str, np.ndarray], where: str) -> dict[str, np.ndarray]:
    """The weights in the order of SHAPES, or a sentence saying which one does not belong."""
    if set(weights) != set(SHAPES):
        raise ValueError(f"{where}: names are {sorted(weights)} but must be {sorted(SHAPES)}.")
    for name, shape in SHAPES.items():
        got = np.shape(weights[name])
        if got != shape:
            raise ValueError(f"{where}: {name} has shape {got} but must have {shape}.")
    return {name: weights[name] for name in SHAPES}


def normalise(images: np.ndarray) -> np.ndarray:
    """Pixels for the network: uint8 images[N,3,32,32] -> float32, (pixel / 255 - MEAN) / STD.

    Raises ValueError for images of another type or without three colours.
    """
    images = np.asarray(images)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3:
        got = f"{images.dtype}{list(images.shape)}"
        raise ValueError(f"normalise: images are {got}, not uint8[N,3,H,W].")
    mean = np.array(MEAN, dtype=np.float32).reshape(3, 1, 1)
    std = np.array(STD, dtype=np.float32).reshape(3, 1, 1)
    pixels = images.astype(np.float32) / np.float32(255)
    return (pixels - mean) / std


def forward(weights: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """Logits[N,10] of normalised images x[N,3,32,32], computed in float64.

    Holds all N images' activations at once, about 1 MB each: give it some hundred at a time.
    """
    return activations(weights, x)["fc2"]


def activations(w: dict[str, np.ndarray], x: np.ndarray) -> dict[str, np.ndarray]:
    """What every layer puts out, by its name, in float64; "image" is the input, x[N,3,32,32].

    "flat" is "pool2" as rows [N,4096]. The other shapes are those in the module's text.
    """
    image = np.asarray(x)
    conv1 = ref.conv2d(image, w["conv1.weight"], w["conv1.bias"], padding=1)
    relu1 = ref.relu(conv1)
    pool1 = ref.maxpool2d(relu1)
    conv2 = ref.conv2d(pool1, w["conv2.weight"], w["conv2.bias"], padding=1)
    relu2 = ref.relu(conv2)
    pool2 = ref.maxpool2d(relu2)
    flat = pool2.reshape(len(x), -1)  # [N,4096]
    fc1 = ref.linear(flat, w["fc1.weight"], w["fc1.bias"])
    relu3 = ref.relu(fc1)
    fc2 = ref.linear(relu3, w["fc2.weight"], w["fc2.bias"])
    return {
        "image": image,
        "conv1": conv1,
        "relu1": relu1,
        "pool1": pool1,
        "conv2": conv2,
        "relu2": relu2,
        "pool2": pool2,
        "flat": flat,
        "fc1": fc1,
        "relu3": relu3,
        "fc2": fc2,
    }


def forward_backward(
    weights: dict[str, np.ndarray], x: np.ndarray, labels: np.ndarray
) -> tuple[float, dict[str, np.ndarray]]:
    """Mean loss of x[N,3,32,32] with labels[N], and dL/dw for every weight, named as in SHAPES.

    The loss is the softmax cross-entropy. A local name such as `dpool1` is dL/d(pool1).
    """
    a = activations(weights, x)
    loss = ref.softmax_cross_entropy(a["fc2"], labels)
    dfc2 = ref.softmax_cross_entropy_backward(a["fc2"], labels)
    drelu3, dw_fc2, db_fc2 = ref.linear_backward(dfc2, a["relu3"], weights["fc2.weight"])
    dfc1 = ref.relu_backward(drelu3, a["fc1"])
    dflat, dw_fc1, db_fc1 = ref.linear_backward(dfc1, a["flat"], weights["fc1.weight"])
    dpool2 = dflat.reshape(a["pool2"].shape)
    drelu2 = ref.maxpool2d_backward(dpool2, a["relu2"])
    dconv2 = ref.relu_backward(drelu2, a["conv2"])
    dpool1, dw_conv2, db_conv2 = ref.conv2d_backward(
        dconv2, a["pool1"], weights["conv2.weight"], padding=1
    )
    drelu1 = ref.maxpool2d_backward(dpool1, a["relu1"])
    dconv1 = ref.relu_backward(drelu1, a["conv1"])
    _, dw_conv1, db_conv1 = ref.conv2d_backward(
        dconv1, a["image"], weights["conv1.weight"], padding=1
    )
    gradients = {
        "conv1.weight": dw_conv1,
        "conv1.bias": db_conv1,
        "conv2.weight": dw_conv2,
        "conv2.bias": db_conv2,
        "fc1.weight": dw_fc1,
        "fc1.bias": db_fc1,
        "fc2.weight": dw_fc2,
        "fc2.bias": db_fc2,
    }
    return loss, gradients


def layer_costs(batch: int, training: bool = True) -> list[LayerCost]:
    """FLOPs and bytes of one training step on `batch` images: a row for each layer, loss and sgd.

    Each row has .name, .flops, .bytes and .intensity, and .operations (forward, dW, dX), of which
    they are the sums. The rules of counting are in `labkit.costs.step_costs`. In short: float32,
    a multiply-add is 2 FLOPs, every operation reads its operands and writes its results once.
    """
    return step_costs(LAYERS, batch, training)


def torch_model(weights: dict[str, np.ndarray] | None = None) -> "torch.nn.Module":
    """The network in PyTorch, float32 on the CPU; without weights, PyTorch's own random ones.

    Raises ValueError when the weights' names or shapes are not those of SHAPES.
    """
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
        float32 = {}
        for name, weight in checked(weights, "torch_model").items():
            float32[name] = torch.tensor(weight, dtype=torch.float32)
        model.load_state_dict(float32)
    return model
