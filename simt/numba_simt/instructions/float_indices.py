"""An index that is a float: which part of it makes it one, and what to write instead."""

import ast
from typing import Any

from numba import types

from numba_simt.errors import CompileError
from numba_simt.values import Value


def refusal(compiler: Any, node: ast.expr, value: Value) -> str:
    """The sentence for an index `node` whose value is a float."""
    index = ast.unparse(node)
    part, name = _part(compiler, node, frozenset())
    said = f"an index must be an integer, and `{index}` is a {value.type}"
    if ast.unparse(part) != index or isinstance(part, ast.BinOp | ast.Name):
        said += f", because {_reason(compiler, part, name)}"
    divided = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div)
    if divided:
        return f"{said}: use // between integers, or int(...)."
    floors = any(isinstance(one, ast.FloorDiv | ast.Mod) for one in ast.walk(node))
    also = "; // and % of floats give floats, too" if floors else ""
    return f"{said}{also}: write int({index})."


def _part(compiler: Any, node: ast.expr, names: frozenset[str]) -> tuple[ast.expr, str]:
    """The innermost part that is a float, and the variable to which it was assigned, if any."""
    for child in ast.iter_child_nodes(node):
        inner = isinstance(child, ast.expr) and not isinstance(node, ast.Subscript | ast.Attribute)
        if inner and _is_float(compiler, child):
            return _part(compiler, child, names)
    if isinstance(node, ast.Name) and node.id not in names:
        for assigned in _assigned(compiler.scope.source.tree, node.id):
            if _is_float(compiler, assigned):
                part, name = _part(compiler, assigned, names | {node.id})
                return part, name or node.id
    return node, ""


def _assigned(tree: ast.AST, name: str) -> list[ast.expr]:
    """What is assigned to a name in the kernel; `i /= 2` as `i / 2`, `i, j = a, b` as `i = a`."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and _is_name(node.target, name):
            found.append(ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for one, value in _pairs(target, node.value):
                    if _is_name(one, name):
                        found.append(value)
    return found


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Each name or place that an assignment fills, with the part of the value that it gets."""
    sequences = ast.Tuple | ast.List
    both = isinstance(target, sequences) and isinstance(value, sequences)
    if not both:
        return [(target, value)]
    pairs = []
    # where their lengths differ, it is refused elsewhere
    for one, part in zip(target.elts, value.elts, strict=False):
        pairs += _pairs(one, part)
    return pairs


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_float(compiler: Any, node: ast.expr) -> bool:
    """Whether a part, compiled by itself, is a float; what cannot be is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return True
    try:
        value = compiler.compile(node)
    except (CompileError, AttributeError, KeyError):
        return False
    return isinstance(value, Value) and isinstance(value.type, types.Float)


def _reason(compiler: Any, part: ast.expr, name: str) -> str:
    """Why the part is a float."""
    text = f"`{ast.unparse(part)}`"
    where = f" (in `{name}`)" if name else ""
    parameters = [one.arg for one in compiler.scope.source.tree.args.args]
    match part:
        case ast.BinOp(op=ast.Div()):
            return f"/ always gives a float: {text}{where}"
        case ast.Constant():
            return f"{text}{where} is a float"
        case ast.Name(id=given) if given in parameters:
            return f"the argument {text} is a float"
        case ast.Subscript():
            return f"{text}{where} is an element of an array of floats"
        case ast.Call():
            return f"{text}{where} gives a float"
    return f"{text}{where} is a float"
