"""`labkit build --check` and `labkit verify`: is everything stored as it should be?

The check executes nothing; `verify` then has pytest --nbval run every cell again, with the options
in pyproject.toml, and compare. A lesson over its minute is refused here as well: a time is a
property of the machine at hand, so no unit test asks for it.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from labkit.course import CourseError, claims, links, notebook, rules
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
        found += [
            f"{config.relative(path)} has no source in source/: write one, or delete it."
            for path in sorted(config.chapters.glob("**/*.ipynb"))
            if path not in expected and ".ipynb_checkpoints" not in path.parts
        ]
        for page in links.pages(config):
            found += links.dead(page, config)
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
    return found


def verify(config: Config, wanted: str | None = None) -> int:
    """Check and run all lessons, or those of a chapter. 0 if all is well."""
    well = check(config, wanted) == 0
    lessons = read_lessons(sources(config, wanted), config)
    paths = [path for lesson in lessons for path in map(lesson.notebook, TWINS) if path.is_file()]
    if not paths:
        print("There are no lessons to run.")
        return 0 if well else 1
    print(f"Running {len(paths)} notebooks and comparing what they print:", flush=True)
    passed, seconds = run(config, paths)
    for name, taken in seconds.items():
        print(f"{taken:6.1f} s  {name}" + f"  over {LESSON_SECONDS} s" * (taken > LESSON_SECONDS))
    well &= passed and len(seconds) == len(paths) and max(seconds.values()) <= LESSON_SECONDS
    verdict = "all is as stored" if well else "not all is as it should be"
    total = sum(seconds.values())
    print(f"{len(seconds)} of {len(paths)} notebooks ran in {total:.0f} s: {verdict}.")
    return 0 if well else 1


def run(config: Config, paths: Sequence[Path]) -> tuple[bool, dict[str, float]]:
    """(did pytest --nbval pass?, seconds per notebook); pytest itself prints what differs."""
    with environment() as env, tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [sys.executable, "-m", "pytest", "--quiet", "--nbval"]
        command += [f"--junitxml={report.name}", *map(config.relative, paths)]
        done = subprocess.run(command, cwd=config.course_root(), env=env)
        seconds: dict[str, float] = {}
        if report.read():  # empty when pytest could not even start
            for case in ElementTree.parse(report.name).iter("testcase"):
                name = "/".join(case.get("classname", "").split(".")[1:-1])
                seconds[name] = seconds.get(name, 0.0) + float(case.get("time", 0))
    return done.returncode == 0, seconds
