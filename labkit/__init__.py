"""labkit: the small package that carries the course "Four Machines".

Public names load on first use, so `import labkit` costs next to nothing:

    from labkit import check, last_right, predict, hint, quiz, doctor
"""

import importlib

__version__ = "0.1.0"

# What is handed out here lives on higher floors; this page is the front door to all of them.
_HOMES = {
    "check": "labkit.checks.judge",
    "last_right": "labkit.checks.last_right",
    "predict": "labkit.checks.ask",
    "hint": "labkit.checks.ask",
    "quiz": "labkit.checks.ask",
    "doctor": "labkit.course.doctor",
}
__all__ = ["ROOMS", "__version__", *_HOMES]

# An id begins with a room, "gpu.matmul_tiled": a chapter's, or that of what joins the machines.
ROOMS = ("gpu", "tpu", "fpga", "distributed", "course")


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
