"""The source of a kernel, parsed."""

import ast
import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

from labkit.gpu.simt.errors import CompileError
from labkit.gpu.simt.webs import Webs


@dataclass(frozen=True, eq=False)
class Source:
    """A function's text, its syntax tree, and its variables."""

    name: str
    filename: str
    first_line: int
    lines: tuple[str, ...]
    tree: ast.FunctionDef
    webs: Webs

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
    kept = tuple(line.rstrip() for line in lines)
    return Source(name, filename, first, kept, tree, Webs(tree))


def _tree(lines: list[str], indented: bool) -> ast.stmt:
    """The statement that the lines are; indented ones are parsed in a block of one more line."""
    text = "".join(lines)
    if indented:
        return ast.parse("if 1:\n" + text).body[0].body[0]
    return ast.parse(text).body[0]


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
