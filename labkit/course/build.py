"""`labkit build`: of each source its two executed notebooks; of all CLAIMS.md and RULES.md.

From the lessons' folders it writes the index in which `check` finds a lesson
(pages/lesson_index.py), and the digests of their stubs (pages/stubs.py). From their headers it
writes the rows of tables in README and chapters' pages (pages/lesson_rows.py). From the reports of
GPUs it writes chapter 01's measured.md and a row of README (pages/measured.py).

    source -> Lesson -> Draft (both twins, the solutions) -> outputs kept or executed -> written

A lesson is executed only when the code of one of its notebooks changed, or a relation, or its file
of texts, which the cells show (or with --force). New prose around the same code keeps the outputs,
for they are still what that code prints. Both notebooks are executed before one is written, so a
lesson that fails leaves the files as they were.
"""

import time

from labkit.course import CourseError, items, verify
from labkit.course.catalogue import Course
from labkit.course.config import Config
from labkit.course.execute import execute
from labkit.course.generated import write_all
from labkit.course.lesson_rules.output_rules import counts, outputs, relations, untouched
from labkit.course.notebook import Notebook, read_stored
from labkit.course.pages import claims, lesson_index, lesson_rows, measured, rules_to_keep, stubs
from labkit.course.source.draft import Draft, draft


def build(
    config: Config, wanted: str | None = None, force: bool = False, check: bool = False
) -> int:
    """Build the wanted lessons (default: all) and the pages; then say what a check would refuse."""
    if check:
        return verify.check(config, wanted)
    course = Course(config)
    lessons = course.lessons(wanted)
    if not lessons:
        print("There are no lessons yet: no chapters/*/source/*/lesson.py.")
    # First: what is malformed stops the build before anything runs.
    every = course.lessons()
    claims_page = claims.page(every, config)
    drafts = [draft(lesson, config) for lesson in lessons]
    for pages in (lesson_index.files, stubs.files, lesson_rows.files):
        write_all(pages(every, config), config)
    write_all(measured.files(config), config)  # README.md has parts of the last two
    write_all([one.solutions for one in drafts if one.solutions is not None], config)
    if unusable := [said for one in drafts for said in items.examine(one.lesson, config)]:
        raise CourseError("\n".join(unusable))  # its cells would run, and say that all is unknown
    for one in drafts:
        start = time.perf_counter()
        what = "executed" if build_lesson(one, force) else "same code and texts, outputs kept"
        print(f"{one.lesson.name}: {what}, {time.perf_counter() - start:.1f} s", flush=True)
    write_all([claims_page, *rules_to_keep.files(every, config)], config)
    found = verify.refusals(drafts, course)
    for sentence in found:
        print(f"to do: {sentence}")
    print(f"{len(lessons)} lessons, {len(found)} to do.")
    return 0


def build_lesson(draft: Draft, force: bool = False) -> bool:
    """Bring both notebooks of a lesson up to date. True if one had to be executed.

    Raises CourseError, having written nothing.
    """
    done: list[Notebook] = []
    executed = False
    for notebook in draft.notebooks:
        kept = None if force else _with_stored_outputs(notebook)
        if kept is None:
            kept = execute(notebook, draft.lesson.relations())
            executed = True
        done.append(kept)
    for notebook in done:
        notebook.sealed().write()
    return executed


def _with_stored_outputs(notebook: Notebook) -> Notebook | None:
    """The notebook with what its file stores; None if that is not what running it gives.

    Code, relations and texts must be the same, and have run to their end without error or warning
    or edit by hand.
    """
    stored = read_stored(notebook.path, notebook.name)
    if stored.broken:
        print(f"{stored.broken} It is built anew.")
    if stored.notebook is None:
        return None
    for rule in (counts, outputs, relations, untouched):
        if any(rule(stored.notebook)):
            return None
    same = notebook.steps() == stored.notebook.steps() and notebook.has_items_of(stored.notebook)
    return notebook.with_outputs_of(stored.notebook) if same else None
