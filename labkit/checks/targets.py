"""What an exercise forbids, looked up: dotted names become things that a run can be held against.

A name is looked up only once its package has been imported; nothing is imported for this.

    modules      "torch": everything in it
    codes        functions written in Python, by the identity of their code
    builtins     functions written in C, compared by ==, which Python decides for this type
    methods      "numpy.ndarray.dot": methods of C types, by name
    dispatchers  NumPy's functions in C behind a Python function of the same name: "dot"
    opaque       ufuncs and builtins: calls of them (from C, in part) escape the profiler
"""

import functools
import sys
import types
from collections.abc import Iterable

OPERATORS = {"@": ("@", "@=")}  # entries that forbid an operator


class Targets:
    """The forbidden things by kind, each with the name to show."""

    def __init__(self, entries: Iterable[str]) -> None:
        self.operators = {op for entry in entries for op in OPERATORS.get(entry, ())}
        self.modules: dict[str, str] = {}
        self.codes: dict[int, str] = {}
        self.builtins: dict[object, str] = {}
        self.methods: dict[str, tuple[object, str]] = {}
        self.opaque: dict[int, tuple[object, str]] = {}
        self.dispatchers: dict[str, str] = {}
        self.pending = {entry for entry in entries if entry not in OPERATORS}
        self._kept: list[object] = []  # so that no id is used twice
        self.resolve()

    def resolve(self) -> list[tuple[str, object]]:
        """Looks up the names whose package is there by now; returns (name, object) of new opaque
        objects.
        """
        fresh = []
        for entry in sorted(self.pending):
            found = _lookup(entry)
            if found is None:
                continue
            self.pending.discard(entry)
            if isinstance(found, types.ModuleType):
                self.modules[entry] = entry
            elif not self.add(found, entry):
                self.opaque[id(found)] = (found, entry)
            if isinstance(found, types.BuiltinFunctionType):
                self.opaque[id(found)] = (found, entry)
            if id(found) in self.opaque:
                fresh.append((entry, found))
        return fresh

    def add(self, found: object, name: str) -> bool:
        """Forbids one object; False when its calls leave no trace for the profiler."""
        self._kept.append(found)
        codes = list(codes_of(found))
        for code in codes:
            self.codes[id(code)] = name
            self._kept.append(code)
        if isinstance(found, types.BuiltinFunctionType):
            self.builtins[found] = name
        elif isinstance(found, types.MethodDescriptorType):
            self.methods[found.__name__] = (found, name)
        elif type(found).__name__ == "_ArrayFunctionDispatcher" and not codes:
            self.dispatchers[found.__name__] = name
        elif not codes:
            return False
        return True

    def called(self, code: types.CodeType, module: object) -> str | None:
        """The forbidden thing that a call of this code in this module is."""
        if id(code) in self.codes:
            return self.codes[id(code)]
        if (
            isinstance(module, str)
            and module.startswith("numpy")
            and code.co_name in self.dispatchers
        ):
            return self.dispatchers[code.co_name]
        return self.module_of(module)

    def module_of(self, name: object) -> str | None:
        """The forbidden module that `name` lies in: "torch" for "torch.nn.functional"."""
        if not self.modules or not isinstance(name, str):
            return None
        while name:
            if name in self.modules:
                return self.modules[name]
            name = name.rpartition(".")[0]
        return None

    def names(self, value: object, depth: int = 3) -> str | None:
        """The name of the forbidden thing that `value` is, or that lies in it (a partial, a list of
        functions).
        """
        if id(value) in self.opaque:
            return self.opaque[id(value)][1]
        kind = type(value)
        if kind is types.ModuleType:
            return self.module_of(value.__name__)
        if kind is types.BuiltinFunctionType:
            return self.builtins.get(value) or self.module_of(value.__module__)
        if depth and kind is functools.partial:
            return self.names((value.func, *value.args, *value.keywords.values()), depth - 1)
        if depth and kind in (list, tuple, set) and len(value) <= 20:
            return next(filter(None, (self.names(item, depth - 1) for item in value)), None)
        if depth and kind is dict and len(value) <= 20:
            return self.names(list(value.values()), depth - 1)
        return None


def codes_of(function: object) -> Iterable[types.CodeType]:
    """The code objects that run when `function` is called, as far as they are written in Python."""
    for _ in range(10):
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            if isinstance(getattr(function, "__code__", None), types.CodeType):
                yield function.__code__
            function = function.__wrapped__
        else:
            break
    if isinstance(function, type):
        members = [
            vars(function).get(name) for name in ("__init__", "__new__", "forward", "__call__")
        ]
    elif isinstance(function, types.FunctionType | types.MethodType):
        members = [function]
    else:
        members = [
            vars(kind)["__call__"] for kind in type(function).__mro__ if "__call__" in vars(kind)
        ][:1]
    for member in members:
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        if isinstance(code, types.CodeType):
            yield code


def _lookup(dotted: str) -> object | None:
    """The object of this name, if its package is imported; the first part that is no module is an
    attribute.
    """
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        found = sys.modules.get(".".join(parts[:cut]))
        if found is None:
            continue
        for name in parts[cut:]:
            found = (
                vars(found).get(name)
                if isinstance(found, types.ModuleType)
                else getattr(found, name, None)
            )
            if found is None:
                return None
        return found
    return None
