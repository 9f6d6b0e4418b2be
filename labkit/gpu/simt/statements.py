"""Statements of a kernel: assignments, branches, loops, and the ways to leave them."""

import ast
from collections.abc import Callable
from functools import partial

from numba import types

from labkit.gpu.simt.arithmetic import number, resolve
from labkit.gpu.simt.calls import Calls
from labkit.gpu.simt.emitter import Block, Construct, Label
from labkit.gpu.simt.ops import ATOMICS, NONE, OPS
from labkit.gpu.simt.values import Cuda, Object, Value, View, register_type

_CURES = {
    "Try Raise Assert": "kernels have no exceptions: write a flag into an array for the host",
    "FunctionDef Lambda": "define it outside, with @cuda.jit(device=True)",
    "Import ImportFrom": "import it above the kernel",
    "Global Nonlocal": "names from outside are constants in a kernel: pass an array",
    "List ListComp Set SetComp Dict DictComp": "use a tuple, or cuda.local.array and a loop",
    "JoinedStr": "kernels have no strings: number the cases",
    "NamedExpr": "assign on a line of its own",
    "Starred": "write the parts one by one",
    "Yield YieldFrom": "kernels return nothing: write into an array",
}


def frames(constructs: list[Construct]) -> int:
    """How many loop frames the machine has pushed for them."""
    return sum(c.framed and c.kind != "if" for c in constructs)


class Statements(Calls):
    def unknown(self, node: ast.AST) -> None:
        """Refuses what no method here compiles."""
        kind = type(node).__name__
        word = {"JoinedStr": "an f-string", "NamedExpr": "`:=`"}.get(kind, f"`{kind.lower()}`")
        cure = "kernels are made of numbers, tuples, arrays, if, for over range, and while"
        cure = next((cure for kinds, cure in _CURES.items() if kind in kinds.split()), cure)
        self.refuse(f"a kernel cannot contain {word}: {cure}.")

    def compile_Pass(self, node: ast.Pass) -> None:
        pass

    def compile_Expr(self, node: ast.Expr) -> None:
        before = len(self.code)
        value = self.compile(node.value)
        if isinstance(value, Cuda):
            name = ast.unparse(node.value)
            self.refuse(f"`{name}` does nothing without its brackets: write {name}().")
        if len(self.code) > before and OPS[self.code[-1][0]] in ATOMICS:
            self.code[-1][2] = NONE  # nobody wants the old value

    def compile_Assign(self, node: ast.Assign) -> None:
        value = self.compile(node.value)
        if len(node.targets) > 1:  # a = b = c: a must not take over the register
            value = self.shared(value)
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
        kind, webs = type(node.op), self.scope.source.webs
        if isinstance(node.target, ast.Name):
            if (web := webs.seen(node.target)) is None:
                self.refuse(f"`{node.target.id}` has no value yet: assign it first.")
            value = self.operate(kind, self.read((self.scope, web)), self.compile(node.value))
            self.assign((self.scope, webs.written(node.target)), value)
        elif isinstance(node.target, ast.Subscript):
            view = self.target(node.target)
            if view.axes:
                self.refuse("only single elements can be changed: loop over the elements.")
            self.store(view, self.operate(kind, self.load(view), self.compile(node.value)))
        else:
            self.refuse("only names and elements of arrays can be assigned to.")

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
        start, stop, step = (self.convert(b, kind) for b in (*bounds, number(1))[:3])
        if step.constant == 0:
            self.refuse("the step of range() must not be 0.")
        stop, step, register = self.hold(stop), self.hold(step), register_type(kind)
        scalar = start.scalar and step.scalar
        counter = Value(kind, self.temporary(register, scalar), named=True)
        self.emit("COPY", counter, start, type=register)
        at = counter if (self.scope, node) in self.facts.framed else start

        def test() -> Value:
            if step.constant is not None:
                return self.operate(ast.Lt if step.constant > 0 else ast.Gt, at, stop)
            up, down = (self.operate(order, at, stop) for order in (ast.Lt, ast.Gt))
            rising = self.operate(ast.Gt, step, Value(kind, constant=0))
            return self.choice(rising, up, down)

        def begin() -> None:
            if webs.private(node):
                self.facts.bound[self.scope, webs.written(node.target)] = counter
            else:
                self._assign(node.target, counter)

        return self._loop(node, test, begin, (counter, step, stop))

    def _loop(self, node: ast.stmt, test: Callable, begin: Callable = int, counts=()) -> bool:
        """A loop over the node's body; with a mask frame only if lanes leave or skip it singly.

        `counts`: counter, step and limit of a `for` loop.
        """
        key, outer = (self.scope, node), self.block
        framed, partial = key in self.facts.framed, key in self.facts.partial
        head, end, beyond, counted = Label(), Label(), Label(), bool(counts and not framed)
        loop = self.push(Construct("loop", framed, Label(), Block(outer, partial), key, beyond))
        self.block = loop.block
        if framed:
            self.emit("LOOP")
        self.place(head)
        used = dict(self.used)
        go_on = test()
        if not go_on.constant:
            if not go_on.scalar:
                self.facts.frame(key, partial=True)
            self.emit("TEST" if framed else "JZ", go_on, end)
        self.used = used
        if counted:
            self.place(head)
        begin()
        self.body(node.body)
        self.place(loop.closing)
        self.block = loop.block
        if framed:
            self.emit("JOIN", None, end)
        if counted:
            self.emit("NEXT", counts[0], head, *counts[1:])
        else:
            if counts:
                self.emit("ADD", counts[0], *counts[:2], type=register_type(counts[0].type))
            self.emit("JMP", None, head)
        self.place(end)
        if node.orelse:
            loop.kind, loop.closing, self.block = "else", beyond, Block(outer, partial)
            if framed:
                self.emit("LOOPELSE", None, beyond)
            self.body(node.orelse)
        self.stack.pop()
        self.place(beyond)
        if framed:
            self.emit("ENDLOOP", None, self.closing())
        self.block = Block(outer, True) if loop.leaks else outer
        return bool(go_on.constant) and not counts and not loop.broken

    def compile_Break(self, node: ast.Break | ast.Continue) -> bool:
        at = max(i for i, c in enumerate(self.stack) if c.kind == "loop")
        loop, above, breaks = self.stack[at], self.stack[at + 1 :], isinstance(node, ast.Break)
        alone = self.block.region is not loop.block.region  # lanes are missing here
        if alone or any(c.framed for c in above):
            self.facts.frame(loop.key, partial=alone and breaks)
        if not breaks and any(c.kind == "else" and c.framed for c in above):
            self.refuse("`continue` in the `else` of an inner loop is not supported: use a flag.")
        loop.broken |= breaks
        for construct in above:
            construct.leaks |= alone and not breaks
        if not loop.framed:
            self.emit("JMP", None, loop.end if breaks else loop.closing)
        elif breaks:
            self.emit("BREAK", frames(self.stack[at:]), self.closing())
        else:
            self.emit("CONTINUE", None, self.closing())
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
        if last and call.value is None:
            call.value, call.used = value, dict(self.used)
            return True
        alone = self.block.region is not call.block.region
        if alone or any(c.framed for c in self.stack[at + 1 :]):
            self.facts.frame(call.key, partial=False)
        call.value = self.scope, "return"
        self.assign(call.value, value)
        if call.framed and not last:
            self.emit("BREAK", frames(self.stack[at:]), self.closing())
        elif not last:
            self.emit("JMP", None, call.end)
        return True
