"""Statements of a kernel: assignments, branches, loops, and the ways to leave them."""

import ast
from collections.abc import Callable
from functools import partial

from numba import types

from labkit.gpu.simt.arithmetic import number, resolve
from labkit.gpu.simt.calls import Calls
from labkit.gpu.simt.emitter import Label
from labkit.gpu.simt.ops import ATOMICS, NONE, OPS
from labkit.gpu.simt.values import Cuda, Object, Value, View, register_type
from labkit.gpu.simt.variables import RESULT, Construct

_CURES = {
    "Try Raise Assert": "kernels have no exceptions: write a flag into an array for the host",
    "FunctionDef Lambda": "define it outside, with @cuda.jit(device=True)",
    "Import ImportFrom": "import it above the kernel",
    "List ListComp Set SetComp Dict DictComp": "use a tuple, or cuda.local.array and a loop",
    "JoinedStr": "kernels have no strings: number the cases",
    "NamedExpr": "assign on a line of its own",
}


class Statements(Calls):
    def unknown(self, node: ast.AST) -> None:
        """Refuses what no method here compiles."""
        kind = type(node).__name__
        cures = (cure for kinds, cure in _CURES.items() if kind in kinds.split())
        cure = next(cures, "it is made of numbers, tuples, arrays, if, for over range, and while")
        self.refuse(f"a kernel cannot contain `{kind.lower()}`: {cure}.")

    def compile_Pass(self, node: ast.Pass) -> None:
        pass

    def compile_Expr(self, node: ast.Expr) -> None:
        before = len(self.code)
        value = self.compile(node.value)
        if isinstance(value, Cuda):
            name = ast.unparse(node.value)
            self.refuse(f"`{name}` does nothing without its brackets: write {name}().")
        if len(self.code) > before and OPS[self.code[-1][0]] in ATOMICS:
            self.code[-1][RESULT] = NONE  # nobody wants the old value

    def compile_Assign(self, node: ast.Assign) -> None:
        value = self.compile(node.value)
        if len(node.targets) > 1:  # a = b = c: a must not take over the register
            self.fresh = None
        for target in node.targets:
            self._assign(target, value)

    def compile_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node.target, self.compile(node.value))

    def _assign(self, target: ast.expr, value: object) -> None:
        match target:
            case ast.Name():
                if isinstance(value, View) and not self.arrays[value.array].name:
                    self.arrays[value.array].name = target.id
                self.assign((self.scope, self.scope.source.webs.written(target)), value)
            case ast.Subscript():
                self.store(self.target(target), value)
            case ast.Tuple() | ast.List():
                if not isinstance(value, tuple) or len(value) != len(target.elts):
                    found = self.describe(value)
                    self.refuse(f"{len(target.elts)} names cannot be filled from {found}.")
                held = list(map(self.hold, value))  # for a, b = b, a
                for one, item in zip(target.elts, held, strict=True):
                    self._assign(one, item)
            case _:
                self.refuse("only names and elements of arrays can be assigned to.")

    def compile_AugAssign(self, node: ast.AugAssign) -> None:
        kind, target = type(node.op), node.target
        if isinstance(target, ast.Subscript):
            view = self.target(target)  # once, for reading and writing
            self.store(view, self.operate(kind, self.load(view), self.compile(node.value)))
        else:
            value = self.operate(kind, self.compile(target), self.compile(node.value))
            self._assign(target, value)

    def compile_If(self, node: ast.If) -> bool:
        test = self.truth(self.compile(node.test))
        otherwise = partial(self.body, node.orelse) if node.orelse else None
        return self.choose(test, partial(self.body, node.body), otherwise)

    def compile_While(self, node: ast.While) -> bool:
        return self._loop(node, lambda: self.truth(self.compile(node.test)))

    def compile_For(self, node: ast.For) -> bool:
        call, webs = node.iter, self.scope.source.webs
        if not isinstance(call, ast.Call) or self.compile(call.func) != Object(range):
            self.refuse("a `for` loop runs over range(...) here: index the array or the tuple.")
        bounds = [self.compile(bound) for bound in call.args]
        self.numbers(*bounds)
        typing = resolve(range, tuple(b.type for b in bounds))
        if typing is None or any(not isinstance(b.type, types.Integer) for b in bounds):
            self.refuse("range takes one to three integers: convert them with int().")
        kind = typing[1].dtype
        bounds = [number(0), *bounds] if len(bounds) == 1 else bounds
        start, stop, step = (self.hold(self.convert(b, kind)) for b in (*bounds, number(1))[:3])
        if step.constant == 0:
            self.refuse("the step of range() must not be 0.")
        register = self.temporary(register_type(kind), start.scalar and step.scalar)
        counter = Value(kind, register, named=True)
        self.emit("COPY", counter, start, type=register_type(kind))

        def test() -> Value:
            if step.constant is not None:
                return self.operate(ast.Lt if step.constant > 0 else ast.Gt, at, stop)
            up, down = (self.operate(order, at, stop) for order in (ast.Lt, ast.Gt))
            return self.choice(self.operate(ast.Gt, step, Value(kind, constant=0)), up, down)

        def begin() -> None:
            if webs.private(node):
                self.facts.bound[self.scope, webs.written(node.target)] = counter
            else:
                self._assign(node.target, counter)

        at = counter if (self.scope, node) in self.facts.framed else start  # see `counted`
        return self._loop(node, test, begin, (counter, step, stop))

    def _loop(self, node: ast.stmt, test: Callable, begin: Callable = int, counts=()) -> bool:
        """A loop over the node's body; with a mask frame only if lanes leave or skip it singly.

        `counts`: counter, step and limit of a `for` loop.
        """
        key, outer = (self.scope, node), self.region
        loop = self.enter("loop", key)
        head, end, counted = Label(), Label(), counts and not loop.framed
        self.region = loop.region
        self.place(head)
        used = dict(self.used)
        go_on = test()
        if not go_on.constant:
            if not go_on.scalar:
                self.facts.frame(key)
            self.emit("TEST" if loop.framed else "JZ", go_on, end)
        self.used = used
        if counted:
            self.place(head)
        begin()
        self.body(node.body)
        self.place(loop.closing)
        self.region = loop.region
        if loop.framed:
            self.emit("JOIN", None, end)
        if counted:
            self.emit("NEXT", counts[0], head, *counts[1:])
        else:
            if counts:
                self.emit("ADD", counts[0], *counts[:2], type=register_type(counts[0].type))
            self.emit("JMP", None, head)
        self.place(end)
        if node.orelse:
            loop.kind, loop.closing = "else", loop.end
            self.region = object() if loop.framed else outer
            if loop.framed:
                self.emit("LOOPELSE", None, loop.end)
            self.body(node.orelse)
        self.leave(loop)
        self.region = outer
        return bool(go_on.constant) and not counts and not loop.broken

    def compile_Break(self, node: ast.Break | ast.Continue) -> bool:
        at = max(i for i, c in enumerate(self.stack) if c.kind == "loop")
        loop = self.stack[at]
        if isinstance(node, ast.Break):
            loop.broken = True
            self._exit(at)
            return True
        if any(c.kind == "else" and c.framed for c in self.stack[at:]):
            self.refuse("`continue` in the `else` of an inner loop is not supported: use a flag.")
        self._need_frame(loop)
        if loop.framed:
            self.emit("CONTINUE", None, self.closing())
        else:
            self.emit("JMP", None, loop.closing)
        return True

    compile_Continue = compile_Break

    def compile_Return(self, node: ast.Return) -> bool:
        at = max((i for i, c in enumerate(self.stack) if c.kind == "call"), default=None)
        value = Object(None) if node.value is None else self.compile(node.value)
        last = node is self.scope.source.tree.body[-1]
        if at is None:
            if value != Object(None):
                self.refuse("a kernel returns nothing: write the result into an array.")
            if not last:
                self.emit("RET", None, self.closing())
            return True
        call = self.stack[at]
        self.assign((self.scope, "return"), value)
        call.returns = True
        if not last:
            self._exit(at)
        return True

    def _need_frame(self, construct: Construct) -> None:
        """Lanes leave or skip it here: it needs a frame if they are not all that are in it."""
        if self.region is not construct.region:
            self.facts.frame(construct.key)

    def _exit(self, at: int) -> None:
        """Takes the lanes out of a loop, or out of an inlined call."""
        construct = self.stack[at]
        self._need_frame(construct)
        if construct.framed:
            frames = sum(c.framed and c.kind != "if" for c in self.stack[at:])
            self.emit("BREAK", frames, self.closing())
        else:
            self.emit("JMP", None, construct.end)
