"""Loops of a kernel: `while` and `for`, with `break`, `continue` and `else`."""

import ast
from collections.abc import Callable

from numba_simt.reading.typing_rules import number
from numba_simt.reading.unrolling import Unroll, is_unrolled
from numba_simt.translation.assignments import Assignments
from numba_simt.values import Range, Value


class Loops(Assignments):
    """Compiles loops."""

    def compile_While(self, node: ast.While) -> bool:
        """while test: ..."""

        def test() -> Value:
            return self.truth(self.compile(node.test))

        def run() -> bool:
            return self.body(node.body)

        key = (self.scope, node)
        go_on, only = self.rounds(
            key, test, lambda: self.body(node.body), None, self._else_of(node)
        )
        return bool(go_on.constant) and only

    def compile_For(self, node: ast.For) -> bool:
        """for i in range(...): ..., and over the items of any sequence"""
        items = self.hold(self.sequence(self._run_over(node)))
        over_range = isinstance(items, Range)
        span = items if over_range else Range(number(0), self.count_of(items), number(1))
        count = self.counted(span)
        webs = self.scope.source.webs

        def run() -> None:
            if not over_range:
                self.assign_to(node.target, self.item_at(items, count.counter))
            elif webs.private(node):
                self.facts.bound[self.scope, webs.written(node.target)] = count.counter
            else:
                self.assign_to(node.target, count.counter)
            self.body(node.body)

        key = (self.scope, node)
        self.rounds(key, self.going_on(count, key), run, count, self._else_of(node))
        return False

    def _run_over(self, node: ast.For) -> object:
        """What the loop runs over; one over items of several types is unrolled first."""
        if not is_unrolled(node.iter):
            return self.compile(node.iter)
        function = getattr(self.compile(node.iter.func), "value", None)
        if getattr(function, "__module__", "").startswith("numba.misc"):
            self.refuse("Numba's CUDA compiler knows the one of numba.cuda.misc.special alone.")
        items = self.compile(node.iter.args[0])
        if not isinstance(items, tuple):
            self.refuse(f"literal_unroll takes a tuple, not {self.describe(items)}.")
        kinds = [self.type_of(item) for item in items]
        if all(kind == kinds[0] for kind in kinds):
            return items
        if self.scope.closure:
            self.limit("literal_unroll works outside of functions within a kernel: move it there.")
        raise Unroll(self.scope.function, self.scope.source, node, len(items))

    def _else_of(self, node: ast.For | ast.While) -> Callable[[], object] | None:
        return (lambda: self.body(node.orelse)) if node.orelse else None

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
