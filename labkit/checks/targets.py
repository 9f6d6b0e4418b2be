"""What an exercise forbids: dotted names become things that a run can be held against.

A name is looked up only once its package has been imported; nothing is imported for this.

    modules   "torch": everything in it
    codes     functions written in Python, by the identity of their code
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, CodeType, ModuleType

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
        self.modules: set[str] = set()
        self.codes: dict[int, tuple[CodeType, str]] = {}
        self._pending = set(entries)
        self.resolve()

    def resolve(self) -> None:
        """Looks up the names whose package is there by now."""
        for name in sorted(self._pending):
            if (found := _lookup(name)) is not None:
                self._pending.discard(name)
                self._add(found, name)

    def _add(self, found: object, name: str) -> None:
        if isinstance(found, ModuleType):
            self.modules.add(name)
        elif codes := list(codes_of(found)):
            self.codes |= {id(code): (code, name) for code in codes}
        else:
            raise ValueError(f"{name} is no function written in Python: forbid its module.")

    def called(self, code: CodeType, module: object) -> str | None:
        """The forbidden thing that a call of this code in this module is."""
        return self.codes[id(code)][1] if id(code) in self.codes else self.module_of(module)

    def called_in_c(self, function: Callable) -> str | None:
        """The forbidden module that this function written in C lies in."""
        return self.module_of(function.__module__ or type(function.__self__).__module__)

    def module_of(self, name: object) -> str | None:
        """The forbidden module that `name` lies in: "torch" for "torch.nn.functional"."""
        while self.modules and isinstance(name, str) and name:
            if name in self.modules:
                return name
            name = name.rpartition(".")[0]
        return None

    def names(self, value: object) -> str | None:
        """The forbidden module that `value` is, or of which it is a type or a function in C."""
        if isinstance(value, ModuleType):
            return self.module_of(value.__name__)
        in_module = isinstance(value, type | BuiltinFunctionType)
        return self.module_of(value.__module__) if in_module else None


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
