"""What NVIDIA's compiler makes of a kernel; no GPU is needed.

Numba types it, NVVM makes PTX, nvJitLink machine code. What they say is read in
`labkit.gpu.compiled_kernel`. Only this module, `labkit.gpu.device` and `labkit.gpu.cuda` import
numba-cuda. (Lesson tiles is the first to use it.)
"""

import re
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from types import CellType, FunctionType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from labkit.gpu.compiled_kernel import CompileReport, report
from labkit.gpu.device import lend_row_stack
from labkit.gpu.linker import linked
from numba_simt.extensions import mma, vector

BOUNDS = ("launch_bounds", "max_registers")  # options that are numbers


def compile_report(
    kernel: Any, signature: Any, arch: str = "sm_80", **options: Any
) -> CompileReport:
    """Compile `kernel` for `arch`: a CompileReport of what it needs and what its code costs.

    `kernel` is a function under @cuda.jit, of labkit.gpu or of Numba, or a plain one. `signature`
    is Numba's ("void(float32[:, ::1], int32)"), or a tuple of types or of example arguments.
    `options` are those of cuda.jit that change code: fastmath, launch_bounds, max_registers.
    Raises ImportError without the compiler, ValueError for what it does not know or refuses.
    """
    cuda, archs = _toolkit()
    if arch not in archs:
        raise ValueError(f"{arch!r} is no architecture this compiler knows: {', '.join(archs)}.")
    function = getattr(kernel, "py_func", kernel)
    given = getattr(kernel, "targetoptions", {})
    for name in ("fastmath", *BOUNDS):
        if name in given:
            options.setdefault(name, given[name])
    _check_bounds(options)
    limit = options.pop("max_registers", None)
    try:
        ptx = _ptx(cuda, function, signature, arch, options)
        log = linked(ptx, arch, limit)
    except Exception as error:  # of Numba, NVVM or nvJitLink
        name = getattr(function, "__name__", function)
        raise ValueError(f"{name}: {_without_noise(error)}") from error
    return report(function, arch, ptx, log)


def _check_bounds(options: dict[str, Any]) -> None:
    """Refuses bounds that would end the process of the compiler, or that it would not heed."""
    for name in BOUNDS:
        value = options.get(name)
        if value is None:
            continue
        numbers = value if isinstance(value, tuple | list) else [value]
        if any(type(n) is not int or n < 1 for n in numbers):
            raise ValueError(f"{name} is {value!r}: it takes integers from 1 on.")


def _ptx(cuda: Any, function: Callable, signature: Any, arch: str, options: dict[str, Any]) -> str:
    """The PTX of a function for "sm_90", which is compute capability (9, 0)."""
    number = arch.removeprefix("sm_")
    major = int(number[:-1])
    minor = int(number[-1])
    capability = (major, minor)
    device = SimpleNamespace(compute_capability=capability)  # need not exist
    options = options | {"cc": capability, "lineinfo": True}
    native = _native(function, cuda)
    types = _types(signature)
    with patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        ptx, _ = cuda.compile_ptx(native, types, **options)
    return ptx


def _without_noise(error: Exception) -> str:
    """What the compiler said, in one line, without the stages and files of Numba."""
    noise = r"(?s)Failed in.*?\n|There are.*?(?=\nDuring|$)|File .*?(?=During: t)|During: P.*"
    said = re.sub(noise, "", str(error))
    return " ".join(said.split())


def _toolkit() -> tuple[Any, list[str]]:
    """numba.cuda, and the architectures that it and the linker know."""
    try:
        import_module("numba_cuda")
        import_module("cuda.bindings.nvjitlink")
        nvrtc = import_module("cuda.bindings.nvrtc")
        _, numbers = nvrtc.nvrtcGetSupportedArchs()
        cuda = import_module("numba.cuda")
        if getattr(cuda, "compile_ptx", None) is None:
            raise ImportError("NUMBA_ENABLE_CUDASIM puts a simulator in its place; unset it")
        lend_row_stack()
        vector.register()
        mma.register()
    except (ImportError, RuntimeError) as error:
        missing = f"compile_report needs NVIDIA's compiler; part of it is missing here ({error})."
        install = "Install it: pip install 'numba-cuda[cu13]' (Linux or Windows; it needs no GPU)."
        raise ImportError(f"{missing} {install}") from error
    archs = [f"sm_{number}" for number in numbers]
    return cuda, archs


def _types(signature: Any) -> tuple:
    """Numba's types of the arguments."""
    from numba import typeof, types
    from numba.core.sigutils import normalize_signature

    if isinstance(signature, str) or hasattr(signature, "return_type"):
        arguments, _ = normalize_signature(signature)
        return arguments
    is_several = isinstance(signature, tuple | list)
    given = signature if is_several else (signature,)
    found = []
    for one in given:
        if isinstance(one, types.Type):
            found.append(one)
            continue
        example = getattr(one, "memory", one)  # that of our own device arrays
        if hasattr(example, "numpy") and not example.is_cuda:
            example = example.numpy()
        found.append(typeof(example))
    return tuple(found)


def _native(function: Callable, cuda: Any) -> Callable:
    """The function, with numba.cuda in all places where it names our stand-in."""
    from numba_simt import cuda as simt
    from numba_simt.launching import dispatcher

    def translate(thing: Any) -> Any:
        if isinstance(thing, simt.InKernel):
            return attrgetter(thing.path)(cuda)
        if isinstance(thing, dispatcher.DeviceFunction):
            options = {"lineinfo": True} | thing.targetoptions
            compiled = cuda.jit(device=True, **options)
            return compiled(_native(thing.py_func, cuda))
        if thing is simt:
            return cuda
        return thing

    code = function.__code__
    scope = dict(function.__globals__)
    for name in code.co_names:
        if name in scope:
            scope[name] = translate(scope[name])
    cells = []
    for cell in function.__closure__ or ():
        held = translate(cell.cell_contents)
        cells.append(CellType(held))
    name = function.__name__
    defaults = function.__defaults__
    return FunctionType(code, scope, name, defaults, tuple(cells))
