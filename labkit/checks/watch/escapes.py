"""The functions that switch off the profiler or the clock: the learner's code may call none."""

import signal
import sys
import threading
from collections.abc import Callable
from types import CodeType

_SWITCHES = (
    (sys, "setprofile"),
    (sys, "getprofile"),
    (threading, "setprofile"),
    (signal, "signal"),
    (signal, "setitimer"),
    (signal, "alarm"),
    (signal, "pthread_sigmask"),
)


class Escape(BaseException):
    """Raised in a function that is about to switch off the profiler or the clock."""


def _named_switches() -> dict[CodeType | Callable, str]:
    found = {}
    for module, name in _SWITCHES:
        function = getattr(module, name, None)  # not every system has every signal function
        if function is not None:
            found[getattr(function, "__code__", function)] = f"{module.__name__}.{name}"
    return found


# By the code of a function written in Python, or by the function in C itself.
ESCAPES = _named_switches()
