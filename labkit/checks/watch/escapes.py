"""The functions that a learner's code may not call in a check, by what they would do to it.

Some switch off the profiler or the clock, or stay switched on behind the check. Others end or
double the process, or close what belongs to it: in a notebook's kernel nothing would be left to say
so. A rank is a process of its own, which may end.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from types import CodeType

_SWITCHES = (
    *((sys, name) for name in ("setprofile", "getprofile", "settrace", "setrecursionlimit")),
    *((threading, name) for name in ("setprofile", "settrace")),
    *((signal, name) for name in ("signal", "setitimer", "alarm", "pthread_sigmask")),
)
_ENDS = (
    *((os, name) for name in ("_exit", "abort", "kill", "killpg", "fork", "forkpty")),
    *((os, f"exec{kind}") for kind in ("v", "ve", "l", "le", "lp", "lpe", "vp", "vpe")),
    *((os, name) for name in ("close", "closerange", "dup2")),
    *((signal, name) for name in ("raise_signal", "pthread_kill")),
)

Escapes = dict[CodeType | Callable, str]


class Escape(BaseException):
    """Raised in a function that is about to call one of these."""


def _named(functions: Iterable[tuple]) -> Escapes:
    found = {}
    for module, name in functions:
        function = getattr(module, name, None)  # not every system has every one of them
        if function is not None:
            found[getattr(function, "__code__", function)] = f"{module.__name__}.{name}"
    return found


# By the code of a function written in Python, or by the function in C itself.
IN_A_RANK = _named(_SWITCHES)
IN_THE_KERNEL = _named(_SWITCHES + _ENDS)
