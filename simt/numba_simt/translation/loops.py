"""Loops of a kernel: `while`, and `for` over range(), with `break`, `continue` and `else`."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from numba_simt.instructions.control import Construct
from numba_simt.instructions.emitter import Label
from numba_simt.reading.typing_rules import number, resolve
from numba_simt.translation.assignments import Assignments
from numba_simt.values import Object, Value, register_type


@dataclass(frozen=True)
class Count:
    """What a `for` loop counts: all of one type of integers."""

    counter: Value
    start: Value
    stop: Value
    step: Value


class Loops(Assignments):
    """Compiles loops; one has a mask frame only if lanes leave or skip it singly."""

    def compile_While(self, node: ast.While) -> bool:
        """while test: ..."""
        test, endless = self._loop(node, lambda: self.truth(self.compile(node.test)))
        return bool(test.constant) and endless

    def compile_For(self, node: ast.For) -> bool:
        """for i in range(...): ..."""
        count = self._count(node)
        webs = self.scope.source.webs
        framed = (self.scope, node) in self.facts.framed
        # A loop without a frame tests once, before the first round: NEXT tests at its end.
        tested = count.counter if framed else count.start

        def begin() -> None:
            if webs.private(node):
                self.facts.bound[self.scope, webs.written(node.target)] = count.counter
            else:
                self.assign_to(node.target, count.counter)

        self._loop(node, lambda: self._goes_on(count, tested), begin, count)
        return False

    def _count(self, node: ast.For) -> Count:
        """The counter of the loop, which holds its start."""
        call = node.iter
        if not isinstance(call, ast.Call) or self.compile(call.func) != Object(range):
            self.refuse("a `for` loop runs over range(...) here: index the array or the tuple.")
        bounds = [self.compile(bound) for bound in call.args]
        self.numbers(*bounds)
        typing = resolve(range, tuple(bound.type for bound in bounds))
        if typing is None:  # Numba cuts a float to an int32
            self.refuse("range takes one to three real numbers: convert them with int().")
        kind = typing[1].dtype
        if len(bounds) == 1:
            bounds = [number(0), *bounds]
        if len(bounds) == 2:
            bounds = [*bounds, number(1)]
        start, stop, step = [self.hold(self.convert(bound, kind)) for bound in bounds]
        if step.constant == 0:
            self.refuse("the step of range() must not be 0.")
        register = self.temporary(register_type(kind), start.scalar and step.scalar)
        counter = Value(kind, register, named=True)
        self.emit("COPY", counter, start, type=register_type(kind))
        return Count(counter, start, stop, step)

    def _goes_on(self, count: Count, at: Value) -> Value:
        """Whether there is a round for this value of the counter."""
        step = count.step
        if step.constant is not None:
            return self.operate(ast.Lt if step.constant > 0 else ast.Gt, at, count.stop)
        up = self.operate(ast.Lt, at, count.stop)
        down = self.operate(ast.Gt, at, count.stop)
        rises = self.operate(ast.Gt, step, Value(step.type, constant=0))
        return self.choice(rises, up, down)

    def _loop(
        self,
        node: ast.For | ast.While,
        test: Callable[[], Value],
        begin: Callable[[], None] | None = None,
        count: Count | None = None,
    ) -> tuple[Value, bool]:
        """A loop over the node's body: the test, and whether only its test ends it.

        `begin` starts each round of a `for` loop.
        """
        outer = self.region
        loop = self.enter("loop", (self.scope, node))
        head = Label()
        end = Label()
        next_tests = count is not None and not loop.framed
        self.region = loop.region
        self.place(head)
        go_on = self._test(loop, test, end)
        if next_tests:
            self.place(head)
        if begin:
            begin()
        self.body(node.body)
        self.place(loop.closing)
        self.region = loop.region
        if loop.framed:
            self.emit("JOIN", None, end)
        if next_tests:
            self.emit("NEXT", count.counter, head, count.step, count.stop)
        else:
            if count:
                kind = register_type(count.counter.type)
                self.emit("ADD", count.counter, count.counter, count.step, type=kind)
            self.emit("JMP", None, head)
        self.place(end)
        if node.orelse:
            self._else(loop, node.orelse, outer)
        self.leave(loop)
        self.region = outer
        return go_on, not loop.broken

    def _test(self, loop: Construct, test: Callable[[], Value], end: Label) -> Value:
        """The loop's condition; lanes for which it does not hold go to the end."""
        used = dict(self.used)
        go_on = test()
        if not go_on.constant:
            if not go_on.scalar:
                self.facts.frame(loop.key)
            self.emit("TEST" if loop.framed else "JZ", go_on, end)
        self.used = used
        return go_on

    def _else(self, loop: Construct, statements: list[ast.stmt], outer: object) -> None:
        """What lanes run that did not leave the loop by `break`."""
        loop.kind = "else"
        loop.closing = loop.end
        self.region = object() if loop.framed else outer
        if loop.framed:
            self.emit("LOOPELSE", None, loop.end)
        self.body(statements)

    def compile_Break(self, node: ast.Break) -> bool:
        """break"""
        at = self._innermost_loop()
        self.stack[at].broken = True
        self.leave_early(at)
        return True

    def compile_Continue(self, node: ast.Continue) -> bool:
        """continue"""
        at = self._innermost_loop()
        loop = self.stack[at]
        if any(c.kind == "else" and c.framed for c in self.stack[at:]):
            self.refuse("`continue` in the `else` of an inner loop is not supported: use a flag.")
        self.need_frame(loop)
        if loop.framed:
            self.emit("CONTINUE", None, self.closing())
        else:
            self.emit("JMP", None, loop.closing)
        return True

    def _innermost_loop(self) -> int:
        """Its place in the stack."""
        return max(i for i, construct in enumerate(self.stack) if construct.kind == "loop")
