"""Runs modules of tests in this process, and writes a line of JSON for each test.

    python -m kernel_tests.runner FD SECONDS    [[module, [tests to leave out]], ...] on stdin

A line {"begin": test} comes before each test: if the process dies, it was in that one. A test that
needs more seconds of a processor than given ends the process.
"""

import importlib
import importlib.util
import json
import os
import resource
import sys
import traceback
import unittest
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from kernel_tests import stand_in
from kernel_tests.used import Used
from kernel_tests.written import written


class Result(unittest.TestResult):
    """All that went wrong in a test, subtests included: (kind, exception or reason)."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, object]] = []

    def addError(self, test: object, err: tuple) -> None:
        self.found.append(("error", err[1]))

    addFailure = addError

    def addSubTest(self, test: object, subtest: object, err: tuple | None) -> None:
        self.found += [("error", err[1])] if err else []

    def addSkip(self, test: object, reason: str) -> None:
        self.found.append(("skip", reason))

    def addExpectedFailure(self, test: object, err: tuple) -> None:
        self.found.append(("expected failure", err[1]))

    def addUnexpectedSuccess(self, test: object) -> None:
        self.found.append(("unexpected success", "fails with Numba, passes here"))


def tests(module: ModuleType) -> Iterator[tuple[str, unittest.TestCase]]:
    """(name, test) for each test of a module."""
    loader = unittest.TestLoader()
    for name, thing in [*vars(module).items()]:
        if getattr(thing, "__module__", "") != module.__name__:
            continue
        if isinstance(thing, type) and issubclass(thing, unittest.TestCase):
            for method in loader.getTestCaseNames(thing):
                yield f"{name}.{method}", thing(method)
        elif name.startswith("test") and callable(thing):
            yield name, unittest.FunctionTestCase(thing)


def described(kind: str, thing: object) -> dict:
    """A line's entry for an exception, or for the reason of a skipped test."""
    if not isinstance(thing, BaseException):
        return {"kind": kind, "text": str(thing)}
    classes = [one.__name__ for one in type(thing).__mro__]
    files = [frame.filename for frame in traceback.extract_tb(thing.__traceback__)]
    return {"kind": kind, "text": str(thing)[:3000], "classes": classes, "file": files[-1]}


def run_test(test: unittest.TestCase, seconds: int) -> dict:
    """What is known of a test after it has run."""
    Used.reset()
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    result = Result()
    unittest.TestSuite([test]).run(result)
    return {"found": [described(*one) for one in result.found]} | Used.as_dict()


def run_module(name: str, leave_out: set[str], seconds: int, write: Callable[[dict], None]) -> None:
    """Run a module's tests, and write a line before and after each."""
    Used.reset()
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # a module may skip itself, with an exception that is no Error
        found = {"found": [described("error", error)]} | Used.as_dict()
        path = Path(importlib.util.find_spec(name).origin)
        for test in set(written(path)) - leave_out:
            write({"module": name, "test": test} | found)
        return
    for test, case in tests(module):
        if test not in leave_out:
            write({"module": name, "begin": test})
            write({"module": name, "test": test} | run_test(case, seconds))


def main() -> None:
    out, seconds = os.fdopen(int(sys.argv[1]), "w", buffering=1), int(sys.argv[2])
    order = json.load(sys.stdin)
    warnings.simplefilter("ignore")
    stand_in.install()
    for name, leave_out in order:
        run_module(name, set(leave_out), seconds, lambda line: out.write(json.dumps(line) + "\n"))
        out.write(json.dumps({"module": name, "end": True}) + "\n")


if __name__ == "__main__":
    main()
