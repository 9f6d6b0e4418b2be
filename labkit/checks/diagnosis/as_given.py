"""Whether an answer whose results are all 0 is still the lesson's cell, as far as its source tells.

The cell that a lesson gives shares its lines with the solution, but for those that the learner
replaces: these make zeros, and compute nothing. So a line that computes, and that the solution has
not, is the learner's own.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

from labkit.checks.lesson_files import lessons_of

MAKERS = frozenset(  # calls that a given line may have
    "zeros zeros_like empty empty_like full full_like len range copy clone astype int float".split()
)
HOLDERS = frozenset("append insert stack array list tuple dumps".split())  # what is in them counts


def has_own_work(id: str, answer: Callable) -> bool:
    """Whether the answer to this exercise computes what its solution does not; False if unknown."""
    try:
        return own_work(id, dedent(inspect.getsource(answer)))
    except (OSError, SyntaxError, TypeError):  # no plain function, or its source is not to be had
        return False


def own_work(id: str, source: str) -> bool:
    """The same of the source of a function; of a lambda, the source is a whole line."""
    solutions = [path.read_text("utf-8") for path in _solutions(id.partition(".")[0])]
    if not solutions or not source.startswith("def "):
        return False
    theirs = {ast.unparse(part) for text in solutions for part in _parts(text)}
    return any(_computes(part) for part in _parts(source) if ast.unparse(part) not in theirs)


def _solutions(room: str) -> Iterator[Path]:
    """The modules of the room's solutions; none for a room that the course has not."""
    for lesson in lessons_of(room):
        if lesson.solutions.exists():
            yield lesson.solutions


def _parts(text: str) -> Iterator[ast.AST]:
    """Every simple statement of a source, and what every other one asks for or goes through."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Assign() | ast.AugAssign() | ast.Return() | ast.Expr():
                yield node
            case ast.If(test=part) | ast.While(test=part) | ast.For(iter=part):
                yield part


def _computes(part: ast.AST) -> bool:
    """Whether there is more in it than zeros and what makes them."""
    match part:
        case ast.BinOp(left, ast.Add() | ast.Sub(), right) if _is_nothing(right):
            return _computes(left)
        case ast.AugAssign(value=value) if _is_nothing(value):
            return False
        case ast.Call(ast.Name(id=name) | ast.Attribute(attr=name)) if name in HOLDERS:
            return any(map(_computes, part.args))
        case ast.Call(ast.Name(id=name) | ast.Attribute(attr=name)) if name in MAKERS:
            return False
        case ast.Call() | ast.BinOp() | ast.Compare() | ast.AugAssign():
            return not _is_nothing(part)
    return any(map(_computes, ast.iter_child_nodes(part)))


def _is_nothing(part: ast.AST) -> bool:
    """Whether it is 0, or 0 * x: zeros of the shape of x."""
    match part:
        case ast.Constant(value=0) | ast.BinOp(ast.Constant(value=0), ast.Mult()):
            return True
    return False
