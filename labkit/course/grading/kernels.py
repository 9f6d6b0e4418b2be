"""A student's kernel as text and numbers, and made anew from these in another process.

A kernel is compiled from the text of its function. So that text, and the values of the names that
it uses from outside, are all of it: no code of the student's runs where it is made anew, but what
the SIMT machine makes of the kernel.
"""

import ast
import builtins
import importlib
import inspect
import linecache
import textwrap
from itertools import count
from typing import Any

from labkit.course.grading import data

DEEP = 4  # functions for the device that call each other
MODULES = ("numpy", "math", "numba", "numba_simt", "labkit", "operator")  # that a kernel may name
TYPES = ("float32", "float64", "int32", "int64", "uint32", "int8", "uint8", "boolean")
FAR = 10_000  # lines of a cell
UNCHANGED = "unchanged decorator"  # no name of Python's, so no name of a student's
_number = count()


def described(kernel: Any, depth: int = DEEP) -> dict:
    """The text of a kernel, or of a function for the device, and what its names stand for."""
    function = kernel.py_func
    text = textwrap.dedent(inspect.getsource(function))
    node = _definition(text)
    values = inspect.getclosurevars(function)
    outside = {**values.globals, **values.nonlocals}
    named = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    names = {
        name: _described_value(outside[name], depth) for name in sorted(named & outside.keys())
    }
    return {
        "text": text,
        "line": function.__code__.co_firstlineno,
        "names": names,
        "device": bool(getattr(kernel, "device", False)),
        "options": data.written(getattr(kernel, "targetoptions", {})),
    }


def _described_value(value: Any, depth: int) -> Any:
    if hasattr(value, "py_func") and depth:
        return {"function": described(value, depth - 1)}
    module = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    if inspect.ismodule(value):
        return {"module": module}
    written = data.written(value)
    if isinstance(written, dict) and written.get("kind") == "other":
        named = getattr(value, "__qualname__", None) or _name_in_numba(value)
        return {"module": str(module), "name": str(named)}
    return {"value": written}


def _name_in_numba(value: Any) -> str | None:
    """The name of a type of Numba's, such as float32, which knows none of its own."""
    numba = importlib.import_module("numba")
    return next((name for name in TYPES if getattr(numba, name) is value), None)


def made(given: Any, depth: int = DEEP) -> Any:
    """The kernel that was described; Broken where the description is none of a kernel."""
    from labkit.gpu import cuda

    try:
        text = "\n" * (min(int(given["line"]), FAR) - 1) + given["text"]  # lines as in its cell
        node = _definition(text)
        names = {str(name): _value(one, depth) for name, one in given["names"].items()}
        device, options = bool(given["device"]), data.read(given["options"])
    except (KeyError, TypeError, AttributeError, SyntaxError, ValueError) as error:
        raise data.Broken("a kernel is not what it says it is") from error
    file = f"<kernel {next(_number)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    own = {"__name__": "student", "__builtins__": vars(builtins), **names, UNCHANGED: lambda f: f}
    exec(compile(ast.Module([_bare(node)], []), file, "exec"), own)
    kept = {name: one for name, one in options.items() if name in ("fastmath", "debug", "opt")}
    return cuda.jit(device=device, **kept)(own[node.name])


def _definition(text: str) -> ast.FunctionDef:
    """The one function that a text defines."""
    (node,) = ast.parse(text).body
    if not isinstance(node, ast.FunctionDef):
        raise ValueError("this defines no function")
    return node


def _bare(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function without whatever would run where it is defined: decorators, defaults, types.

    A decorator that changes nothing stays in their place, since lines are counted from it.
    """
    if node.decorator_list:
        place = node.decorator_list[0]
        node.decorator_list = [ast.copy_location(ast.Name(UNCHANGED, ast.Load()), place)]
    node.returns = None
    for part in ast.walk(node.args):
        if isinstance(part, ast.arg):
            part.annotation = None
    for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
        ast.literal_eval(default)  # ValueError for what is no plain number
    return node


def _value(given: dict, depth: int) -> Any:
    if "function" in given and depth:
        return made(given["function"], depth - 1)
    if "module" in given:
        module = given["module"]
        if module.partition(".")[0] not in MODULES:
            raise data.Broken(f"a kernel uses {module}, which no kernel can")
        found = importlib.import_module(module)
        return getattr(found, given["name"]) if "name" in given else found
    return data.read(given["value"])
