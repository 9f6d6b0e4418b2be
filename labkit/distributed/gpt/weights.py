"""The small GPT's weights in safetensors files, and the trained ones that come with labkit.

    model = trained()                 # 3,000 steps on Emma: DATA.md
    save(model, path)
    load(GPT(config), path)           # weights of the same names and shapes

A safetensors file holds names, shapes and numbers, and nothing that could run when it is read.
"""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as packed

from labkit.distributed.gpt.model import GPT
from labkit.files import write_whole

TRAINED = Path(__file__).parents[2] / "data" / "gpt.safetensors"


def trained() -> GPT:
    """A GPT of the default Config with the trained weights; each call makes a new one."""
    return load(GPT(), TRAINED)


def save(model: GPT, path: str | Path) -> None:
    """Write a model's weights as float32; the file is whole at any moment."""
    float32 = {}
    for name, weight in model.state_dict().items():
        float32[name] = weight.detach().to(torch.float32).contiguous()
    write_whole(Path(path), packed(float32))


def load(model: GPT, path: str | Path) -> GPT:
    """Put a file's weights into a model of the same shape; returns the model.

    Raises FileNotFoundError when there is no file, and ValueError when it is not whole or holds
    other names or shapes than the model; the model is then as it was.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"There are no weights at {path}.")
    try:
        weights = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error}).") from error
    _demand_equal_shapes(weights, model.state_dict(), str(path))
    model.load_state_dict(weights)
    return model


def _demand_equal_shapes(
    weights: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor], where: str
) -> None:
    """ValueError with the first weight that is missing, not wanted, or of another shape."""
    missing = sorted(wanted.keys() - weights.keys())
    if missing:
        raise ValueError(f"{where} lacks {missing[0]}, which the model has.")
    foreign = sorted(weights.keys() - wanted.keys())
    if foreign:
        raise ValueError(f"{where} has {foreign[0]}, which the model lacks.")
    for name, weight in wanted.items():
        shape = list(weight.shape)
        got = list(weights[name].shape)
        if got != shape:
            raise ValueError(f"{where}: {name} has shape {got}, and the model's has {shape}.")
