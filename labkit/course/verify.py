"""`labkit build --check` and `labkit verify`: is everything stored as it should be?

The check executes nothing; `verify` then has pytest --nbval run every cell again, with the options
in pyproject.toml, and compare. A lesson over its minute is named, not refused: a time is a property
of the machine at hand.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from labkit.course import CourseError, claims, links, notebook, rules, solutions
from labkit.course.catalogue import read_lessons, sources
from labkit.course.config import Config
from labkit.course.execute import environment
from labkit.course.lesson import TWINS, Lesson

LESSON_SECONDS = 60


def check(config: Config, wanted: str | None = None) -> int:
    """Print a sentence for whatever is not as it must be. 1 if there is any."""
    lessons = read_lessons(sources(config, wanted), config)
    found = refusals(config, lessons, everything=wanted is None)
    print("\n".join(found) or "Every notebook is what its source generates, and every rule holds.")
    return 1 if found else 0


def refusals(config: Config, lessons: Sequence[Lesson], everything: bool = False) -> list[str]:
    """Every rule on the given lessons; with `everything`, the pages between lessons as well."""
    found: list[str] = []
    for lesson in lessons:
        found += out_of_sync(lesson, config)
        for path in filter(Path.is_file, map(lesson.notebook, TWINS)):
            broken = rules.examine(path, config)
            # What is wrong with the learner's notebook is said once, not for its twin as well.
            found += [s for s in broken if s.replace("/solutions/", "/", 1) not in found]
    if everything:
        expected = {lesson.notebook(twin) for lesson in lessons for twin in TWINS}
        for path in sorted(config.chapters.glob("**/*.ipynb")):
            if path not in expected and ".ipynb_checkpoints" not in path.parts:
                do = "write one, or delete it"
                found.append(f"{config.relative(path)} has no source in source/: {do}.")
        found += [sentence for page in links.pages(config) for sentence in links.dead(page, config)]
    page = config.course_root() / "CLAIMS.md"
    try:
        if not page.is_file() or page.read_bytes() != claims.page(config):
            found.append("CLAIMS.md is not what the lessons say: run `labkit build`.")
    except CourseError as error:
        found.append(str(error))
    return found


def out_of_sync(lesson: Lesson, config: Config) -> list[str]:
    """A sentence for each of the lesson's notebooks that is not what its source generates."""
    found = []
    for twin in TWINS:
        path = lesson.notebook(twin)
        name = config.relative(path)
        try:
            stored = notebook.cleared(notebook.read(path, name)) if path.is_file() else None
        except CourseError:
            continue  # the rules name it
        if stored != notebook.generate(lesson, twin, config):
            what = "is not what its source generates" if stored else "is missing"
            found.append(f"{name} {what}: run `labkit build {lesson.name}`.")
    path = solutions.path(lesson, config)
    if path is not None:
        stored = path.read_bytes() if path.is_file() else b""
        if stored != solutions.page(lesson, config):
            name, do = config.relative(path), f"run `labkit build {lesson.name}`"
            found.append(f"{name} is not what the lesson's source says: {do}.")
    return found


def verify(config: Config, wanted: str | None = None) -> int:
    """Check and run all lessons, or those of a chapter. 0 if all is well."""
    well = check(config, wanted) == 0
    lessons = read_lessons(sources(config, wanted), config)
    paths = [path for lesson in lessons for path in map(lesson.notebook, TWINS) if path.is_file()]
    print(f"Running {len(paths)} notebooks and comparing what they print:", flush=True)
    total = 0.0
    for name in map(config.relative, paths):
        passed, taken = run(config, name)
        slow = f"  over {LESSON_SECONDS} s" if taken > LESSON_SECONDS else ""
        print(f"{taken:6.1f} s  {name}{slow}", flush=True)
        well &= passed
        total += taken
    verdict = "all is as stored" if well else "not all is as it should be"
    print(f"{len(paths)} notebooks ran in {total:.0f} s: {verdict}.")
    return 0 if well else 1


def run(config: Config, name: str) -> tuple[bool, float]:
    """(does it pass pytest --nbval?, seconds); pytest itself prints what differs."""
    start = time.perf_counter()
    with environment() as env:
        command = [sys.executable, "-m", "pytest", "--quiet", "--nbval", name]
        done = subprocess.run(command, cwd=config.course_root(), env=env)
    return done.returncode == 0, time.perf_counter() - start
