"""What an exercise forbids: dotted names become things that a run can be held against.

A name is looked up only once its package has been imported; nothing is imported for this.

    modules   "torch": everything in it
    codes     functions written in Python, by the identity of their code
    methods   "numpy.ndarray.dot": methods of C types, by name; "numpy.dot" forbids this one, too
    opaque    ufuncs and functions written in C: calls of them (from C, in part) escape the
              profiler, so that a stand-in is put in their place for the run
"""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, CodeType, MethodDescriptorType, ModuleType

import numpy as np

OPERATORS = {"@": ("@", "@=")}  # entries that forbid an operator
BY_NAME = {"@": ("__matmul__", "__rmatmul__", "__imatmul__")}  # methods that are the same,
AS_FUNCTION = {"@": ("operator.matmul", "operator.imatmul")}  # and functions
_DEEP = 3  # containers within each other that are searched
_MANY = 20  # entries of a container that are searched


class Forbidden:
    """The forbidden things by kind, each with the name to show.

    Those found by their id are kept beside it, so that no id is used twice.
    """

    def __init__(self, entries: Iterable[str], modules: Iterable[str] = ()) -> None:
        self.operators: set[str] = set()
        self.operator_methods: dict[str, str] = {}
        self.modules = set(modules)
        self.codes: dict[int, tuple[CodeType, str]] = {}
        self.methods: dict[str, tuple[object, str]] = {}
        self.opaque: dict[int, tuple[Callable, str]] = {}
        self._pending: set[str] = set()
        for entry in entries:
            if entry in OPERATORS:
                self.operators.update(OPERATORS[entry])
                self.operator_methods |= dict.fromkeys(BY_NAME[entry], entry)
                self._pending.update(AS_FUNCTION[entry])
            else:
                self._pending.add(entry)
        self.resolve()

    def resolve(self) -> list[tuple[Callable, str]]:
        """Looks up the names whose package is there by now; returns the new opaque ones."""
        before = len(self.opaque)
        for name in sorted(self._pending):
            found = _imported(name)
            if found is not None:
                self._pending.discard(name)
                self._add(found, name)
        return list(self.opaque.values())[before:]

    def _add(self, value: object, name: str) -> None:
        if isinstance(value, ModuleType):
            self.modules.add(name)
            return
        if isinstance(value, MethodDescriptorType):
            self.methods[value.__name__] = (value, name)
            return
        codes = list(codes_of(value))
        for code in codes:
            self.codes[id(code)] = (code, name)
        if not codes:
            self.opaque[id(value)] = (value, name)
        package, _, last = name.rpartition(".")
        method = getattr(np.ndarray, last, None) if package == "numpy" else None
        if isinstance(method, MethodDescriptorType):
            self.methods[last] = (method, f"numpy.ndarray.{last}")

    def called(self, code: CodeType, module: object) -> str | None:
        """The forbidden thing that a call of this code, in the module of this name, is."""
        if id(code) in self.codes:
            return self.codes[id(code)][1]
        return self.module_of(module)

    def called_in_c(self, function: Callable) -> str | None:
        """The forbidden thing that this function written in C is."""
        if id(function) in self.opaque:
            return self.opaque[id(function)][1]
        if name := self._type_in(function.__self__):
            return name
        owner = type(function.__self__)
        method, name = self.methods.get(function.__name__, (None, None))
        if method is not None and getattr(owner, function.__name__, None) is method:
            return name
        return self.module_of(function.__module__ or owner.__module__)

    def module_of(self, name: object) -> str | None:
        """The forbidden module that `name` lies in: "torch" for "torch.nn.functional"."""
        if not self.modules or not isinstance(name, str):
            return None
        while name:
            if name in self.modules:
                return name
            name = name.rpartition(".")[0]
        return None

    def found_in(self, value: object, depth: int = _DEEP) -> str | None:
        """The forbidden thing that `value` is, or that lies in it (a partial, a list)."""
        if name := self._type_in(value):
            return name
        if id(value) in self.opaque:
            return self.opaque[id(value)][1]
        if type(value) is ModuleType:
            return self.module_of(value.__name__)
        if isinstance(value, type | BuiltinFunctionType):
            return self.module_of(value.__module__)
        inside = _contents(value)
        if depth == 0 or len(inside) > _MANY:
            return None
        for item in inside:
            name = self.found_in(item, depth - 1)
            if name:
                return name
        return None

    def _type_in(self, value: object) -> str | None:
        """The forbidden type of the numbers in an array, or of a dtype: made at any time."""
        if issubclass(type(value), np.ndarray | np.generic):
            value = value.dtype
        return self.found_in(value.type) if issubclass(type(value), np.dtype) else None


def _contents(value: object) -> Iterable:
    """What lies in a plain container or a partial; nothing in anything else."""
    kind = type(value)
    if kind is functools.partial:
        return (value.func, *value.args, *value.keywords.values())
    if kind in (list, tuple, set):
        return value
    if kind is dict:
        return value.values()
    return ()


def codes_of(function: object) -> Iterator[CodeType]:
    """The codes that run when `function` is called, itself and what it wraps."""
    while function is not None:
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            yield code
        function = getattr(function, "__wrapped__", None)


def _imported(dotted: str) -> object | None:
    """The object of this name, if its package is imported."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is not None:
            return _attribute(module, parts[cut:])
    return None


def _attribute(value: object, names: list[str]) -> object | None:
    """The attribute of an attribute; not by getattr of a module, which might import something."""
    for name in names:
        if isinstance(value, ModuleType):
            value = vars(value).get(name)
        else:
            value = getattr(value, name, None)
    return value
