"""PyTorch's tensors as arguments of kernels, without copies.

On a GPU a kernel gets the tensor's own memory, and runs on the stream that PyTorch is using; on the
SIMT machine it gets that of a CPU tensor. What does not fit is refused in a sentence: nothing is
converted, made contiguous or moved to another device behind the caller's back.
"""

import warnings
from collections import Counter
from functools import cache
from numbers import Number
from typing import Any

import torch

from labkit.gpu import cuda
from labkit.gpu.simt import api as simt
from labkit.shapes import described, fit_axes

ALIGNED = 16  # bytes that float32x4 and uint32x4 read at once, from a multiple of as many
launches: Counter[tuple[str, str]] = Counter()  # (layer, kernel): how often; clear() to start anew

# A layer of a small batch has few blocks; Numba would warn of each.
warnings.filterwarnings("ignore", "Grid size .* will likely result in GPU under-utilization")


def kernel_device() -> str:
    """PyTorch's device whose tensors kernels take: where they run, whatever PyTorch could use."""
    return "cpu" if cuda is simt else "cuda"


def launch(plan: tuple[Any, Any, Any], *arguments: Any, layer: str = "") -> torch.Tensor | None:
    """kernel[grid, block](*arguments) for a Plan, or any (kernel, grid, block).

    Returns the last tensor of the arguments, which is the output by our convention.
    Arguments are contiguous tensors of float32 or integers on the device that runs kernels, and
    numbers, which are passed on. The launch is counted under (layer, the kernel's name).
    Raises TypeError or ValueError, in a sentence, before anything runs.
    """
    kernel, grid, block = plan
    function = kernel.py_func
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if len(names) != len(arguments):
        takes = f"{function.__name__} takes {len(names)} arguments ({', '.join(names)})"
        raise TypeError(f"{takes}, not {len(arguments)}.")
    given = zip(names, arguments, strict=True)
    ready = [as_argument(value, f"{function.__name__}: {name}") for name, value in given]
    if cuda is simt:
        kernel[grid, block](*ready)
    else:
        now = torch.cuda.current_device(), torch.cuda.current_stream().cuda_stream
        kernel[grid, block, _stream(*now)](*ready)
    launches[layer, function.__name__] += 1
    return next((a for a in reversed(arguments) if isinstance(a, torch.Tensor)), None)


@cache
def _stream(device: int, handle: int) -> Any:
    """PyTorch's stream for Numba: always the same object, by which Numba knows a launch again."""
    return cuda.external_stream(handle)


def as_argument(value: Any, name: str = "the argument") -> Any:
    """A tensor's memory as an array for kernels; a number as it is. TypeError, ValueError."""
    if isinstance(value, Number):  # NumPy's too
        return value
    if not isinstance(value, torch.Tensor):
        kind = type(value).__name__
        raise TypeError(f"{name} is a {kind}: give a tensor (torch.from_numpy) or a number.")
    _check(value, name)
    if cuda is simt:
        return value.detach().numpy()
    return cuda.as_cuda_array(value.detach())


def _check(tensor: torch.Tensor, name: str) -> None:
    if refusal := _refusal(tensor):
        kind = described(str(tensor.dtype).removeprefix("torch."), tensor)
        raise ValueError(f"{name}, {kind} on {tensor.device}, {refusal}")


def _refusal(tensor: torch.Tensor) -> str | None:
    """What is wrong with a tensor, and what to do."""
    if cuda is simt and tensor.device.type != "cpu":
        return "lies outside of the SIMT machine, which runs the kernels here: use .cpu()."
    if cuda is not simt and tensor.device.type != "cuda":
        absent = "install a PyTorch for CUDA, for this one cannot use it, or set LABKIT_CUDA=simt."
        do = "use .cuda()." if torch.cuda.is_available() else absent
        return f"is not on the GPU, which runs the kernels here: {do}"
    if cuda is not simt and tensor.get_device() != torch.cuda.current_device():
        now = f"cuda:{torch.cuda.current_device()}"
        return f"is not on PyTorch's current device, {now}: use `with torch.cuda.device(...)`."
    if tensor.layout != torch.strided or not tensor.is_contiguous() or tensor.is_neg():
        return "is not contiguous: its elements do not lie in row-major order; use .contiguous()."
    if tensor.dtype.is_floating_point and tensor.dtype != torch.float32:
        return "is not float32, which the kernels compute in: use .float()."
    if tensor.dtype.is_complex or tensor.dtype == torch.bool:
        return "holds neither float32 nor integers."
    if not 0 < tensor.numel() < 2**31:
        return "must have from 1 to 2^31 - 1 elements: the kernels count them in 32 bits."
    if tensor.dtype in (torch.float32, torch.uint32) and tensor.data_ptr() % ALIGNED:
        return "does not start at a multiple of 16 bytes, which float32x4 needs: use .clone()."
    return None


def fit(layer: str, axes: str, *tensors: torch.Tensor | None) -> None:
    """Refuses what does not fit, in a sentence: fit("linear", "x[N,D] w[K,D] b[K]?", x, w, b).

    A letter means the same size everywhere; `labels` hold integers, all others float32; what has a
    question mark may be None. What kernels cannot take is refused here, under the layer's names.
    """
    first: dict[str, tuple] = {}
    for wanted, tensor in zip(axes.split(), tensors, strict=True):
        if tensor is None and wanted.endswith("?"):
            continue
        name = wanted.partition("[")[0]
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{layer}: {name} is a {type(tensor).__name__}, not a tensor.")
        said, kind = described(name, tensor), tensor.dtype
        if name == "labels" and (kind.is_floating_point or kind.is_complex or kind == torch.bool):
            raise ValueError(f"{layer}: {said} holds {kind}: use integers.")
        if name != "labels" and kind != torch.float32:
            raise ValueError(f"{layer}: {said} holds {kind}, not float32: use .float().")
        if name != wanted:
            fit_axes(layer, wanted.rstrip("?"), tensor, first)
        _check(tensor, f"{layer}: {name}")


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """A view with one axis; what is not contiguous comes back as it is, for `launch` to refuse."""
    return tensor.detach().view(-1) if tensor.is_contiguous() else tensor


def ready(gradient: torch.Tensor) -> torch.Tensor:
    """A gradient as kernels want it: contiguous and aligned; if need be a copy, on its device."""
    if gradient.layout != torch.strided:
        raise ValueError("The gradient is sparse, but kernels take dense ones: use .to_dense().")
    gradient = gradient.contiguous()
    return gradient.clone() if gradient.data_ptr() % ALIGNED else gradient
