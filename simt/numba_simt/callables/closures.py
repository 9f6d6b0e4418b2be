"""Functions that a kernel defines: `def` and `lambda` within it, inlined where they are called."""

import ast
import inspect
from inspect import Parameter

from numba_simt.callables.vectors import Vectors
from numba_simt.instructions.emitter import Scope
from numba_simt.reading.source import within
from numba_simt.reading.webs import parameters_of
from numba_simt.values import Closure, Value


class Closures(Vectors):
    """Compiles what Numba inlines: such a function sees the kernel's variables as they are then."""

    def compile_FunctionDef(self, node: ast.FunctionDef) -> None:
        """def f(x): ..."""
        if node.decorator_list:
            self.refuse("a function within a kernel has no decorator: Numba inlines it as it is.")
        self.assign_name(self.scope, node, self._closure(node))

    def compile_Lambda(self, node: ast.Lambda) -> Closure:
        """lambda x: ..."""
        return self._closure(node)

    def _closure(self, node: ast.FunctionDef | ast.Lambda) -> Closure:
        if node.args.kwonlyargs or node.args.kwarg:
            self.refuse("a function within a kernel has plain parameters: no keywords alone.")
        defaults = tuple(map(self.compile, node.args.defaults))
        if any(isinstance(value, Value) and value.constant is None for value in defaults):
            self.refuse("the defaults of a function within a kernel are constants.")
        read = node if isinstance(node, ast.Lambda) else None
        return Closure(node, self.scope, read, defaults)

    def call_closure(
        self,
        node: ast.Call,
        closure: Closure,
        arguments: list,
        named: dict,
    ) -> object:
        """The function's body in place of the call."""
        if any(scope.closure and scope.closure.tree is closure.tree for scope in self._around()):
            self.refuse("a function within a kernel calls itself, which Numba refuses: use a loop.")
        source = within(closure.scope.source, closure.tree)
        key = (self.scope, node, closure.tree)
        function = closure.scope.function
        place = self.place_in_source()
        new = Scope(source, function, self.scope, place, self.scope.hidden, closure)
        scope = self.facts.scopes.setdefault(key, new)
        scope.closure = closure
        return self.run_inline(scope, self.bound(scope, _signature(closure), arguments, named))

    def _around(self) -> list[Scope]:
        """The scope that is compiled, and those that call it."""
        scopes = [self.scope]
        while scopes[-1].parent is not None:
            scopes.append(scopes[-1].parent)
        return scopes


def _signature(closure: Closure) -> inspect.Signature:
    """Its parameters, with the values of their defaults."""
    arguments = closure.tree.args
    plain = [*arguments.posonlyargs, *arguments.args]
    missing = [Parameter.empty] * (len(plain) - len(closure.defaults))
    found = []
    for node, default in zip(plain, (*missing, *closure.defaults), strict=True):
        found.append(Parameter(node.arg, Parameter.POSITIONAL_OR_KEYWORD, default=default))
    for node in parameters_of(arguments)[len(plain) :]:
        found.append(Parameter(node.arg, Parameter.VAR_POSITIONAL))
    return inspect.Signature(found)
