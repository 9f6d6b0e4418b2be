"""`labkit build`: from each source its two executed notebooks, and CLAIMS.md from all of them.

A lesson is executed only when the code of one of its notebooks changed (or with --force). New prose
around the same code keeps the outputs, for they are still what that code prints. Both notebooks are
executed before one is written, so a lesson that fails leaves the files as they were.
"""

import time
from pathlib import Path

from labkit.course import CourseError, claims, notebook, rules, solutions, verify
from labkit.course.catalogue import read_lessons, sources
from labkit.course.config import Config
from labkit.course.execute import execute
from labkit.course.lesson import TWINS, Lesson
from labkit.course.notebook import code_cells, source_of


def build(
    config: Config, wanted: str | None = None, force: bool = False, check: bool = False
) -> int:
    """Build the wanted lessons (default: all) and CLAIMS.md; then say what a check would refuse."""
    if check:
        return verify.check(config, wanted)
    lessons = read_lessons(sources(config, wanted), config)
    if not lessons:
        print("There are no lessons yet: no chapters/*/source/*.py.")
    page = claims.page(config)  # first: what is malformed stops the build before anything runs
    for lesson in lessons:
        write_solutions(lesson, config)
    for lesson in lessons:
        start = time.perf_counter()
        what = "executed" if build_lesson(lesson, config, force) else "same code, outputs kept"
        print(f"{lesson.name}: {what}, {time.perf_counter() - start:.1f} s", flush=True)
    if notebook.write(config.course_root() / "CLAIMS.md", page):
        print("CLAIMS.md: written")
    found = verify.refusals(config, lessons)
    for sentence in found:
        print(f"to do: {sentence}")
    print(f"{len(lessons)} lessons, {len(found)} to do.")
    return 0


def write_solutions(lesson: Lesson, config: Config) -> None:
    """Bring the module of the lesson's solutions up to date; its exercises hand them on."""
    path = solutions.path(lesson, config)
    if path is not None and notebook.write(path, solutions.page(lesson, config)):
        print(f"{config.relative(path)}: written")


def build_lesson(lesson: Lesson, config: Config, force: bool = False) -> bool:
    """Bring both notebooks of a lesson up to date. True if one had to be executed.

    Raises CourseError, having written nothing.
    """
    fresh: dict[Path, dict] = {}
    executed = False
    for twin in TWINS:
        path = lesson.notebook(twin)
        name, made = config.relative(path), notebook.generate(lesson, twin, config)
        kept = None if force else _with_stored_outputs(made, path, name)
        fresh[path] = kept or execute(made, path.parent, name)
        executed |= kept is None
    for path, made in fresh.items():
        notebook.write(path, notebook.to_bytes(notebook.sealed(made)))
    return executed


def _with_stored_outputs(made: dict, path: Path, name: str) -> dict | None:
    """`made` with what the notebook at `path` stores; None if that is not what running it gives.

    The code must be the same, and have run to its end without error or warning or edit by hand.
    """
    try:
        stored = notebook.read(path, name)
    except FileNotFoundError:
        return None
    except CourseError as error:
        print(f"{error} It is built anew.")
        return None
    code, ran = code_cells(made), code_cells(stored)
    kept = (rules.counts, rules.outputs, rules.untouched)
    broken = any([*rule(stored, name)] for rule in kept)
    if broken or [*map(source_of, code)] != [*map(source_of, ran)]:
        return None
    for cell, old in zip(code, ran, strict=True):
        cell |= {key: old[key] for key in ("execution_count", "outputs")}
    return made
