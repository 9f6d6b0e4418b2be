"""The answers of one submission, kept and called in a student's process (student_process.py)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from labkit.course.grading.answer_keys import Course, defined
from labkit.course.grading.closed_process import ClosedProcess, Ended, Room
from labkit.course.grading.slices import Statement, needed
from labkit.course.grading.submissions import Submission

STUDENT = "labkit.course.grading.student_process"
TRIES = 3  # times that the cells are run: without the statement that the last one ended at


@dataclass(frozen=True)
class Seconds:
    """Processor time that a reply may take: far more than is needed, to end what hangs."""

    cells: float = 60.0
    answer: float = 300.0


class Answers:
    """The answers of one submission, in a process that keeps them and calls them.

    only    the one exercise that is of interest; None: all
    given   by the id of an exercise, the text that takes the place of its answer
    """

    def __init__(
        self,
        room: Room,
        course: Course,
        user: int,
        seconds: Seconds,
        one: Submission,
        only: str | None = None,
        given: dict[str, str] | None = None,
    ) -> None:
        self._start: Callable[[], ClosedProcess] = lambda: ClosedProcess(
            room, STUDENT, user + 1, course.hidden
        )
        self._one, self._only, self._given = one, only, given or {}
        self._seconds = seconds
        self._process: ClosedProcess | None = None
        self._described: dict[str, list[dict]] | None = None
        self._left_out: dict[tuple[int, int], str] = {}  # statements at which a run has ended
        self._failures: list[tuple[tuple[int, int], str]] = []

    def __enter__(self) -> "Answers":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def of(self, id: str) -> list[dict]:
        """The answers to an exercise, as far as another process may know them."""
        if self._described is None:
            self._run()
        return self._described.get(id, [])

    def why_none(self, id: str) -> str:
        """Why there is no answer: what went wrong where it should have come from."""
        for statement in self._chain([id]):
            place = (statement.cell, statement.line)
            if place in self._left_out:
                return f"Cell {place[0]}, line {place[1]}: its process {self._left_out[place]}."
            for failed, said in self._failures:
                if failed == place:
                    return f"Cell {place[0]}, line {place[1]} fails: {said}"
        return "The notebook has no answer to it."

    def ask(self, id: str, place: int, asked: dict) -> dict:
        """What the judge asks of an answer; Ended where its process has ended."""
        if self._process is None:  # it ended at an earlier exercise
            self._run()
        kind = "pickle" if "pickle" in asked else "run"
        try:
            return self._process.ask(asked | {kind: [id, place]}, self._seconds.answer)
        except Ended:
            self._close()
            raise

    def _chain(self, ids: Iterable[str]) -> list[Statement]:
        found = self._one.statements
        wanted = [one for one in found if set(one.checks) & set(ids)]
        return needed(found, wanted)

    def _run(self) -> None:
        """Runs what the answers need, again without a statement at which the process has ended."""
        ids = [self._only] if self._only else self._one.ids
        chain = [one for one in self._chain(ids) if not _is_given(one, self._given)]
        texts = dict(self._one.cells)
        reply: dict = {}
        for _ in range(TRIES):
            self._close()
            cells = [
                [number, texts[number], lines]
                for number, lines in _lines_by_cell(chain, self._left_out)
            ]
            self._process = self._start()
            try:
                reply = self._process.ask(
                    {"cells": cells, "given": self._given}, self._seconds.cells
                )
                break
            except Ended as error:
                at = self._process.at
                self._close()
                place = next((p for p in _places(chain) if list(p) == at), None)
                if place is None:  # it told of none, or of one that there is not
                    break
                self._left_out[place] = str(error)
        self._described = _read_answers(reply.get("answers"))
        self._failures = _read_failures(reply.get("failures"))


def _places(chain: list[Statement]) -> Iterator[tuple[int, int]]:
    for one in chain:
        yield one.cell, one.line


def _read_answers(given: object) -> dict[str, list[dict]]:
    """The descriptions in what a student's process has sent, whatever that is."""
    found = {}
    for id, several in given.items() if isinstance(given, dict) else ():
        described = several if isinstance(several, list) else []
        found[id] = [one for one in described if isinstance(one, dict) and "form" in one]
    return found


def _read_failures(given: object) -> list[tuple[tuple[int, int], str]]:
    """Cell, line and error of each statement that failed, likewise."""
    found = []
    for one in given if isinstance(given, list) else ():
        with suppress(TypeError, ValueError, KeyError):
            cell, line, error = one
            found.append(((int(cell), int(line)), f"{error['name']}: {error['text']}"[:200]))
    return found


def _is_given(one: Statement, given: dict[str, str]) -> bool:
    """Whether a statement makes an answer in whose place another one is."""
    if set(one.checks) & given.keys():
        return True
    names = {name for text in given.values() for name in defined(text)}
    return bool(one.binds & names)


def _lines_by_cell(
    chain: list[Statement], left_out: dict[tuple[int, int], str]
) -> Iterator[tuple[int, list[int]]]:
    cells: dict[int, list[int]] = {}
    for one in chain:
        if (one.cell, one.line) not in left_out:
            cells.setdefault(one.cell, []).append(one.line)
    yield from cells.items()
