"""Statements of a kernel: expressions alone, branches, and what ends a function."""

import ast
from collections.abc import Sequence
from typing import NoReturn

from numba_simt.instructions.variables import RESULT
from numba_simt.ops import ATOMICS, NONE, OPS
from numba_simt.reading.pruning import is_of_types
from numba_simt.translation.loops import Loops
from numba_simt.values import Cuda, Object

_EXCEPTIONS = "kernels catch no exceptions: ask with `if` before it would be raised"
_COLLECTIONS = "use a tuple, or cuda.local.array and a loop"
_CURES = {
    ast.Try: _EXCEPTIONS,
    ast.Import: "import it above the kernel",
    ast.ImportFrom: "import it above the kernel",
    ast.List: _COLLECTIONS,
    ast.ListComp: _COLLECTIONS,
    ast.Set: _COLLECTIONS,
    ast.SetComp: _COLLECTIONS,
    ast.Dict: _COLLECTIONS,
    ast.DictComp: _COLLECTIONS,
    ast.JoinedStr: "kernels have no strings: number the cases",
    ast.NamedExpr: "assign on a line of its own",
}
_REFUSED = (
    ast.Try,
    ast.List,
    ast.ListComp,
    ast.Set,
    ast.SetComp,
    ast.Dict,
    ast.DictComp,
)  # by Numba
_ELSE = "it is made of numbers, tuples, arrays, if, for and while"


class Statements(Loops):
    """The uppermost layer of the compiler: it compiles whole bodies."""

    def unknown(self, node: ast.AST) -> NoReturn:
        """Refuses what no method here compiles."""
        name = type(node).__name__.lower()
        refuse = self.refuse if isinstance(node, _REFUSED) else self.limit
        refuse(f"a kernel cannot contain `{name}`: {_CURES.get(type(node), _ELSE)}.")

    def compile_Pass(self, node: ast.Pass) -> None:
        """pass"""

    def compile_Expr(self, node: ast.Expr) -> None:
        """cuda.syncthreads(), or an atomic whose old value nobody wants"""
        before = len(self.code)
        value = self.compile(node.value)
        if isinstance(value, Cuda) and not isinstance(node.value, ast.Call):
            name = ast.unparse(node.value)
            self.refuse(f"`{name}` does nothing without its brackets: write {name}().")
        if len(self.code) > before and OPS[self.code[-1][0]] in ATOMICS:
            self.code[-1][RESULT] = NONE

    def compile_If(self, node: ast.If) -> bool:
        """if test: ... else: ..."""
        test = self.truth(self.compile(node.test))

        def then() -> bool:
            return self.body(node.body)

        def otherwise() -> bool:
            return self.body(node.orelse)

        if test.constant is not None and not is_of_types(node.test):
            self.typed_only(otherwise if test.constant else then)
        return self.choose(test, then, otherwise if node.orelse else None)

    def compile_Raise(self, node: ast.Raise) -> bool:
        """raise ValueError, raise ValueError("no")"""
        if node.exc is None or node.cause is not None:
            self.refuse("a kernel raises a new exception alone: write raise ValueError(...).")
        call = isinstance(node.exc, ast.Call) and not node.exc.keywords
        error = self.compile(node.exc.func if call else node.exc)
        kind = getattr(error, "value", None)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            self.refuse(f"{self.describe(error)} cannot be raised: a class of exceptions can.")
        said = self._said(node.exc.args if call else ())
        if self.facts.debug and self._in_device_function():
            return self.throw(
                SystemError, f"unknown error in native function: {kind.__name__}", *said
            )
        return self.throw(kind, *said)

    def _in_device_function(self) -> bool:
        """Whether Numba compiles this apart from the kernel: it forgets then what is raised."""
        scope = self.scope
        while scope.closure or scope.hidden:
            scope = scope.parent
        return scope.parent is not None

    def _said(self, nodes: Sequence[ast.expr]) -> list:
        """The arguments of an exception, which Numba's CUDA compiler must know."""
        said = []
        for value in map(self.compile, nodes):
            known = isinstance(value, Object) or getattr(value, "constant", None) is not None
            if not known:
                self.refuse(
                    "what an exception says is constant in a kernel: write numbers and texts, or "
                    "put the value into an array."
                )
            said.append(value.value if isinstance(value, Object) else value.constant)
        return said

    def compile_Assert(self, node: ast.Assert) -> None:
        """assert test, message"""
        test = self.truth(self.compile(node.test))
        said = self._said([node.msg] if node.msg else [])
        self.throw_if(self.invert(test), AssertionError, *said)

    def compile_Return(self, node: ast.Return) -> bool:
        """return, return value"""
        calls = [i for i, construct in enumerate(self.stack) if construct.kind == "call"]
        if calls:
            self.stack[calls[-1]].returns = True
        value = Object(None) if node.value is None else self.compile(node.value)
        last = node is self.scope.source.tree.body[-1]
        if not calls:
            if value != Object(None):
                self.refuse("a kernel returns nothing: write the result into an array.")
            if not last:
                self.emit("RET", None, self.closing())
            return True
        call = calls[-1]
        self.assign((self.scope, "return"), value)
        if not last:
            self.leave_early(call)
        return True
