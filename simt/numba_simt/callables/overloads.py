"""Functions and methods that a program overloads for kernels: Python in place of their calls."""

import ast
import inspect
from collections.abc import Callable, Sequence

from numba import types

from numba_simt.callables.closures import Closures
from numba_simt.instructions.inlining import signature_of
from numba_simt.reading.extensions import ExtendedMethod, attributes_of
from numba_simt.reading.typing_rules import as_type
from numba_simt.values import ARRAYS, Object, Optional, Value

_TYPED = (Value, Optional, tuple, *ARRAYS)


class Overloads(Closures):
    """Asks an overload for its implementation, by Numba's types, and compiles that one's body."""

    def attribute(self, node: ast.Attribute, owner: object, name: str) -> object:
        """owner.name, of what a program has added to a type."""
        if isinstance(owner, _TYPED):
            found = attributes_of(self.type_of(owner), name)
            if found and getattr(found[0], "is_method", False):
                return Object(ExtendedMethod(owner, name, found))
            if found:
                return self.call_overload(node, found, name, [owner], {})
        return super().attribute(node, owner, name)

    def call_overload(
        self, node: ast.expr, overloads: Sequence, name: str, arguments: list, named: dict
    ) -> object:
        """The value of the implementation that the first overload has for such arguments."""
        refusals = []
        for overload in overloads:
            for literal in (True, False) if overload.prefer_literal else (False, True):
                kinds = tuple(self._kind(value, name, literal) for value in arguments)
                named_kinds = {key: self._kind(one, name, literal) for key, one in named.items()}
                found = self._implementation(overload, kinds, named_kinds, refusals)
                if found:
                    self._like_its_typing(overload, found, name)
                    return self.inline(node, found, arguments, named)
        kinds = ", ".join(str(self._kind(value, name, False)) for value in arguments)
        why = f": {refusals[0]}" if refusals else ""
        self.refuse(f"no overload of `{name}` takes ({kinds}){why}.")

    def _implementation(
        self, overload: type, kinds: tuple, named: dict, refusals: list
    ) -> Callable | None:
        """What it has for these types, the same function in every pass."""
        function = overload._overload_func
        key = (function, kinds, tuple(named.items()))
        if key not in self.facts.implementations:
            try:
                found = function(*kinds, **named)
            except Exception as error:  # a program's own, and Numba's, of many kinds
                refusals += [" ".join(str(error).split()).rstrip(".")]
                return None
            found = found[1] if isinstance(found, tuple) else found
            self.facts.implementations[key] = getattr(found, "py_func", found)
        return self.facts.implementations[key]

    def _like_its_typing(self, overload: type, found: Callable, name: str) -> None:
        """Refuses an implementation with other parameters than the function that gave it."""
        if not inspect.isfunction(found):
            self.refuse(f"an overload of `{name}` returns {found!r}: it returns a function.")
        if not getattr(overload, "_strict", True):
            return
        typing = signature_of(overload._overload_func).parameters.values()
        implementing = signature_of(found).parameters.values()
        for one, other in zip(typing, implementing, strict=False):
            if (one.name, one.kind, one.default) != (other.name, other.kind, other.default):
                self.refuse(
                    f"an overload of `{name}` has the parameter `{one}`, and its implementation "
                    f"`{other}`: they are the same."
                )
        if len(typing) != len(implementing):
            self.refuse(
                f"an overload of `{name}` has {len(typing)} parameters, and its implementation "
                f"{len(implementing)}: they are the same."
            )

    def _kind(self, value: object, name: str, literal: bool) -> object:
        """Numba's type of an argument, as an overload sees it."""
        if isinstance(value, Value):
            known = type(value.constant) in (int, bool)
            own = value.type in (types.int64, types.boolean)
            return types.literal(value.constant) if literal and known and own else value.type
        if isinstance(value, _TYPED):
            return self.type_of(value)
        thing = getattr(value, "value", self)
        if thing is None:
            return types.none
        if isinstance(thing, str):
            return types.literal(thing) if literal else types.unicode_type
        kind = as_type(thing)
        if kind is None:
            self.limit(f"{self.describe(value)} is no argument of an overload here: `{name}`.")
        return types.NumberClass(kind)
