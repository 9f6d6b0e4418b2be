"""What PyTorch runs for a module, and what it runs after torch.compile: kernels, counted.

    operators_of(block, x)        # ["native_layer_norm", "addmm", "addmm", ...]
    fast = compiled(block, x)     # compiles for the CPU and runs it once
    fast.kernels                  # ["cpp_fused_native_layer_norm_0", "extern_kernels.addmm", ...]
    fast.run(x)

Without the compiler, each operator of PyTorch is a kernel of its own: it reads its inputs from
memory and writes its output there. One that only looks at the same memory in another shape is
none. The compiler generates loops that do the work of several operators, and calls the library for
the matrix products. Both counts are exact and the same on each run.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labkit.torch_cache import keep_compiled_by_torch

KERNEL = re.compile(
    r"^\s+(?:\w+ = )?(cpp_fused_\w+|extern_kernels\.\w+|torch\.ops\.[\w.]+)\(", re.MULTILINE
)


class _Operators(TorchDispatchMode):
    """Notes each operator that writes numbers: views, which only alias their input, do not."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Runs an operation and notes its name."""
        result = operation(*args, **(kwargs or {}))
        fresh = _storages(result) - _storages((args, kwargs))
        if fresh or operation._schema.is_mutable:
            self.names.append(operation.overloadpacket.__name__)
        return result


@torch.no_grad()
def operators_of(function: Callable, *arguments: Any) -> list[str]:
    """The names of the operators that function(*arguments) runs in eager mode, in their order."""
    with _Operators() as operators:
        function(*arguments)
    return operators.names


@dataclass(frozen=True)
class Compiled:
    """A compiled function, what it calls, and what it gave when it ran first."""

    run: Callable
    kernels: list[str]
    output: Any


def compiled(function: Callable, *arguments: Any) -> Compiled:
    """torch.compile for the CPU, for these shapes, without gradients; and one run.

    It compiles in this process, so no worker stays behind. A C++ compiler must be there; without
    one, PyTorch raises its InvalidCxxCompiler.
    """
    keep_compiled_by_torch()  # before its compiler looks for what it has compiled
    from torch._functorch import config as autograd
    from torch._inductor import config
    from torch._inductor.utils import run_and_get_code

    made = torch.compile(function, dynamic=False)

    def run(*arguments: Any) -> Any:
        with torch.no_grad():
            return made(*arguments)

    options = {"compile_threads": 1, "fx_graph_cache": False}  # so that there is always code
    with config.patch(options), autograd.patch(enable_autograd_cache=False):
        output, codes = run_and_get_code(run, *arguments)
    kernels = [name for code in codes for name in KERNEL.findall(code)]
    return Compiled(run, kernels, output)


def _storages(tree: Any) -> set[int]:
    tensors = (leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor))
    return {tensor.untyped_storage().data_ptr() for tensor in tensors}
