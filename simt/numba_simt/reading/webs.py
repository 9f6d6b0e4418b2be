"""Which of a function's reads of variables see which of its assignments."""

import ast
from collections import (
    Counter,
    defaultdict,
    deque,
)
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

LOOPS = (ast.For, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_Env = dict[str, set[ast.AST]]  # name -> the assignments that reach a place


class Webs:
    """Splits each variable into webs: the assignments that share a reader, and their readers.

    As in Numba's static single assignment, `k` may be an int32 per lane here and a loop counter
    there.  An assignment is known by its `ast.Name` (or `ast.arg`) node, a web by one of them.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.parameters = parameters_of(tree.args)
        stores = [store for part in tree.body for store in _stores(part)]
        self.names = {node.arg for node in self.parameters} | {name for name, _ in stores}
        loops = [node for part in tree.body for node in own_nodes(part) if isinstance(node, LOOPS)]
        self._looped = {node for loop in loops for _, node in _stores(loop)}
        self._parent = {node: node for node in (*self.parameters, *(node for _, node in stores))}
        self._values = {  # an assignment to one name -> the expression
            node.targets[0]: node.value
            for part in tree.body
            for node in own_nodes(part)
            if isinstance(node, ast.Assign) and len(node.targets) == 1
        }
        # A read -> the assignments it sees. (A name of a function, one of its free variables): what
        # a call there sees of it.
        self._reads: dict[ast.Name | tuple, frozenset[ast.AST]] = {}
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

    def seen(self, node: ast.Name | tuple) -> ast.AST | None:
        """The web that a read sees; None when nothing was assigned before it."""
        seen = self._reads.get(node)
        return self.written(next(iter(seen))) if seen else None

    def divisible(self, web: ast.AST) -> bool:
        """Whether some of its reads see other assignments than others do."""
        return len(self._parts.get(web, ())) > 1

    def part_seen(self, node: ast.Name | tuple) -> frozenset[ast.AST]:
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

    def changes_in_a_loop(self, web: object) -> bool:
        """Whether some of its assignments, but not all, stand in loops."""
        inside = {node for node in self._looped if self.written(node) == web}
        return 0 < len(inside) < self.definitions.get(web, 0)

    def private(self, loop: ast.For) -> bool:
        """Is the loop's variable assigned by the loop only, and read in its body only?"""
        if not isinstance(loop.target, ast.Name):
            return False
        web = self.written(loop.target)
        inside = {name for part in loop.body for name in ast.walk(part)}
        readers = {read[0] if isinstance(read, tuple) else read for read in self._readers[web]}
        return self.definitions[web] == 1 and readers <= inside

    def _block(
        self,
        body: list[ast.stmt],
        env: _Env,
    ) -> bool:
        """Follows the statements, changing `env`.  True: control never comes out at the end."""
        ended = False
        for node in body:
            ended |= self._statement(node, env)
        return ended

    def _statement(
        self,
        node: ast.stmt,
        env: _Env,
    ) -> bool:
        if isinstance(node, ast.If):
            return self._if(node, env)
        if isinstance(node, ast.For | ast.While):
            self._loop(node, env)
            return False
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._read(node.target, env)
        for part in _parts(node):
            self._expression(part, env)
        if isinstance(node, ast.FunctionDef):
            env[node.name] = {node}
        return isinstance(node, ast.Return | ast.Break | ast.Continue | ast.Raise)

    def _if(
        self,
        node: ast.If,
        env: _Env,
    ) -> bool:
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

    def _loop(
        self,
        node: ast.For | ast.While,
        env: _Env,
    ) -> None:
        if isinstance(node, ast.For):
            self._expression(node.iter, env)
        for name, store in _stores(node):  # what one round assigns, the next may read
            env[name] = env.get(name, set()) | {store}
        inside = dict(env)
        self._expression(
            node.target if isinstance(node, ast.For) else node.test,
            inside,
        )
        self._block(node.body, inside)
        beyond = dict(env)
        self._block(node.orelse, beyond)
        _merge(env, env, beyond)

    def _expression(
        self,
        node: ast.AST,
        env: _Env,
    ) -> None:
        """First all reads, then all assignments."""
        for part in own_nodes(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                self._read(part, env)
            elif isinstance(part, ast.Lambda):
                self._read_free(part, part, env, set())
                for default in part.args.defaults:
                    self._expression(default, env)
        for name, store in _stores(node):
            env[name] = {store}

    def _read(
        self,
        name: ast.Name,
        env: _Env,
    ) -> None:
        """A read sees all assignments that reach it: they are one web."""
        self._see(name, env.get(name.id, ()))
        self._free_of(name.id, name, env, set())

    def _see(
        self,
        read: ast.Name | tuple,
        assignments: Iterable[ast.AST],
    ) -> None:
        assignments = frozenset(assignments)
        self._reads[read] = assignments
        for first, other in pairwise(assignments):
            self._parent[self.written(other)] = self.written(first)

    def _free_of(
        self,
        called: str,
        at: ast.AST,
        env: _Env,
        done: set[str],
    ) -> None:
        """Whoever reads the name of a function may call it, and so reads its free variables."""
        for assigned in env.get(called, ()):
            function = self._values.get(assigned, assigned)
            if isinstance(function, FUNCTIONS):
                self._read_free(function, at, env, done)

    def _read_free(
        self,
        function: ast.AST,
        at: ast.AST,
        env: _Env,
        done: set[str],
    ) -> None:
        for free in free_names(function) & self.names - done:
            done.add(free)
            self._see((at, free), env.get(free, ()))
            self._free_of(free, at, env, done)


def _parts(node: ast.stmt) -> list[ast.AST]:
    """The expressions of a simple statement, as Python evaluates them: value, then targets."""
    if isinstance(node, ast.FunctionDef):
        return node.args.defaults
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    parts = []
    values = [getattr(node, name, None) for name in ("value", "test", "msg", "exc")]
    for part in (*values, *targets):
        if isinstance(part, ast.Tuple):
            parts += part.elts
        elif part is not None:
            parts.append(part)
    return parts


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all in it, but not what is in functions that are defined there."""
    todo = deque([node])
    while todo:
        node = todo.popleft()
        yield node
        if not isinstance(node, FUNCTIONS):
            todo.extend(ast.iter_child_nodes(node))


def parameters_of(arguments: ast.arguments) -> list[ast.arg]:
    """The parameters of a function, *args after the others."""
    stars = [arguments.vararg] if arguments.vararg else []
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars]


@cache
def free_names(function: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that a function reads and does not assign, also in functions within it."""
    body = function.body if isinstance(function.body, list) else [function.body]
    own = {node.arg for node in parameters_of(function.args)}
    own |= {name for part in body for name, _ in _stores(part)}
    read = set()
    for part in body:
        for node in own_nodes(part):
            if isinstance(node, FUNCTIONS):
                read |= free_names(node)
            elif isinstance(node, ast.Name):
                read.add(node.id)
    return frozenset(read - own)


def _stores(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """The names that a node assigns, each with the node that stands for the assignment."""
    found = []
    for part in own_nodes(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.append((part.id, part))
        elif isinstance(part, ast.FunctionDef):
            found.append((part.name, part))
    return found


def _merge(env: _Env, *sides: _Env) -> None:
    """What reaches here by any of the ways."""
    merged = {}
    for side in sides:
        for name, assignments in side.items():
            merged[name] = merged.get(name, set()) | assignments
    env.clear()
    env.update(merged)
