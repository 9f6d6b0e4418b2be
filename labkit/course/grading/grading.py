"""One submission's verdicts: its statements run in one closed room, and are judged from another.

This process only carries messages between the two. It runs no code of a student's, and of what the
student's room sends it reads JSON alone.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from labkit.course.grading.closed_process import ClosedProcess, Ended, Room
from labkit.course.grading.slices import Statement, needed, statements
from labkit.course.grading.submissions import Submission

STUDENT = "labkit.course.grading.student_process"
JUDGE = "labkit.course.grading.judge_process"
MOST_CALLS = 20_000  # of one answer
TRIES = 3  # times that the cells are run: without the statement that the last one ended at
NOT_RIGHT = ("Look again", "Not yet", "Stopped")
ANSWERS = ("exercises.py", "solutions.py", "planted.py", "lesson.py", "texts.toml", "classes.toml")
ANSWER_FOLDERS = ("exercises", "wrong")


@dataclass(frozen=True)
class Verdict:
    """What is said of one exercise.

    word     "Right", "Look again", "Not yet", "Not judged"; "Stopped": its process was ended;
             "No answer": the notebook has none
    cause    a sentence: the likely cause, or what is wrong
    text     all that `check` says
    way      where its code ran (judge_process.py)
    """

    exercise: str
    word: str
    cause: str = ""
    text: str = ""
    way: str = ""


class Solution(NamedTuple):
    """The course's own answer to an exercise: its name, and its text with all that it uses."""

    name: str
    text: str


@dataclass(frozen=True)
class Course:
    """What grading knows of a lesson.

    exercises   ids, in their order
    solutions   of each exercise, the course's own answer
    hidden      files and folders with answers, which a student's room must not show
    """

    exercises: list[str]
    solutions: dict[str, Solution] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Seconds:
    """Processor time that a reply may take: far more than is needed, to end what hangs."""

    cells: float = 60.0
    answer: float = 300.0


class Grader:
    """Grades one submission after the other; `close` ends what it has started.

    seed   of the cases: a secret until the students' answers are handed in
    user   the first of the two numbers of users that its rooms have, where this process is root
    """

    def __init__(self, room: Room, course: Course, seed: str, user: int, seconds: Seconds) -> None:
        self._room, self._course, self._seed = room, course, seed
        self._user, self._seconds = user, seconds
        self._judge: ClosedProcess | None = None

    def close(self) -> None:
        """End the judge's process."""
        if self._judge is not None:
            self._judge.close()
            self._judge = None

    def items(self, asked: dict) -> dict:
        """What the course says of predictions and quizzes; nothing where it cannot be asked."""
        try:
            return self._ask_judge({"items": asked})
        except Ended:
            self.close()
            return {"quizzes": {}, "predictions": {}}

    def verdicts(self, one: Submission) -> list[Verdict]:
        """A verdict for each exercise of the lesson."""
        found = {}
        with Answers(self._room, self._course, self._user, self._seconds, one) as answers:
            for id in self._course.exercises:
                found[id] = self._verdict(id, answers)
        for id in self._course.exercises:
            if found[id].word in NOT_RIGHT:
                found[id] = self._with_our_earlier(id, one, found)
        return list(found.values())

    def _verdict(self, id: str, answers: "Answers") -> Verdict:
        """The last answer counts; an earlier one that is right counts, as it does in progress."""
        described = answers.of(id)
        if not described:
            return Verdict(id, "No answer", answers.why_none(id))
        last = None
        for place in reversed(range(len(described))):
            verdict = self._judged(id, described[place], answers, place)
            last = last or verdict
            if verdict.word == "Right":
                return verdict
        return last

    def _judged(self, id: str, described: dict, answers: "Answers", place: int) -> Verdict:
        try:
            reply = self._ask_judge({"judge": id, "answer": described, "seed": self._seed})
            alone = False
            asked = 0
            while isinstance(reply.get("ask"), dict):
                asked += 1
                if asked > MOST_CALLS:
                    raise Ended("was called more often than any judge does")
                alone |= bool(reply.get("alone"))
                reply = self._ask_judge(answers.ask(id, place, reply["ask"]))
        except Ended as error:
            self.close()
            said = f"The process of this answer {error}."
            return Verdict(id, "Stopped", said, said)
        if alone:  # code of the student's may have run in it
            self.close()
        return Verdict(id, *(str(reply.get(key)) for key in ("word", "cause", "text", "way")))

    def _ask_judge(self, message: dict) -> dict:
        if self._judge is None:
            self._judge = ClosedProcess(self._room, JUDGE, self._user)
        return self._judge.ask(message, self._seconds.answer)

    def _may_be_given(self, other: str, id: str) -> bool:
        """Whether there is a text of ours for an exercise, and it has not the answer to this."""
        ours, own = self._course.solutions.get(other), self._course.solutions.get(id)
        return ours is not None and (own is None or own.name not in _defined(ours.text))

    def _with_our_earlier(self, id: str, one: Submission, found: dict[str, Verdict]) -> Verdict:
        """The verdict with the course's answers in the place of earlier ones that are not right.

        So `check` does it in a notebook. It needs a process of its own, since the course's answers
        can be read there: only this exercise is judged in it.
        """
        earlier = self._course.exercises[: self._course.exercises.index(id)]
        given = {
            other: self._course.solutions[other].text
            for other in uses(one, id, earlier)
            if found[other].word != "Right" and self._may_be_given(other, id)
        }
        if not given:
            return found[id]
        with Answers(
            self._room, self._course, self._user, self._seconds, one, only=id, given=given
        ) as answers:
            return self._verdict(id, answers)


def uses(one: Submission, id: str, earlier: Iterable[str]) -> list[str]:
    """The earlier exercises whose answers this one's answer uses by their names."""
    wanted = [statement for statement in one.statements if id in statement.checks]
    chain = needed(one.statements, wanted)
    checked = {other for statement in chain for other in statement.checks}
    return [other for other in earlier if other in checked]


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
    names = {name for text in given.values() for name in _defined(text)}
    return bool(one.binds & names)


def _defined(text: str) -> set[str]:
    """The functions and texts that a text defines."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    return found


def _lines_by_cell(
    chain: list[Statement], left_out: dict[tuple[int, int], str]
) -> Iterator[tuple[int, list[int]]]:
    cells: dict[int, list[int]] = {}
    for one in chain:
        if (one.cell, one.line) not in left_out:
            cells.setdefault(one.cell, []).append(one.line)
    yield from cells.items()


# What a lesson's grading needs of the course.


def course_of(lesson_folder: Path, exercises: list[str], every_folder: Iterable[Path]) -> Course:
    """The lesson's exercises, the texts of its solutions, and all that has answers."""
    hidden = []
    for folder in every_folder:
        hidden += [str(folder / name) for name in (*ANSWERS, *ANSWER_FOLDERS)]
        hidden += map(str, folder.glob("test_*.py"))
    text = (lesson_folder / "solutions.py").read_text("utf-8")
    return Course(exercises, solution_texts(text, exercises), hidden)


def solution_texts(text: str, exercises: Iterable[str]) -> dict[str, Solution]:
    """Of each exercise that a module of solutions answers, the text of this answer alone.

    The imports, and what it uses, go with it; what answers other exercises is among them only where
    it uses that.
    """
    found = statements(0, text)
    (table,) = (one.node.value for one in found if one.binds == {"SOLUTIONS"})
    names = {key.value: name.id for key, name in zip(table.keys, table.values, strict=True)}
    texts = {}
    for id in set(exercises) & names.keys():
        wanted = [one for one in found if names[id] in one.binds]
        text = "\n".join(ast.unparse(one.node) for one in needed(found, wanted))
        texts[id] = Solution(names[id], text)
    return texts
