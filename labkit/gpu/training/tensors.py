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
from labkit.shapes import described, fit_axes
from numba_simt import cuda as simt

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
    called = kernel.py_func.__name__
    code = kernel.py_func.__code__
    names = code.co_varnames[: code.co_argcount]
    if len(names) != len(arguments):
        takes = f"{called} takes {len(names)} arguments ({', '.join(names)})"
        raise TypeError(f"{takes}, not {len(arguments)}.")
    taken = []
    for name, value in zip(names, arguments, strict=True):
        taken.append(as_argument(value, f"{called}: {name}"))
    if cuda is simt:
        kernel[grid, block](*taken)
    else:
        device = torch.cuda.current_device()
        handle = torch.cuda.current_stream().cuda_stream
        stream = _stream(device, handle)
        kernel[grid, block, stream](*taken)
    launches[layer, called] += 1
    for argument in reversed(arguments):
        if isinstance(argument, torch.Tensor):
            return argument
    return None


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
    refusal = _refusal(tensor)
    if refusal is not None:
        dtype = str(tensor.dtype).removeprefix("torch.")
        kind = described(dtype, tensor)
        raise ValueError(f"{name}, {kind} on {tensor.device}, {refusal}")


def _refusal(tensor: torch.Tensor) -> str | None:
    """What is wrong with a tensor, and what to do."""
    misplaced = _misplaced(tensor)
    if misplaced is not None:
        return misplaced
    if tensor.layout != torch.strided or not tensor.is_contiguous() or tensor.is_neg():
        return "is not contiguous: its elements do not lie in row-major order; use .contiguous()."
    if tensor.dtype.is_floating_point and tensor.dtype != torch.float32:
        return "is not float32, which the kernels compute in: use .float()."
    if tensor.dtype.is_complex or tensor.dtype == torch.bool:
        return "holds neither float32 nor integers."
    if not 0 < tensor.numel() < 2**31:
        return "must have from 1 to 2^31 - 1 elements: the kernels count them in 32 bits."
    is_read_by_four = tensor.dtype in (torch.float32, torch.uint32)
    if is_read_by_four and tensor.data_ptr() % ALIGNED:
        return "does not start at a multiple of 16 bytes, which float32x4 needs: use .clone()."
    return None


def _misplaced(tensor: torch.Tensor) -> str | None:
    """What is wrong with the device of a tensor, and what to do."""
    if cuda is simt:
        if tensor.device.type == "cpu":
            return None
        return "lies outside of the SIMT machine, which runs the kernels here: use .cpu()."
    if tensor.device.type != "cuda":
        do = "use .cuda()."
        if not torch.cuda.is_available():
            do = "install a PyTorch for CUDA, for this one cannot use it, or set LABKIT_CUDA=simt."
        return f"is not on the GPU, which runs the kernels here: {do}"
    current = torch.cuda.current_device()
    if tensor.get_device() != current:
        now = f"cuda:{current}"
        return f"is not on PyTorch's current device, {now}: use `with torch.cuda.device(...)`."
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
        name, _, _ = wanted.partition("[")
        if not isinstance(tensor, torch.Tensor):
            kind = type(tensor).__name__
            raise TypeError(f"{layer}: {name} is a {kind}, not a tensor.")
        said = described(name, tensor)
        kind = tensor.dtype
        is_integer = not (kind.is_floating_point or kind.is_complex or kind == torch.bool)
        if name == "labels" and not is_integer:
            raise ValueError(f"{layer}: {said} holds {kind}: use integers.")
        if name != "labels" and kind != torch.float32:
            raise ValueError(f"{layer}: {said} holds {kind}, not float32: use .float().")
        has_axes = name != wanted
        if has_axes:
            fit_axes(layer, wanted.rstrip("?"), tensor, first)
        _check(tensor, f"{layer}: {name}")


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """A view with one axis; what is not contiguous comes back as it is, for `launch` to refuse."""
    if not tensor.is_contiguous():
        return tensor
    return tensor.detach().view(-1)


def ready(gradient: torch.Tensor) -> torch.Tensor:
    """A gradient as kernels want it: contiguous and aligned; if need be a copy, on its device."""
    if gradient.layout != torch.strided:
        raise ValueError("The gradient is sparse, but kernels take dense ones: use .to_dense().")
    gradient = gradient.contiguous()
    if gradient.data_ptr() % ALIGNED:
        return gradient.clone()
    return gradient
