"""What an exercise forbids: dotted names become things that a run can be held against.

A name is looked up only once its package has been imported; nothing is imported for this.

    modules   "torch": everything in it
    codes     functions written in Python, by the identity of their code
    methods   "numpy.ndarray.dot": methods of C types, by name
    opaque    ufuncs and functions written in C: calls of them (from C, in part) escape the
              profiler, so that a stand-in is put in their place for the run
"""

import functools
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FrameType, MethodDescriptorType, ModuleType

OPERATORS = {"@": ("@", "@=")}  # entries that forbid an operator
_SWITCHES = {  # of the profiler and of the clock
    sys: ("setprofile", "getprofile"),
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
    """The forbidden things by kind, each with the name to show.

    Those found by their id are kept beside it, so that no id is used twice.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self.operators = {op for entry in entries for op in OPERATORS.get(entry, ())}
        self.modules: set[str] = set()
        self.codes: dict[int, tuple[CodeType, str]] = {}
        self.methods: dict[str, tuple[object, str]] = {}
        self.opaque: dict[int, tuple[object, str]] = {}
        self._pending = set(entries) - OPERATORS.keys()
        self.resolve()

    def resolve(self) -> list[tuple[object, str]]:
        """Looks up the names whose package is there by now; returns the new opaque ones."""
        before = len(self.opaque)
        for name in sorted(self._pending):
            if (found := _lookup(name)) is not None:
                self._pending.discard(name)
                self._add(found, name)
        return list(self.opaque.values())[before:]

    def _add(self, found: object, name: str) -> None:
        if isinstance(found, ModuleType):
            self.modules.add(name)
        elif isinstance(found, MethodDescriptorType):
            self.methods[found.__name__] = (found, name)
        elif codes := list(codes_of(found)):
            self.codes |= {id(code): (code, name) for code in codes}
        else:
            self.opaque[id(found)] = (found, name)

    def called(self, code: CodeType, module: object) -> str | None:
        """The forbidden thing that a call of this code in this module is."""
        return self.codes[id(code)][1] if id(code) in self.codes else self.module_of(module)

    def called_in_c(self, function: Callable) -> str | None:
        """The forbidden thing that this function written in C is."""
        if id(function) in self.opaque:
            return self.opaque[id(function)][1]
        owner = type(function.__self__)
        method, name = self.methods.get(function.__name__, (None, None))
        if method is not None and getattr(owner, function.__name__, None) is method:
            return name
        return self.module_of(function.__module__ or owner.__module__)

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
        if isinstance(value, type | BuiltinFunctionType):
            return self.module_of(value.__module__)
        if kind is functools.partial:
            inside = (value.func, *value.args, *value.keywords.values())
        elif kind in (list, tuple, set):
            inside = value
        elif kind is dict:
            inside = value.values()
        if not depth or len(inside) > 20:
            return None
        return next(filter(None, (self.names(item, depth - 1) for item in inside)), None)


def codes_of(function: object) -> Iterator[CodeType]:
    """The codes that run when `function` is called, itself and what it wraps."""
    while function is not None:
        if isinstance(code := getattr(function, "__code__", None), CodeType):
            yield code
        function = getattr(function, "__wrapped__", None)


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
        self._function, self._report = function, report

    def __call__(self, *args: object, **kwargs: object) -> object:
        self._report(sys._getframe(1))
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> object:
        if not name.startswith("_"):  # a ufunc's reduce, outer, at
            self._report(sys._getframe(1))
        return getattr(self._function, name)


def modules_with(function: object, dotted: str) -> list[ModuleType]:
    """The modules of the function's package that hold it under its name."""
    package, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
    modules = [m for key, m in list(sys.modules.items()) if key.partition(".")[0] == package]
    return [m for m in modules if getattr(m, "__dict__", {}).get(name) is function]
