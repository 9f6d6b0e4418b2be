"""Stand-ins for functions whose calls the profiler cannot see, placed for one run."""

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FrameType

Report = Callable[[str, FrameType | None], None]  # (dotted name, frame of the caller)


class StandIns:
    """Places stand-ins, and takes them out again."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._undo: list[tuple[object, str, object]] = []

    def place(self, dotted: str, found: object) -> None:
        """Wherever the function's package holds it under its own name."""
        root, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
        stand_in = StandIn(found, lambda frame: self._report(dotted, frame))
        for module_name, module in list(sys.modules.items()):
            if module_name.partition(".")[0] != root:
                continue
            held = getattr(module, "__dict__", {}).get(name)
            alike = type(held) is type(found) is BuiltinFunctionType and held == found
            if held is found or alike:
                setattr(module, name, stand_in)
                self._undo.append((module, name, held))

    def remove(self) -> None:
        for module, name, held in reversed(self._undo):
            setattr(module, name, held)
        self._undo.clear()


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
