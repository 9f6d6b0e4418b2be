"""`labkit grade DIR`: a verdict for each exercise of each notebook in a folder.

Beside DIR lies DIR-grades: grades.csv, grades.html, and a file for each submission that is done, so
that an interrupted grading goes on where it was. A submission is graded anew when its file, its
lesson or the course has changed.
"""

import hashlib
import json
import os
import queue
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

from labkit.checks.lesson_files import Texts, index, lessons_of
from labkit.course import CourseError
from labkit.course.catalogue import Course as Catalogue
from labkit.course.config import Config
from labkit.course.folders import module_of
from labkit.course.grading.answer_keys import Course, course_of
from labkit.course.grading.answers import Seconds
from labkit.course.grading.closed_process import Limits
from labkit.course.grading.grading import Grader
from labkit.course.grading.report import WORDS, Graded, as_csv, as_html
from labkit.course.grading.rooms import lesson_folders, room
from labkit.course.grading.submissions import (
    Submission,
    digest,
    free_answers,
    guesses,
    lesson_of,
    letters,
    named,
    submissions,
)
from labkit.course.notebook import Notebook
from labkit.course.source.lesson import Lesson
from labkit.files import write_whole

# Numbers of users for rooms, where the grader is root: each grading has some of its own, since the
# system counts a user's processes in all rooms together.
USERS, OF_A_GRADING, GRADINGS = 61_000, 16, 240
OPEN = (
    "This grading was not protected: the students' code ran as an ordinary program, which can read "
    "and change files of yours, and reach the network."
)


def grade(
    config: Config,
    folder: str,
    out: str | None = None,
    lesson: str | None = None,
    variant: str | None = None,
    jobs: int = 0,
    protected: bool = True,
    limits: Limits | None = None,
    seconds: Seconds | None = None,
) -> int:
    """Grade the notebooks of a folder, and write what was found into `out`.

    lesson      the one that was to be handed in; default: each notebook's own
    variant     the name that the handout was made with (`labkit handout --seed`)
    jobs        submissions at a time; default: one for each processor
    protected   False: without closed rooms, for systems that have none

    Raises CourseError where nothing can be graded.
    """
    place = Path(folder).resolve()
    found = submissions(place)
    kept = Path(out).resolve() if out else place.with_name(f"{place.name}-grades")
    if kept == place or kept.is_relative_to(place):
        raise CourseError(f"{kept} lies in the folder of the submissions: name another --out.")
    kept.mkdir(mode=0o700, parents=True, exist_ok=True)  # grades are nobody else's
    work = Grading(config, kept, lesson, variant, protected, limits, seconds or Seconds())
    done = work.all(found, jobs or os.cpu_count() or 1)
    title = f"Grades of {place.name}"
    write_whole(kept / "grades.csv", as_csv(done))
    write_whole(kept / "grades.html", as_html(done, title, work.said))
    print(summary(done))
    print(f"{kept}: grades.csv and grades.html.")
    return 0


def summary(done: Sequence[Graded]) -> str:
    """How many submissions there are, and how many exercises have each verdict."""
    words = [verdict.word for one in done for verdict in one.verdicts]
    counts = [f"{words.count(word)} {word}" for word in WORDS if word in words]
    left = sum(not one.verdicts for one in done)
    text = f"{len(done)} submission{'' if len(done) == 1 else 's'}: {', '.join(counts) or 'none'}"
    return f"{text}; {left} not graded." if left else f"{text}."


def printable(name: str) -> str:
    """A student's name of a file for the terminal, which it can neither steer nor stop."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in name)


class Grading:
    """One call of `labkit grade`."""

    def __init__(
        self,
        config: Config,
        out: Path,
        lesson: str | None,
        variant: str | None,
        protected: bool,
        limits: Limits | None,
        seconds: Seconds,
    ) -> None:
        every = Catalogue(config)
        self._lessons = {module_of(one.path): one for one in every.lessons()}
        named = every.lessons(lesson) if lesson else []
        if len(named) > 1:
            raise CourseError(f"{lesson} are several lessons: name the one that was handed in.")
        self._asked = module_of(named[0].path) if named else None
        self._config, self._out, self._variant = config, out, variant
        self._room = room(out / "room", protected, limits)
        self._seconds = seconds
        self._seed = _seed(out)
        self._version = version()
        self.said = [] if protected else [OPEN]

    def all(self, found: Sequence[Submission], jobs: int) -> list[Graded]:
        """Every submission, in its order; `jobs` of them at a time."""
        slots: queue.Queue[int] = queue.Queue()
        first = USERS + OF_A_GRADING * (os.getpid() % GRADINGS)
        for slot in range(jobs):
            slots.put(first + 2 * slot)

        def graded(one: Submission) -> Graded:
            user = slots.get()
            try:
                return self.one(one, user)
            finally:
                slots.put(user)

        with ThreadPoolExecutor(jobs) as pool:
            done = list(pool.map(graded, found))
        return _with_twins_noted(done)

    def one(self, one: Submission, user: int) -> Graded:
        """One submission: from the state, if it was graded before; else graded now."""
        name = self._lesson_name(one)
        key = digest([one.place, one.sha256, one.problem, name, self._seed, self._version])
        file = self._out / "state" / f"{key}.json"
        try:
            return Graded.from_json(json.loads(file.read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            pass
        try:
            graded = self._graded(one, name, user)
        except CourseError:
            raise
        except Exception as error:  # the others are graded all the same; this one next time again
            said = f"Its grading has failed ({type(error).__name__}: {error})."
            return Graded(one.student, one.place, notes=[said])
        write_whole(file, json.dumps(graded.as_json(), indent=1).encode())
        print(f"{printable(one.place)}: {summary([graded])}", flush=True)
        return graded

    def _lesson_name(self, one: Submission) -> str:
        if one.problem:
            return ""
        lessons = {name: ids for room in index().values() for name, ids in room.items()}
        return lesson_of(named(one), lessons)

    def _graded(self, one: Submission, name: str, user: int) -> Graded:
        empty = Graded(one.student, one.place)
        if one.problem:
            return replace(empty, notes=[one.problem])
        if not name or name not in self._lessons:
            said = "No exercise of the course is in it, so nobody knows which lesson it is."
            return replace(empty, notes=[said, *one.notes])
        lesson = self._lessons[name]
        if self._asked and name != self._asked:
            asked = self._lessons[self._asked].name
            said = f"This is of another lesson, {lesson.name}; {asked} was to be handed in."
            return replace(empty, lesson=lesson.name, notes=[said])
        return self._of_lesson(one, name, lesson, user)

    def _of_lesson(self, one: Submission, name: str, lesson: Lesson, user: int) -> Graded:
        course = self._course(name, lesson)
        ours = self._ours(lesson)
        guessed, chosen = guesses(one), letters(one)
        grader = Grader(self._room, course, self._seed, user, self._seconds)
        try:
            verdicts = grader.verdicts(one)
            known = grader.items({"quizzes": chosen, "predictions": guessed})
        finally:
            grader.close()
        units = {id: (item or {}).get("unit", "") for id, item in known["predictions"].items()}
        return Graded(
            one.student,
            one.place,
            lesson.name,
            one.variant,
            verdicts,
            [[id, number, units.get(id, "")] for id, number in guessed.items()],
            [[id, letter, known["quizzes"].get(id)] for id, letter in chosen.items()],
            free_answers(one, ours),
            [*one.notes, *self._notes(one, name, ours)],
        )

    def _notes(self, one: Submission, name: str, ours: Notebook) -> list[str]:
        """What a teacher should know of a notebook, beside its verdicts."""
        found = []
        theirs = one.notebook.course_metadata.get("source_sha256")
        if theirs != ours.course_metadata.get("source_sha256"):
            found.append("The notebook is of another version of the lesson than is graded here.")
        if self._variant is not None and one.variant != self._variant:
            given = repr(one.variant) if one.variant else "none"
            found.append(f"Its variant is {given}; {self._variant!r} was to be handed in.")
        known = {id for lessons in index().values() for ids in lessons.values() for id in ids}
        for id in one.ids:
            if id not in known:
                found.append(f"{id} is no exercise of the course today.")
        repeated = [id for id in one.ids if sum(id in s.checks for s in one.statements) > 1]
        for id in repeated:
            found.append(f"{id} is checked several times: the last right answer counts.")
        return found

    @cache  # noqa: B019  one Grading lives as long as its command
    def _course(self, name: str, lesson: Lesson) -> Course:
        room = name.split(".")[1]
        (files,) = (one for one in lessons_of(room) if one.module == f"{name}.exercises")
        asked = {item.id for item in files.items() if isinstance(item, Texts)}
        exercises = [id for id in index()[room][name] if id in asked]
        return course_of(lesson.path.parent, exercises, lesson_folders())

    @cache  # noqa: B019
    def _ours(self, lesson: Lesson) -> Notebook:
        stored = lesson.notebook("learner")
        return Notebook.read(stored, self._config.relative(stored))


def _seed(out: Path) -> str:
    """The seed of the cases, drawn once for a folder of grades: the same verdicts at each call."""
    file = out / "seed.txt"
    if not file.is_file():
        write_whole(file, secrets.token_hex(8).encode())
        file.chmod(0o600)
    return file.read_text("utf-8").strip()


def version() -> str:
    """The digest of the course's code: what is graded with another one is graded anew."""
    folders = [Path(__file__).parents[2], *lesson_folders()]
    found = hashlib.sha256()
    for folder in folders:
        for file in sorted([*folder.rglob("*.py"), *folder.rglob("*.toml")]):
            found.update(f"{file.relative_to(folder)} ".encode() + file.read_bytes())
    return found.hexdigest()


def _with_twins_noted(done: Sequence[Graded]) -> list[Graded]:
    """Submissions of the same lesson under the same name are noted: a person decides."""
    names = [(one.student, one.lesson) for one in done]
    found = []
    for one, name in zip(done, names, strict=True):
        if names.count(name) > 1:
            said = "There are several submissions of this name: a person decides which counts."
            one = replace(one, notes=[*one.notes, said])
        found.append(one)
    return found
