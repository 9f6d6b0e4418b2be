"""Loops as instructions: counted ones, and any that go on as long as a test holds."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from numba_simt.instructions.control import Construct
from numba_simt.instructions.emitter import Label
from numba_simt.instructions.optionals import Optionals
from numba_simt.reading.typing_rules import number
from numba_simt.values import Range, Value, register_type


@dataclass(frozen=True)
class Count:
    """What a loop counts: all of one type of integers."""

    counter: Value
    start: Value
    stop: Value
    step: Value


class Rounds(Optionals):
    """Emits loops; one has a mask frame only if lanes leave or skip it singly."""

    def counted(self, span: Range) -> Count:
        """The counter of a loop over a range; it holds the start."""
        kind = span.start.type
        register = self.temporary(register_type(kind), span.start.scalar and span.step.scalar)
        counter = Value(kind, register, named=True)
        self.emit("COPY", counter, span.start, type=register_type(kind))
        return Count(counter, span.start, span.stop, span.step)

    def going_on(self, count: Count, key: object) -> Callable[[], Value]:
        """The test of a counted loop: whether there is a round for the counter's value.

        A loop without a frame tests once, before the first round: NEXT tests at its end.
        """
        at = count.counter if key in self.facts.framed else count.start

        def test() -> Value:
            step = count.step
            if step.constant is not None:
                return self.operate(ast.Lt if step.constant > 0 else ast.Gt, at, count.stop)
            up = self.operate(ast.Lt, at, count.stop)
            down = self.operate(ast.Gt, at, count.stop)
            rises = self.operate(ast.Gt, step, Value(step.type, constant=0))
            return self.choice(rises, up, down)

        return test

    def each_below(self, key: object, length: Value, action: Callable[[Value], object]) -> None:
        """action(i) for i from 0 to length - 1: a loop that nothing leaves early."""
        count = self.counted(Range(number(0), self.hold(length), number(1)))
        key = (self.scope, self.at, key)
        self.rounds(key, self.going_on(count, key), lambda: self._once(action, count), count)

    def _once(self, action: Callable[[Value], object], count: Count) -> None:
        used = dict(self.used)
        action(count.counter)
        self.used = used

    def rounds(
        self,
        key: object,
        test: Callable[[], Value],
        run: Callable[[], object],
        count: Count | None = None,
        otherwise: Callable[[], object] | None = None,
    ) -> tuple[Value, bool]:
        """A loop: its test, and whether only the test ends it.

        `run` is a round; `otherwise` is run by lanes that did not leave the loop by `break`.
        """
        outer = self.region
        loop = self.enter("loop", key)
        head = Label()
        end = Label()
        next_tests = count is not None and not loop.framed
        self.region = loop.region
        self.place(head)
        go_on = self._test(loop, test, end)
        if next_tests:
            self.place(head)
        run()
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
        if otherwise:
            self._else(loop, otherwise, outer)
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

    def _else(self, loop: Construct, otherwise: Callable[[], object], outer: object) -> None:
        """What lanes run that did not leave the loop by `break`."""
        loop.kind = "else"
        loop.closing = loop.end
        self.region = object() if loop.framed else outer
        if loop.framed:
            self.emit("LOOPELSE", None, loop.end)
        otherwise()
