"""Tensors as bytes, and back; for those that go through the referee."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def dtype_name(tensor: "torch.Tensor") -> str:
    """ "float32"."""
    return str(tensor.dtype).removeprefix("torch.")


def bytes_of(tensor: "torch.Tensor") -> bytes:
    """The bytes of its elements."""
    import torch

    dense = tensor.detach().cpu().contiguous()
    flat = dense.as_strided((dense.numel(),), (1,))  # a single element may have any stride
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def fill(tensor: "torch.Tensor", data: bytes) -> None:
    """Writes the bytes into a tensor of as many."""
    import torch

    with torch.no_grad():
        tensor.copy_(tensor_of(data, tensor))


def tensor_of(data: bytes, like: "torch.Tensor") -> "torch.Tensor":
    """A new tensor of the same shape and dtype, from its bytes."""
    import torch

    if not data:
        return torch.empty(like.shape, dtype=like.dtype)
    return torch.frombuffer(bytearray(data), dtype=like.dtype).view(like.shape)


def tensors_of(parts: Iterable[bytes], like: "torch.Tensor") -> "list[torch.Tensor]":
    """One for each part."""
    return [tensor_of(part, like) for part in parts]
