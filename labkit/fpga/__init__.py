"""The FPGA room: from int8 arithmetic to gates, and a board that the `pynq` package drives.

Each name is loaded when it is first used; `import labkit.fpga` loads no tool.
"""

import sys
from importlib import import_module
from types import ModuleType

_HOMES = {
    "quantize": "quantize",
    "simulate": "simulate",
    "synthesize": "synthesize",
    "place_and_route": "timing",
    "prove": "prove",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"labkit.fpga has no {name!r}; it has {', '.join(_HOMES)}.")
    return getattr(import_module(f"labkit.fpga.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])


class _Room(ModuleType):
    """The room as a module in which a function keeps its name from the module that it lives in.

    Python would put the module labkit.fpga.quantize into the place of the function `quantize`
    as soon as somebody imports anything from it.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room
