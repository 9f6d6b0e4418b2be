"""The checks: `check`, `predict`, `hint`, `quiz`, and what an author writes for them.

Names load on first use, so that importing this package costs next to nothing.
"""

import importlib

_HOMES = {
    "verdict": ("check",),
    "calls": ("predict", "hint", "quiz"),
    "exercise": ("Case", "Misconception", "Exercise", "Prediction", "Quiz"),
}
__all__ = [name for names in _HOMES.values() for name in names]


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
