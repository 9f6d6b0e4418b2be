"""The checks: `check`, `predict`, `hint`, `quiz`, and what an author writes for them.

Names load on first use, so that importing this package costs next to nothing.
"""

import importlib

_HOMES = {"check": "verdict"} | dict.fromkeys(("predict", "hint", "quiz"), "calls")
_HOMES |= dict.fromkeys(("Case", "Misconception", "Exercise", "Prediction", "Quiz"), "exercise")
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
