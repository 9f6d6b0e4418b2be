"""Which of a function's reads of variables see which of its assignments."""

import ast
from collections import Counter, defaultdict
from itertools import pairwise

_Env = dict[str, set[ast.AST]]  # name -> the assignments that reach a place


class Webs:
    """Splits each variable into webs: the assignments that share a reader, and their readers.

    As in Numba's static single assignment, `k` may be an int32 per lane here and a loop counter
    there.  An assignment is known by its `ast.Name` (or `ast.arg`) node, a web by one of them.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.parameters = [
            *tree.args.posonlyargs,
            *tree.args.args,
            *tree.args.kwonlyargs,
        ]
        stores = _names(tree, ast.Store)
        self.names = {node.arg for node in self.parameters} | {node.id for node in stores}
        self._parent = {node: node for node in (*self.parameters, *stores)}
        self._values = {  # an assignment to one name -> the expression
            node.targets[0]: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and len(node.targets) == 1
        }
        self._reads: dict[ast.Name, frozenset[ast.AST]] = {}  # read -> the assignments it sees
        self._block(tree.body, {node.arg: {node} for node in self.parameters})
        self.definitions = Counter(map(self.written, self._parent))
        self._readers = defaultdict(set)  # web -> its reads
        self._parts = defaultdict(dict)  # web -> the sets of assignments that its reads see
        for name, seen in self._reads.items():
            web = self.seen(name)
            self._readers[web].add(name)
            self._parts[web][seen] = None
            self.definitions[seen] = len(seen)

    def written(self, node: ast.AST) -> ast.AST:
        """The web that an assignment belongs to."""
        above = self._parent[node]
        while above is not node:
            node = above
            above = self._parent[node]
        return node

    def seen(self, node: ast.Name) -> ast.AST | None:
        """The web that a read sees; None when nothing was assigned before it."""
        seen = self._reads.get(node)
        return self.written(next(iter(seen))) if seen else None

    def divisible(self, web: ast.AST) -> bool:
        """Whether some of its reads see other assignments than others do."""
        return len(self._parts.get(web, ())) > 1

    def part_seen(self, node: ast.Name) -> frozenset[ast.AST]:
        """The assignments of its web that a read sees: Numba's version of the variable."""
        return self._reads[node]

    def assigned_alone(self, node: ast.Name) -> ast.expr | None:
        """The expression that a read's only assignment has; None if there are others."""
        seen = self._reads.get(node) or ()
        return self._values.get(*seen) if len(seen) == 1 else None

    def parts_written(self, node: ast.AST) -> list[frozenset[ast.AST]]:
        """The versions of its variable that an assignment is one of."""
        parts = self._parts.get(self.written(node), ())
        return [part for part in parts if node in part]

    def private(self, loop: ast.For) -> bool:
        """Is the loop's variable assigned by the loop only, and read in its body only?"""
        if not isinstance(loop.target, ast.Name):
            return False
        web = self.written(loop.target)
        inside = {name for part in loop.body for name in ast.walk(part)}
        return self.definitions[web] == 1 and self._readers[web] <= inside

    def _block(self, body: list[ast.stmt], env: _Env) -> bool:
        """Follows the statements, changing `env`.  True: control never comes out at the end."""
        ended = False
        for node in body:
            ended |= self._statement(node, env)
        return ended

    def _statement(self, node: ast.stmt, env: _Env) -> bool:
        if isinstance(node, ast.If):
            return self._if(node, env)
        if isinstance(node, ast.For | ast.While):
            self._loop(node, env)
            return False
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._read(node.target, env)
        for part in _parts(node):
            self._expression(part, env)
        return isinstance(node, ast.Return | ast.Break | ast.Continue)

    def _if(self, node: ast.If, env: _Env) -> bool:
        self._expression(node.test, env)
        sides = []
        going_on = []  # sides from whose end control comes out
        for body in (node.body, node.orelse):
            side = dict(env)
            ended = self._block(body, side)
            sides.append(side)
            if not ended:
                going_on.append(side)
        _merge(env, *(going_on or sides))
        return not going_on

    def _loop(self, node: ast.For | ast.While, env: _Env) -> None:
        if isinstance(node, ast.For):
            self._expression(node.iter, env)
        for name in _names(node, ast.Store):  # what one round assigns, the next may read
            env[name.id] = env.get(name.id, set()) | {name}
        inside = dict(env)
        self._expression(
            node.target if isinstance(node, ast.For) else node.test,
            inside,
        )
        self._block(node.body, inside)
        beyond = dict(env)
        self._block(node.orelse, beyond)
        _merge(env, env, beyond)

    def _expression(self, node: ast.AST, env: _Env) -> None:
        """First all reads, then all assignments."""
        for name in _names(node, ast.Load):
            self._read(name, env)
        for name in _names(node, ast.Store):
            env[name.id] = {name}

    def _read(self, name: ast.Name, env: _Env) -> None:
        """A read sees all assignments that reach it: they are one web."""
        assignments = frozenset(env.get(name.id, ()))
        self._reads[name] = assignments
        for first, other in pairwise(assignments):
            self._parent[self.written(other)] = self.written(first)


def _parts(node: ast.stmt) -> list[ast.AST]:
    """The expressions of a simple statement, as Python evaluates them: value, then targets."""
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    parts = []
    for part in (getattr(node, "value", None), *targets):
        if isinstance(part, ast.Tuple):
            parts += part.elts
        elif part is not None:
            parts.append(part)
    return parts


def _names(node: ast.AST, context: type) -> list[ast.Name]:
    """The names in a node that are read (ast.Load) or assigned (ast.Store)."""
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return [name for name in names if isinstance(name.ctx, context)]


def _merge(env: _Env, *sides: _Env) -> None:
    """What reaches here by any of the ways."""
    merged = {}
    for side in sides:
        for name, assignments in side.items():
            merged[name] = merged.get(name, set()) | assignments
    env.clear()
    env.update(merged)
