"""`labkit build --check` and `labkit verify`: is everything stored as it should be?

The check executes no cell; `verify` then has pytest --nbval run every cell again, with the options
in pyproject.toml, and compare. A lesson over its minute is named, not refused: a time is a property
of the machine at hand.
"""

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from labkit.course import CourseError, folders, items, kernel_files
from labkit.course.catalogue import Course
from labkit.course.config import Config
from labkit.course.execute import environment
from labkit.course.lesson_rules import links, rules, source_rules
from labkit.course.notebook import StoredNotebook, read_stored
from labkit.course.pages import claims, lesson_index, lesson_rows, measured, rules_to_keep, stubs
from labkit.course.source.draft import Draft, draft
from labkit.course.source.lesson import TWINS

LESSON_SECONDS = 60


def check(config: Config, wanted: str | None = None) -> int:
    """Print a sentence for whatever is not as it must be. 1 if there is any."""
    return _check(Course(config), wanted)


def _check(course: Course, wanted: str | None) -> int:
    drafts = [draft(lesson, course.config) for lesson in course.lessons(wanted)]
    found = refusals(drafts, course, everything=wanted is None)
    print("\n".join(found) or "Every notebook is what its source generates, and every rule holds.")
    return 1 if found else 0


def refusals(drafts: Sequence[Draft], course: Course, everything: bool = False) -> list[str]:
    """Every rule on the given lessons; with `everything`, the pages between lessons as well."""
    found: list[str] = []
    for one in drafts:
        # What is wrong with a chapter's page is said once, not for each of its lessons.
        found += [said for said in refusals_of(one, course.config) if said not in found]
    if everything:
        found += _without_source(drafts, course.config)
        found += folders.without_source(course.config)
        found += folders.not_installed(course.config)
        for page in links.pages(course.config):
            found += links.dead(page, links.text_of(page, course.config), course.config)
    return found + pages_out_of_sync(course)


def pages_out_of_sync(course: Course) -> list[str]:
    """A sentence for whatever between the lessons is not what they, or reports of GPUs, say."""
    found = []
    lessons, config = course.lessons(), course.config
    sources = {
        "the lessons' folders": lambda: lesson_index.files(lessons, config),
        "the lessons' stubs": lambda: stubs.files(lessons, config),
        "the lessons' headers": lambda: lesson_rows.files(lessons, config),
        "the lessons": lambda: [
            claims.page(lessons, config),
            *rules_to_keep.files(lessons, config),
        ],
        "the reports of GPUs": lambda: measured.files(config),
    }
    for who, pages in sources.items():
        try:
            names = [config.relative(page.path) for page in pages() if not page.is_stored()]
        except CourseError as error:
            found.append(str(error))
        else:
            found += [f"{name} is not what {who} say: run `labkit build`." for name in names]
    return found


def refusals_of(draft: Draft, config: Config) -> list[str]:
    """Every rule on one lesson: on its source, on what is made from it, on what is stored."""
    stored = [read_stored(notebook.path, notebook.name) for notebook in draft.notebooks]
    found = out_of_sync(draft, stored, config)
    found += source_rules.examine(draft.lesson, config)
    found += folders.examine(draft.lesson, config)
    found += items.examine(draft.lesson, config)
    for notebook in stored:
        broken = rules.examine(notebook, config) if notebook.is_there else []
        # What is wrong with the learner's notebook is said once, not for its twin as well.
        found += [said for said in broken if said.replace("/solutions/", "/", 1) not in found]
    return found


def out_of_sync(draft: Draft, stored: Iterable[StoredNotebook], config: Config) -> list[str]:
    """A sentence for whatever of the lesson is not what its source and texts generate."""
    found = []
    do = f"run `labkit build {draft.lesson.name}`"
    for notebook, file in zip(draft.notebooks, stored, strict=True):
        if file.broken:
            continue  # the rules name it
        if file.notebook is None:
            found.append(f"{file.name} is missing: {do}.")
        elif file.notebook.cleared() != notebook:
            found.append(f"{file.name} is not what its source and texts generate: {do}.")
    if draft.solutions is not None and not draft.solutions.is_stored():
        name = config.relative(draft.solutions.path)
        found.append(f"{name} is not what the lesson's source says: {do}.")
    return found


def _without_source(drafts: Iterable[Draft], config: Config) -> list[str]:
    """A sentence for each notebook that no lesson of the course has."""
    expected = {notebook.path for one in drafts for notebook in one.notebooks}
    found = []
    for path in sorted(config.chapters.glob("**/*.ipynb")):
        if path not in expected and ".ipynb_checkpoints" not in path.parts:
            do = "write one, or delete it"
            found.append(f"{config.relative(path)} has no source in source/: {do}.")
    return found


def verify(config: Config, wanted: str | None = None) -> int:
    """Check and run all lessons, or those of a chapter. 0 if all is well."""
    course = Course(config)
    well = _check(course, wanted) == 0
    paths = [lesson.notebook(twin) for lesson in course.lessons(wanted) for twin in TWINS]
    names = [config.relative(path) for path in filter(Path.is_file, paths)]
    print(f"Running {len(names)} notebooks and comparing what they print:", flush=True)
    total = 0.0
    for name in names:
        passed, taken = run(config, name)
        slow = f"  over {LESSON_SECONDS} s" if taken > LESSON_SECONDS else ""
        print(f"{taken:6.1f} s  {name}{slow}", flush=True)
        well = well and passed
        total += taken
    verdict = "all is as stored" if well else "not all is as it should be"
    print(f"{len(names)} notebooks ran in {total:.0f} s: {verdict}.")
    return 0 if well else 1


def run(config: Config, name: str) -> tuple[bool, float]:
    """(does it pass pytest --nbval?, seconds); pytest itself prints what differs."""
    command = [sys.executable, "-m", "pytest", "--quiet", "--nbval", "-p", kernel_files.__name__]
    start = time.perf_counter()
    with environment() as env:
        done = subprocess.run([*command, name], cwd=config.course_root(), env=env)
    return done.returncode == 0, time.perf_counter() - start
