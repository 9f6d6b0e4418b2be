"""The source of a kernel, parsed."""

import ast
import dis
import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import CodeType

from numba_simt.errors import CompileError
from numba_simt.reading.webs import Webs

_OF_LITERALS = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
_LOADS = {"RESUME", "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_VALUE", "RETURN_CONST"}


@dataclass(frozen=True, eq=False)
class Source:
    """A function's text, its syntax tree, and its variables."""

    name: str
    filename: str
    first_line: int
    lines: tuple[str, ...]
    tree: ast.FunctionDef
    webs: Webs
    enclosed: frozenset[str] = frozenset()  # variables of the functions around it

    def text(self, line: int) -> str:
        """A line by its number in the file, without indentation."""
        return self.lines[line - self.first_line].strip()


@lru_cache(maxsize=256)
def parse(function: Callable) -> Source:
    """The function's source, parsed; line numbers are the file's.

    CompileError where it cannot be read, is no `def`, or is not what the function was made of.
    """
    name = function.__name__
    filename = function.__code__.co_filename
    try:
        if name == "<lambda>":
            return _lambda(function.__code__)
        lines, first = inspect.getsourcelines(function.__code__)  # not what it may wrap
        indented = lines[0][:1].isspace()
        tree = _tree(lines, indented)
    except (OSError, TypeError, SyntaxError) as error:
        why = "its source cannot be read, and kernels are compiled from their source"
        raise CompileError(f"`{name}`: {why}: write it in a file or a cell.", filename) from error
    if not isinstance(tree, ast.FunctionDef):
        text = lines[0].strip()
        raise CompileError("a kernel is written with `def`, not as this.", filename, first, text)
    if not _same(tree, function.__code__):
        raise CompileError(
            f"`{name}` is not what its source says now: run the cell or import the file again.",
            filename,
        )
    above = first - 2 if indented else first - 1  # lines of the file before the tree's first one
    ast.increment_lineno(tree, above)
    tree = _Literals().visit(tree)
    kept = tuple(line.rstrip() for line in lines)
    return Source(name, filename, first, kept, tree, Webs(tree))


@cache
def within(source: Source, node: ast.FunctionDef | ast.Lambda) -> Source:
    """The source of a function that is defined in another; of a lambda as that of a `def`."""
    tree = node
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(node.body), node.body)]
        tree = ast.FunctionDef("<lambda>", node.args, body, [], lineno=node.lineno)
    enclosed = source.enclosed | source.webs.names
    return replace(source, name=tree.name, tree=tree, webs=Webs(tree), enclosed=enclosed)


def _tree(lines: list[str], indented: bool) -> ast.stmt:
    """The statement that the lines are; indented ones are parsed in a block of one more line."""
    text = "".join(lines)
    if indented:
        return ast.parse("if 1:\n" + text).body[0].body[0]
    return ast.parse(text).body[0]


def _lambda(code: CodeType) -> Source:
    """A lambda as a function that returns its value; OSError where it is not found in its file."""
    lines, _ = inspect.findsource(code)
    places = set(code.co_positions())
    for node in ast.walk(ast.parse("".join(lines))):
        if not isinstance(node, ast.Lambda):
            continue
        results = _results(node.body)
        if places.issuperset(map(_span, results)):
            tree = ast.parse("def f(): pass").body[0]
            tree.name = code.co_name
            tree.args = node.args
            tree.body = [ast.copy_location(ast.Return(node.body), node.body)]
            ast.copy_location(tree, node)
            if not _same(tree, code):
                break
            tree = _Literals().visit(tree)
            kept = tuple(line.rstrip() for line in lines)
            return Source(code.co_name, code.co_filename, 1, kept, tree, Webs(tree))
    raise OSError("it does not stand there now")


def _span(node: ast.expr) -> tuple[int, int, int, int]:
    """Where it stands, as compiled code has it."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _results(body: ast.expr) -> list[ast.expr]:
    """The expressions that a lambda's value is computed by: both sides of a condition."""
    if not isinstance(body, ast.IfExp):
        return [body]
    found = _results(body.body)
    found += _results(body.orelse)
    return found


class _Literals(ast.NodeTransformer):
    """Does what Python does before Numba sees it: 2**-1 is 0.5, not an integer.

    A list that is only run over, or asked what is in it, is a tuple.
    """

    def visit_For(self, node: ast.For) -> ast.stmt:
        """for x in [1, 2, 4]: ..."""
        node.iter = _as_tuple(node.iter)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """x in [1, 2]"""
        if isinstance(node.ops[-1], ast.In | ast.NotIn):
            node.comparators[-1] = _as_tuple(node.comparators[-1])
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """2**-1, 7 // 2"""
        return _computed_by_python(node) or self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """-3, ~5"""
        return _computed_by_python(node) or self.generic_visit(node)


def _as_tuple(node: ast.expr) -> ast.expr:
    """A list without stars as a tuple."""
    if not isinstance(node, ast.List):
        return node
    starred = [one for one in node.elts if isinstance(one, ast.Starred)]
    if starred:
        return node
    items = ast.Tuple(node.elts, ast.Load())
    return ast.copy_location(items, node)


def _computed_by_python(node: ast.expr) -> ast.Constant | None:
    """The number that Python's compiler makes of an expression of literals, if it makes one."""
    if not all(isinstance(part, _OF_LITERALS) for part in ast.walk(node)):
        return None
    code = compile(ast.Expression(node), "", "eval")
    if any(step.opname not in _LOADS for step in dis.get_instructions(code)):
        return None  # 1 // 0, or a number of very many digits
    return ast.copy_location(ast.Constant(eval(code)), node)


def _same(tree: ast.FunctionDef, code: CodeType) -> bool:
    """Whether the function was compiled from this text. Enclosed names compile differently."""
    bare = copy(tree)
    bare.decorator_list = []
    module = compile(ast.Module([bare], []), "", "exec")
    now = next(c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == tree.name)
    return _contents(now) == _contents(code)


def _contents(code: CodeType) -> tuple[set[str], list[str]]:
    """The names and the constants of compiled code."""
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    constants = [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]
    return names, constants
