"""What numba-cuda says to a case: it needs no GPU for that.

A case is compiled as a device function, so that Numba tells the type of its result. Numba's typing
and lowering refuse some; NVVM refuses some more; a call to what exists nowhere is refused as well.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from types import SimpleNamespace
from unittest.mock import patch

from functions_by_dtype.cases import SCALARS, SCOPE, Case, function_source, names

ARCH, BATCH = (8, 0), 100
SHIMS = "_nbst"  # ends the names of CUDA's C++ functions that Numba links to the PTX


@dataclass
class Compiled:
    """The answer to a case: a result type or the reason of the refusal; its function in the PTX."""

    type: str | None
    why: str = ""
    name: str = ""


@dataclass
class Module:
    """One PTX text with the functions of several cases."""

    ptx: str
    names: dict[Case, str]


def version() -> str:
    return metadata.version("numba-cuda")


def libdevice_cases() -> list[Case]:
    """Every function of libdevice that takes one to three numbers: its own types, and others."""
    from numba.cuda import libdevicefuncs

    codes = {name.rstrip("_"): code for code, name in SCALARS.items()}
    found = []
    for symbol, (_, arguments) in libdevicefuncs.functions.items():
        given = [codes[str(argument.ty)] for argument in arguments if not argument.is_ptr]
        text = f"cuda.libdevice.{symbol.removeprefix('__nv_')}({', '.join('xyz'[: len(given)])})"
        others = [(code,) * len(given) for code in ("u8", "f2", "c8")]
        found += [Case(text, types) for types in dict.fromkeys([tuple(given), *others])]
    return found


def ask(cases: list[Case], **options: int) -> tuple[dict[Case, Compiled], list[Module]]:
    """numba-cuda's answers, and the PTX of what it accepts; NVVM's `options` are opt and fma."""
    answers, modules, waiting = {}, [], []
    device = SimpleNamespace(compute_capability=ARCH)
    with patch("numba.cuda.dispatcher.get_current_device", lambda: device):  # need not exist
        for case in cases:
            answers[case], texts = _lower(case)
            if texts:
                waiting.append((case, answers[case].name, texts))
            if len(waiting) == BATCH or (waiting and case == cases[-1]):
                modules += _assemble(waiting, answers, options)
                waiting = []
    modules += _assemble(waiting, answers, options) if waiting else []
    return answers, modules


def types_of(case: Case) -> tuple:
    """Numba's types of the arguments."""
    from numba.cuda import types

    numbers = [getattr(types, SCALARS[code.removesuffix("[]")]) for code in case.dtypes]
    return tuple(
        types.Array(number, 1, "C") if code.endswith("[]") else number
        for number, code in zip(numbers, case.dtypes, strict=True)
    )


def _lower(case: Case) -> tuple[Compiled, list[str]]:
    """Numba's part: the answer and the LLVM texts."""
    from numba import cuda
    from numba.cuda import types
    from numba.cuda.compiler import compile_cuda

    scope = SCOPE | {"cuda": cuda, "types": types}
    exec(function_source(case), scope)
    try:
        result = compile_cuda(scope["f"], None, types_of(case), cc=ARCH)
    except AssertionError as error:
        return _stored(case, scope, error), []
    except Exception as error:  # Numba raises many kinds, some of them by mistake
        return Compiled(None, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"), []
    texts = list(_texts(result.library))
    return Compiled(str(result.signature.return_type), "", result.fndesc.llvm_func_name), texts


def _stored(case: Case, scope: dict, error: Exception) -> Compiled:
    """The answer to a kernel that stores the result: Numba types `v /= y` of integers as int64, but
    computes a float64, and only a kernel that stores it in an array of such compiles."""
    from numba.cuda import types
    from numba.cuda.compiler import compile_cuda

    *before, last = case.text.split("; ")
    lines = [f"def kernel(o, {', '.join(names(case.text))}):", *before, f"o[0] = {last}"]
    exec("\n    ".join(lines), scope)
    try:
        given = types.Array(types.float64, 1, "C"), *types_of(case)
        compile_cuda(scope["kernel"], types.void, given, cc=ARCH)
    except Exception:
        return Compiled(None, f"AssertionError: {error}")
    return Compiled("float64")


def _texts(library: object) -> Iterator[str]:
    """LLVM of the function and of what it calls."""
    todo, seen = [library], set()
    while todo:
        one = todo.pop(0)
        if id(one) not in seen:
            seen.add(id(one))
            todo += getattr(one, "_linking_libraries", [])
            yield from getattr(one, "llvm_strs", [])


def _assemble(
    waiting: list[tuple], answers: dict[Case, Compiled], options: dict[str, int]
) -> list[Module]:
    """NVVM's part: all in one PTX text; where it fails, halves, down to the culprits."""
    from numba.cuda.cudadrv import nvvm

    own = re.compile(r'define [^@]*@"([^"]+)"')  # several cases may call the same function
    texts = {own.search(text)[1]: text for _, _, found in waiting for text in found}
    try:
        ptx = nvvm.compile_ir(list(texts.values()), arch="compute_{}{}".format(*ARCH), **options)
    except Exception as error:
        if len(waiting) > 1:
            half = len(waiting) // 2
            parts = waiting[:half], waiting[half:]
            return [module for part in parts for module in _assemble(part, answers, options)]
        answers[waiting[0][0]] = Compiled(None, f"NVVM: {' '.join(str(error).split())[:300]}")
        return []
    ptx = ptx.decode().strip("\0")
    missing = re.findall(r"\.extern \.func\s+(?:\([^)]*\))?\s*([\w$]+)", ptx)
    missing = [name for name in missing if not name.endswith(SHIMS)]
    for case, _, found in waiting:
        if absent := [name for name in missing if any(name in text for text in found)]:
            answers[case] = Compiled(None, f"it calls {absent[0]}, which exists nowhere")
    return [Module(ptx, {case: name for case, name, _ in waiting if answers[case].type})]
