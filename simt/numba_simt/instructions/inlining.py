"""Device functions of a kernel: their bodies in place of their calls."""

import ast
import inspect
from collections.abc import Callable, Sequence
from functools import cache

from numba_simt.instructions.emitter import Scope
from numba_simt.instructions.expressions import Expressions
from numba_simt.reading.pruning import pruned
from numba_simt.reading.source import Source
from numba_simt.values import Object, Optional, Variable

signature_of = cache(inspect.signature)
MAX_CALLS = 5000  # that are inlined in one kernel
DEPTHS = (24, 24, 10, 6, 5, 4)  # by the number of its own calls in a function


class Inlining(Expressions):
    """Compiles a function's body where it is called, in a scope of its own."""

    calling: ast.Call  # the call that is being compiled

    def inline(
        self,
        node: ast.Call,
        function: Callable,
        arguments: Sequence,
        named: dict,
        hidden: bool = False,
    ) -> object:
        """The function's body in place of the call; its value, or Object(None).

        `return` leaves a frame that is there only if some lanes return before others. `hidden`: a
        function of our own library, whose lines the learner does not know.
        """
        depth = self._depth(function)
        if depth == self._deepest(function):
            return self._too_deep(function, depth)
        scope = self._scope_of_call(node, function, hidden)
        return self.run_inline(scope, self.bound(scope, signature_of(function), arguments, named))

    def _depth(self, function: Callable) -> int:
        """How many calls of the function the current one stands in."""
        depth = 0
        scope = self.scope
        while scope is not None:
            depth += scope.function is function and not scope.closure
            scope = scope.parent
        return depth

    def _deepest(self, function: Callable) -> int:
        """How deeply its calls of itself are inlined: the more there are, the less deeply."""
        text = self._source_of(function)
        calls = [node for node in ast.walk(text.tree) if isinstance(node, ast.Call)]
        own = sum(getattr(node.func, "id", "") == function.__name__ for node in calls)
        if len(self.facts.scopes) > MAX_CALLS:
            self.limit(f"more than {MAX_CALLS:,} calls of functions are inlined here: write loops.")
        return DEPTHS[own] if own < len(DEPTHS) else DEPTHS[-1]

    def _too_deep(self, function: Callable, depth: int) -> object:
        """A call that is not followed: it stops the kernel; its value has the function's type."""
        said = f"`{function.__name__}` calls itself more than {depth} times within each other"
        self.throw(RecursionError, said, stops=True)
        scope = self.scope
        while scope.function is not function or scope.closure:
            scope = scope.parent
        if (scope, "return") not in self.facts.bound:
            self.facts.endless.add(function.__name__)
        value = self.read_variable((scope, "return"))
        if isinstance(value, Optional):
            self.refuse(
                f"`{function.__name__}` calls itself and returns None on some ways, which Numba "
                "cannot type: return a number on every way."
            )
        return value

    def run_inline(self, scope: Scope, given: dict[str, object]) -> object:
        """The body of a scope, with these values of its parameters."""
        text = scope.source
        caller = self.scope
        region = self.region
        line, at = self.line, self.at
        call = self.enter("call", scope)
        self.fresh = None  # a parameter may be read more than once
        for parameter in text.webs.parameters:
            self.parameter(scope, parameter, given[parameter.arg])
        self.scope = scope
        self.region = call.region
        ended = self.body(text.tree.body)
        if not ended and call.returns:
            self._end_without_value(scope)
        self.scope = caller
        self.region = region
        self.line, self.at = line, at
        value = self.read_variable((scope, "return")) if call.returns else Object(None)
        self.leave(call)
        return value

    def _end_without_value(self, scope: Scope) -> None:
        """A function that returns a number on some ways only returns None on the others."""
        key = (scope, "return")
        found = self.facts.bound.get(key)
        self.line = scope.source.tree.body[-1].lineno
        if isinstance(found, Variable | Optional):
            self.assign(key, Object(None))
        elif key in self.facts.bound and found != Object(None):
            name = scope.source.name
            self.refuse(f"`{name}` returns a value only sometimes: return one on every way.")

    def _scope_of_call(self, node: ast.Call, function: Callable, hidden: bool) -> Scope:
        """The scope of this call, the same in every pass."""
        text = self._source_of(function)
        caller = self.scope
        hidden = hidden or caller.hidden
        new = Scope(text, function, caller, self.place_in_source(), hidden)
        return self.facts.scopes.setdefault((caller, node, function), new)

    def _source_of(self, function: Callable) -> Source:
        return self.facts.sources.get(function) or pruned(function)

    def inlined(self, function: Callable, values: Sequence) -> object:
        """A function of library.py in place of the call that is being compiled."""
        return self.inline(self.calling, function, values, {}, hidden=True)

    def parameter(self, scope: Scope, parameter: ast.arg, value: object) -> None:
        """A parameter is a variable only if something else is assigned to it."""
        webs = scope.source.webs
        web = webs.written(parameter)
        if webs.definitions[web] == 1:
            self.facts.bound[scope, web] = value
        else:
            self.assign_name(scope, parameter, value)

    def bound(
        self, scope: Scope, signature: inspect.Signature, arguments: Sequence, named: dict
    ) -> dict[str, object]:
        """Parameter -> argument, defaults included; *args is a tuple."""
        name = scope.source.name
        parameters = signature.parameters
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            self.refuse(f"`{name}` takes **kwargs: name its parameters.")
        try:
            given = signature.bind(*arguments, **named).arguments
        except TypeError as error:
            self.refuse(f"`{name}`: {error}.")
        for parameter in parameters.values():
            if parameter.name not in given:
                star = parameter.kind is parameter.VAR_POSITIONAL
                default = () if star else parameter.default
                given[parameter.name] = self.capture(default, parameter.name)
        return given
