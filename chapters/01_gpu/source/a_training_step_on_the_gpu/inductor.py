"""What torch.compile would run on the CPU: its loops, without building them."""

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

from labkit.torch_cache import keep_compiled_by_torch

SHORTER = {  # what is left out, so that the loops can be read
    r"static_cast<int64_t>\(([^()]*)\)|\bint64_t (?=x)|auto (?=tmp)": r"\1",
    r"(\d)L\b": r"\1",
    r", decltype\(\w+\)\(0\)": ", 0",
}


def compiled_loops(function: Callable, *arguments: Any) -> str:
    """The loops of the C++ that PyTorch's compiler makes of function(*arguments), shortened.

    They are scalar: without vector instructions they can be read. A C++ compiler must be there,
    though it is not run; without one, the answer is a sentence.
    """
    import torch

    keep_compiled_by_torch()  # before its compiler looks for what it has compiled
    try:  # none of this is promised to stay
        from torch._functorch import config as autograd
        from torch._inductor import config
        from torch._inductor.cpp_builder import get_cpp_compiler
        from torch._inductor.exc import InvalidCxxCompiler
        from torch._inductor.utils import get_code
    except ImportError as error:
        return f"This PyTorch, {torch.__version__}, does not show its compiler's code ({error})."
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return "PyTorch's compiler finds no C++ compiler here, so it shows no code."
    # No vector has one bit: whatever this process has found out of its vector instructions before.
    options = {"cpp.simdlen": 1, "compile_threads": 1, "fx_graph_cache": False}
    no_cache = autograd.patch(enable_autograd_cache=False)  # code that is not built must not stay
    with config.patch(options), no_cache, torch.no_grad():
        code = get_code(torch.compile(function, dynamic=False), *arguments)[0]
    for pattern, shorter in SHORTER.items():
        code = re.sub(pattern, shorter, code)
    lines, depth = [], ""
    for line in code.splitlines():
        text = line.strip()
        if text.startswith("for("):
            depth = line[8 : len(line) - len(text)]
            lines.append(depth + text)
        elif re.match(r"tmp\d+ =|out_ptr\d\[", text):
            lines.append(f"{depth}    {text}")
    return dedent("\n".join(lines))
