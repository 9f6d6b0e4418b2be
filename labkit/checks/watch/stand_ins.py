"""Stand-ins for forbidden functions whose calls the profiler does not see."""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType, ModuleType


class StandIn:
    """Behaves like the function it stands for, and reports each use with the frame of the user."""

    def __init__(self, function: Callable, report: Callable[[FrameType], None]) -> None:
        self._function = function
        self._report = report

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Reports the call, and passes it on."""
        self._report(sys._getframe(1))
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> object:
        """An attribute of the function; a ufunc's `reduce`, `outer` or `at` counts as a use."""
        if not name.startswith("_"):
            self._report(sys._getframe(1))
        return getattr(self._function, name)


class StandIns:
    """Puts stand-ins into the modules of functions, and takes them out again.

    report   report(dotted name, frame of the user) is called at each use
    """

    def __init__(self, report: Callable[[str, FrameType], None]) -> None:
        self._report = report
        self._replaced: list[tuple[ModuleType, str, Callable]] = []

    def put(self, function: Callable, dotted: str) -> None:
        """A stand-in wherever the function's package holds it under its name."""
        for module in _modules_with(function, dotted):
            self.put_into(module, function, dotted)

    def put_into(self, module: ModuleType, function: Callable, dotted: str) -> None:
        """A stand-in in this module alone."""
        name = dotted.rpartition(".")[2]
        setattr(module, name, StandIn(function, partial(self._report, dotted)))
        self._replaced.append((module, name, function))

    def take_out(self) -> None:
        """Every module has its own function again."""
        for module, name, function in self._replaced:
            setattr(module, name, function)


def _modules_with(function: Callable, dotted: str) -> list[ModuleType]:
    """The modules of the function's package that hold it under its name."""
    package = dotted.partition(".")[0]
    name = dotted.rpartition(".")[2]
    found = []
    for key, module in list(sys.modules.items()):
        if key.partition(".")[0] != package:
            continue
        contents = getattr(module, "__dict__", {})
        if contents.get(name) is function:
            found.append(module)
    return found
