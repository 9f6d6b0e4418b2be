"""The process in which a student's statements run: it keeps their answers, and calls them.

It is started in a closed room (closed_room.py) in which no answer of the course can be read. Here
`check` keeps what it is given, and says nothing. What this process writes is not trusted: it comes
to others as data.

    {"cells": [[number, text, [lines of statements to run]]], "given": {"name": text}}
        -> {"at": [cell, line]} before each statement, then {"failures": [...], "answers": {...}}
    {"run": [id, place], ...}  -> {"runs": [...], ...}: the answer, called on every case
    {"pickle": [id, place]}    -> {"pickle": text}: the answer, for a closed process of its own
"""

import ast
import base64
import contextlib
import inspect
import linecache
import os
import pickle
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, BinaryIO

from labkit.course.grading import data

MOST = 5  # answers to one exercise that are kept: the last ones
SOURCE = 20_000  # characters of an answer's source that are sent

Answers = dict[str, list]


def main() -> None:
    """Serve whoever started this process, until there is no more to do."""
    requests, replies = take_pipes()
    answers: Answers = {}
    own = program(answers)
    while True:
        try:
            request = data.receive(requests)
        except data.Broken:
            return
        if "cells" in request:
            failures = run_cells(request, own, replies)
            described = {id: [describe(one) for one in kept] for id, kept in answers.items()}
            data.send(replies, {"failures": failures, "answers": described})
        elif "run" in request:
            data.send(replies, call(chosen(answers, request["run"]), request))
        else:
            data.send(replies, pickled(chosen(answers, request["pickle"])))


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Requests and replies, away from the numbers that a student's code reads and prints to."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    return requests, replies


def program(answers: Answers) -> dict[str, Any]:
    """The notebook's own names; labkit's four functions are those below."""
    import labkit

    def check(id: object, f: object = None) -> object:
        """Keeps the answer, and hands it on."""
        answers.setdefault(str(id), []).append(f)
        del answers[str(id)][:-MOST]
        return f

    def nothing(*_: object, **__: object) -> None:
        """What a prediction, a hint or a quiz says is read from the notebook's text."""

    labkit.check = check
    labkit.predict = labkit.hint = labkit.quiz = nothing
    labkit.last_right = lambda id: SimpleNamespace(value=answers[id][-1], whose="yours")
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    return vars(module)


# Running cells.


def run_cells(request: dict, own: dict[str, Any], replies: BinaryIO) -> list:
    """Runs the statements that are asked for, one by one; what each failure was, and where."""
    failures = []
    this = os.getpid()
    for name, text in request["given"].items():
        _remember(f"<our {name}>", text)
        exec(compile(text, f"<our {name}>", "exec"), own)
    for number, text, lines in request["cells"]:
        name = f"<cell {number}>"
        _remember(name, text)
        for statement in ast.parse(text).body:
            if statement.lineno not in lines:
                continue
            data.send(replies, {"at": [number, statement.lineno]})
            code = compile(ast.Module([statement], []), name, "exec")
            try:
                exec(code, own)
            except BaseException as error:  # whatever a student's statement raises
                failures.append([number, statement.lineno, data.written_error(error)])
            if os.getpid() != this:  # a copy that a student's statement has made
                os._exit(0)
    return failures


def _remember(name: str, text: str) -> None:
    """So that `inspect` and messages find the lines of a cell, as in a notebook."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


# What an answer is, in words that another process can use.


def describe(answer: object) -> dict:
    """The form of an answer, and of a text or a kernel all of it."""
    if type(answer) is str:
        return {"form": "text", "text": answer[: data.TEXT]}
    kind = type(answer)
    found = {"form": "value", "module": kind.__module__, "type": kind.__name__}
    with contextlib.suppress(Exception):
        if answer is None:
            found["form"] = "none"
        elif isinstance(answer, type):
            found |= {"form": "class", "name": answer.__name__}
        elif hasattr(answer, "py_func"):
            from labkit.course.grading.kernels import described

            found |= {"form": "kernel", "kernel": described(answer)}
        elif inspect.iscoroutinefunction(answer):
            found["form"] = "coroutine"
        elif callable(answer):
            found |= {"form": "function", "parameters": _parameters(answer)}
        found["source"] = inspect.getsource(getattr(answer, "py_func", answer))[:SOURCE]
    return found


def _parameters(answer: object) -> list | None:
    """Name, kind and whether there is a default, of each parameter; None where nobody knows."""
    try:
        found = inspect.signature(answer).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[one.name, int(one.kind), one.default is not one.empty] for one in found]


def chosen(answers: Answers, which: list) -> object:
    """The answer to an exercise at this place."""
    id, place = which
    return answers[id][place]


def pickled(answer: object) -> dict:
    """An answer for another closed process, or why it cannot go there."""
    import cloudpickle

    try:
        return {"pickle": base64.b64encode(cloudpickle.dumps(answer)).decode()}
    except Exception as error:
        return {"pickle": None, "why": data.written_error(error)}


# Calling an answer.


def call(answer: object, request: dict) -> dict:
    """Calls the answer on every case, under clock and guard; what happened, as data.

    The cases come from the judge, and what is expected of them does not.
    """
    from labkit.checks.items import Case
    from labkit.checks.watch import watch_cases

    cases = [Case(*one) for one in pickle.loads(base64.b64decode(request["cases"]))]
    asked = SimpleNamespace(
        forbidden=tuple(request["forbidden"]),
        adapter=None,
        plain_python=False,
        memory=True if request["weighed"] else None,
        oracle=None,
        fallback=None,
    )
    kept: list[tuple] = []

    def keeps(*args: Any) -> object:
        """The answer, for a judge who looks at the arguments afterwards."""
        kept.append(args)
        return answer(*args)

    run = watch_cases(
        asked,
        keeps if request.get("whole") else answer,
        cases,
        request["seconds"],
        tuple(request["answers"]),
        frozenset(),
    )
    return {
        "after": data.written(kept),
        "runs": [_as_data(one) for one in run.cases],
        "hit": _hit(run.hit),
        "expired": run.expired,
        "idle": run.idle,
        "left": run.left,
    }


def _as_data(run: Any) -> dict:
    return {
        "returned": data.written(run.returned),
        "error": data.written_error(run.error),
        "line": _line(run.line),
        "changed": [[place, data.written(after)] for place, _, after in run.changed],
        "prints": run.prints,
        "overwritten": run.overwritten,
        "held": run.held,
    }


def _line(line: Any) -> list | None:
    return None if line is None else [line.function, line.number, line.text]


def _hit(hit: Any) -> list | None:
    return None if hit is None else [hit.kind, hit.name, _line(hit.line), hit.late]


if __name__ == "__main__":
    main()
