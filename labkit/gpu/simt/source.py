"""The source of a kernel, and which of its reads see which of its assignments."""

import ast
import inspect
from collections import Counter, defaultdict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

from labkit.gpu.simt.hazards import CompileError


@dataclass(frozen=True, eq=False)
class Source:
    name: str
    filename: str
    first_line: int
    lines: tuple[str, ...]
    tree: ast.FunctionDef
    webs: "Webs"

    def text(self, line: int) -> str:
        return self.lines[line - self.first_line].strip()


@lru_cache(maxsize=256)
def read(function: Callable) -> Source:
    """The function's source, parsed; line numbers are the file's."""
    name, filename = function.__name__, function.__code__.co_filename
    try:
        lines, first = inspect.getsourcelines(function.__code__)  # not what it may wrap
        indented = lines[0][:1].isspace()
        tree = ast.parse("if 1:\n" * indented + "".join(lines))
        tree = tree.body[0].body[0] if indented else tree.body[0]
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
    ast.increment_lineno(tree, first - 1 - indented)
    return Source(name, filename, first, tuple(map(str.rstrip, lines)), tree, Webs(tree))


def _same(tree: ast.FunctionDef, code: CodeType) -> bool:
    """Whether the function was compiled from this text. Enclosed names compile differently."""
    bare = copy(tree)
    bare.decorator_list = []
    module = compile(ast.Module([bare], []), "", "exec")
    now = next(c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == tree.name)
    return _contents(now) == _contents(code)


def _contents(code: CodeType) -> tuple[set[str], list]:
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    return names, [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]


class Webs:
    """Splits each variable into webs: the assignments that share a reader, and their readers.

    As in Numba's static single assignment, `k` may be an int32 per lane here and a loop counter
    there.  An assignment is known by its `ast.Name` (or `ast.arg`) node, a web by one of them.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.parameters = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        stores = _names(tree, ast.Store)
        self.names = {n.arg for n in self.parameters} | {n.id for n in stores}
        self._parent = {node: node for node in (*self.parameters, *stores)}
        self._reads: dict[ast.Name, ast.AST | None] = {}  # read -> one assignment that it sees
        self._block(tree.body, {n.arg: {n} for n in self.parameters})
        self.definitions = Counter(map(self.written, self._parent))
        self._readers = defaultdict(set)  # web -> its reads
        for name in self._reads:
            self._readers[self.seen(name)].add(name)

    def written(self, node: ast.AST) -> ast.AST:
        """The web that an assignment belongs to."""
        while (above := self._parent[node]) is not node:
            node = above
        return node

    def seen(self, node: ast.Name) -> ast.AST | None:
        """The web that a read sees; None when nothing was assigned before it."""
        seen = self._reads.get(node)
        return None if seen is None else self.written(seen)

    def private(self, loop: ast.For) -> bool:
        """Is the loop's variable assigned by the loop only, and read in its body only?"""
        if not isinstance(loop.target, ast.Name):
            return False
        web = self.written(loop.target)
        inside = {name for part in loop.body for name in ast.walk(part)}
        return self.definitions[web] == 1 and self._readers[web] <= inside

    def _block(self, body: list, env: dict) -> bool:
        """`env`: name -> assignments that reach here.  True: control never comes out at the end."""
        return any([self._statement(node, env) for node in body])

    def _statement(self, node: ast.stmt, env: dict) -> bool:
        if isinstance(node, ast.If):
            self._expression(node.test, env)
            sides = [(side := dict(env), self._block(b, side)) for b in (node.body, node.orelse)]
            _merge(env, *([side for side, ended in sides if not ended] or [s for s, _ in sides]))
            return all(ended for _, ended in sides)
        if isinstance(node, ast.For | ast.While):
            self._loop(node, env)
            return False
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._read(node.target, env)
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        for part in (getattr(node, "value", None), *targets):  # as Python evaluates them
            for item in part.elts if isinstance(part, ast.Tuple) else [part]:
                if item is not None:
                    self._expression(item, env)
        return isinstance(node, ast.Return | ast.Break | ast.Continue)

    def _loop(self, node: ast.For | ast.While, env: dict) -> None:
        if isinstance(node, ast.For):
            self._expression(node.iter, env)
        for name in _names(node, ast.Store):  # what one round assigns, the next may read
            env[name.id] = env.get(name.id, set()) | {name}
        inside, beyond = dict(env), dict(env)
        self._expression(node.target if isinstance(node, ast.For) else node.test, inside)
        self._block(node.body, inside)
        self._block(node.orelse, beyond)
        _merge(env, env, beyond)

    def _expression(self, node: ast.AST, env: dict) -> None:
        """First all reads, then all assignments."""
        for name in _names(node, ast.Load):
            self._read(name, env)
        env |= {name.id: {name} for name in _names(node, ast.Store)}

    def _read(self, name: ast.Name, env: dict) -> None:
        first, *others = env.get(name.id) or [None]
        self._reads[name] = first
        for other in others:
            self._parent[self.written(other)] = self.written(first)


def _names(node: ast.AST, context: type) -> list[ast.Name]:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return [n for n in names if isinstance(n.ctx, context)]


def _merge(env: dict, *sides: dict) -> None:
    merged = {name: set().union(*(s.get(name, ()) for s in sides)) for s in sides for name in s}
    env.clear()
    env.update(merged)
