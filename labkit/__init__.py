"""labkit: the small package that carries the course "Four Machines".

Public names load on first use, so `import labkit` costs next to nothing:

    from labkit import check, predict, hint, quiz, doctor
"""

import importlib

__version__ = "0.1.0"

_HOMES = {"check": "labkit.checks.verdict", "doctor": "labkit.course.doctor"}
_HOMES |= dict.fromkeys(("predict", "hint", "quiz"), "labkit.checks.calls")
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
