"""Calls with which a function could switch off the profiler or the clock of a check."""

import signal
import sys
import threading


class Escape(BaseException):
    """Raised in a function that is about to make such a call."""


_NAMES = {
    sys: ("setprofile", "getprofile", "settrace"),
    threading: ("setprofile",),
    signal: ("signal", "setitimer", "alarm", "pthread_sigmask"),
}
_FUNCTIONS = {
    getattr(module, name): f"{module.__name__}.{name}"
    for module, names in _NAMES.items()
    for name in names
    if hasattr(module, name)
}
CODES = {id(f.__code__): name for f, name in _FUNCTIONS.items() if hasattr(f, "__code__")}
BUILTINS = {f: name for f, name in _FUNCTIONS.items() if not hasattr(f, "__code__")}
