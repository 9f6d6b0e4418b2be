"""What an exercise forbids: dotted names become things that a run can be held against.

A name is looked up only once its package has been imported; nothing is imported for this.

    modules      "torch": everything in it
    codes        functions written in Python, by the identity of their code
    builtins     functions written in C, compared by ==, which Python decides for this type
    methods      "numpy.ndarray.dot": methods of C types, by name
    dispatchers  NumPy's functions in C behind a Python function of the same name: "dot"
    opaque       ufuncs and builtins: calls of them (from C, in part) escape the profiler, so
                 that a stand-in is put in their place for the run
"""

import functools
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType

OPERATORS = {"@": ("@", "@=")}  # entries that forbid an operator
_SWITCHES = {  # of the profiler and of the clock
    sys: ("setprofile", "getprofile", "settrace"),
    threading: ("setprofile",),
    signal: ("signal", "setitimer", "alarm", "pthread_sigmask"),
}
ESCAPES = {  # by the code of a function written in Python, or by the function in C itself
    getattr(function, "__code__", function): f"{module.__name__}.{name}"
    for module, names in _SWITCHES.items()
    for name in names
    if (function := getattr(module, name, None)) is not None
}


class Escape(BaseException):
    """Raised in a function that is about to switch off the profiler or the clock."""


class Targets:
    """The forbidden things by kind, each with the name to show."""

    def __init__(self, entries: Iterable[str]) -> None:
        self.operators = {op for entry in entries for op in OPERATORS.get(entry, ())}
        self.modules: set[str] = set()
        self.codes: dict[int, str] = {}
        self.builtins: dict[object, str] = {}
        self.methods: dict[str, tuple[object, str]] = {}
        self.dispatchers: dict[str, str] = {}
        self.opaque: dict[int, tuple[object, str]] = {}
        self._pending = set(entries) - OPERATORS.keys()
        self._kept: list[object] = []  # so that no id is used twice
        self.resolve()

    def resolve(self) -> list[tuple[object, str]]:
        """Looks up the names whose package is there by now; returns the new opaque ones."""
        known = set(self.opaque)
        for name in sorted(self._pending):
            if (found := _lookup(name)) is not None:
                self._pending.discard(name)
                self._add(found, name)
        return [entry for key, entry in self.opaque.items() if key not in known]

    def _add(self, found: object, name: str) -> None:
        codes = list(codes_of(found))
        self._kept += [found, *codes]
        self.codes |= {id(code): name for code in codes}
        if isinstance(found, ModuleType):
            self.modules.add(name)
        elif isinstance(found, types.MethodDescriptorType):
            self.methods[found.__name__] = (found, name)
        elif isinstance(found, BuiltinFunctionType):
            self.builtins[found] = name
            self.opaque[id(found)] = (found, name)
        elif type(found).__name__ == "_ArrayFunctionDispatcher" and not codes:
            self.dispatchers[found.__name__] = name
        elif not codes:
            self.opaque[id(found)] = (found, name)

    def called(self, code: CodeType, module: object) -> str | None:
        """The forbidden thing that a call of this code in this module is."""
        if id(code) in self.codes:
            return self.codes[id(code)]
        in_numpy = isinstance(module, str) and module.startswith("numpy")
        if in_numpy and code.co_name in self.dispatchers:
            return self.dispatchers[code.co_name]
        return self.module_of(module)

    def called_in_c(self, function: Callable) -> str | None:
        """The forbidden thing that this function written in C is."""
        owner = getattr(function, "__self__", None)
        method, name = self.methods.get(function.__name__, (None, None))
        if method is not None and getattr(type(owner), function.__name__, None) is method:
            return name
        module = function.__module__ or type(owner).__module__
        return self.builtins.get(function) or self.module_of(module)

    def module_of(self, name: object) -> str | None:
        """The forbidden module that `name` lies in: "torch" for "torch.nn.functional"."""
        while self.modules and isinstance(name, str) and name:
            if name in self.modules:
                return name
            name = name.rpartition(".")[0]
        return None

    def names(self, value: object, depth: int = 3) -> str | None:
        """The forbidden thing that `value` is, or that lies in it (a partial, a list)."""
        if id(value) in self.opaque:
            return self.opaque[id(value)][1]
        kind, inside = type(value), ()
        if kind is ModuleType:
            return self.module_of(value.__name__)
        if kind is BuiltinFunctionType:
            return self.builtins.get(value) or self.module_of(value.__module__)
        if kind is functools.partial:
            inside = (value.func, *value.args, *value.keywords.values())
        elif kind in (list, tuple, set):
            inside = value
        elif kind is dict:
            inside = value.values()
        if not depth or len(inside) > 20:
            return None
        return next(filter(None, (self.names(item, depth - 1) for item in inside)), None)


def codes_of(function: object) -> Iterable[CodeType]:
    """The code objects that run when `function` is called, as far as they are written in Python."""
    members = []
    while isinstance(function, functools.partial) or hasattr(function, "__wrapped__"):
        if isinstance(function, functools.partial):
            function = function.func
        else:
            members.append(function)
            function = function.__wrapped__
    if isinstance(function, type):
        names = ("__init__", "__new__", "forward", "__call__")
        members += [vars(function).get(name) for name in names]
    elif isinstance(function, types.FunctionType | types.MethodType):
        members.append(function)
    else:
        members.append(getattr(type(function), "__call__", None))  # noqa: B004
    for member in members:
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        if isinstance(code, CodeType):
            yield code


def _lookup(dotted: str) -> object | None:
    """The object of this name, if its package is imported."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        found = sys.modules.get(".".join(parts[:cut]))
        if found is not None:
            for name in parts[cut:]:  # not getattr of a module, which might import something
                is_module = isinstance(found, ModuleType)
                found = vars(found).get(name) if is_module else getattr(found, name, None)
            return found
    return None


class StandIn:
    """Behaves like the function it stands for, and reports each use."""

    def __init__(self, function: Callable, report: Callable[[FrameType], None]) -> None:
        self.__dict__.update(_function=function, _report=report)

    def __call__(self, *args: object, **kwargs: object) -> object:
        self._report(sys._getframe(1))
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> object:
        if not name.startswith("_"):  # a ufunc's reduce, outer, at
            self._report(sys._getframe(1))
        return getattr(self._function, name)


def places_of(found: object, dotted: str) -> list[tuple[ModuleType, str, object]]:
    """(module, name, what it holds): wherever the function's package holds it under its name."""
    root, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
    places = []
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == root:
            held = getattr(module, "__dict__", {}).get(name)
            alike = type(held) is type(found) is BuiltinFunctionType and held == found
            if held is found or alike:
                places.append((module, name, held))
    return places
