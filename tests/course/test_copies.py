"""The learner's copies: made on first opening, never overwritten, whatever the course does."""

import asyncio
import json

import nbformat
import pytest

from labkit.course import copies
from labkit.course.build import build_lesson
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.source.draft import draft
from labkit.course.verify import check

LESSON = "01_gpu/1_tiny.ipynb"
SOURCE = "chapters/01_gpu/source/tiny/lesson.py"


def snapshot(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def solve(path):
    """What a learner does: fill in the stub, and let JupyterLab save the notebook its own way."""
    made = json.loads(path.read_text())
    cell = next(c for c in made["cells"] if c["cell_type"] == "code" and "add_one" in str(c))
    cell["source"] = "def add_one(x):\n    return x + 1  # mine\n"
    made["metadata"]["language_info"]["version"] = "3.12.1"
    path.write_text(json.dumps(made, indent=2))


def update(course):
    """The course brings out a new version of the lesson."""
    path = course / SOURCE
    path.write_text(path.read_text().replace("Then you will stop.", "Then you will rest."))
    current = Course(config(course))
    for lesson in current.lessons():
        build_lesson(draft(lesson, current.config))
    return current.config


def version(course):
    return copies.version(course / "chapters" / LESSON)


def test_first_opening_makes_the_copy_and_later_ones_leave_it(course):
    current = config(course)
    for path in (LESSON, "01_gpu/solutions/1_tiny.ipynb", "01_gpu/README.md"):
        assert copies.ensure(current, path)
        (course / "work" / path).write_text("mine")
        assert not copies.ensure(current, path)
        assert (course / "work" / path).read_text() == "mine"
    assert not [p for p in (course / "work").rglob(".*")]


def test_a_lesson_shows_no_result_before_the_learner_predicts(course):
    current = config(course)
    copies.ensure(current, LESSON)
    stored, mine = (json.loads((course / d / LESSON).read_text()) for d in ("chapters", "work"))
    code = [cell for cell in mine["cells"] if cell["cell_type"] == "code"]
    assert code and all(c["outputs"] == [] and c["execution_count"] is None for c in code)
    for cell in stored["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"]
            cell.update(outputs=[], execution_count=None)
    assert stored["metadata"]["labkit"].pop("outputs_sha256")
    assert mine == stored
    nbformat.validate(mine)


def test_solutions_and_pages_are_copied_as_they_are(course):
    for path in ("01_gpu/solutions/1_tiny.ipynb", "01_gpu/README.md"):
        assert copies.ensure(config(course), path)
        assert (course / "work" / path).read_bytes() == (course / "chapters" / path).read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "01_gpu/2_none.ipynb",
        "01_gpu/source/tiny/lesson.py",
        "../chapters/01_gpu/1_tiny.ipynb",
        "01_gpu/../../pyproject.toml",
        "01_gpu",
        "",
        "01_gpu/.ipynb_checkpoints/1_tiny.ipynb",
        "01_gpu/1_tiny.updated-00000000.ipynb",
    ],
)
def test_nothing_else_is_copied(course, path):
    before = snapshot(course)
    assert not copies.ensure(config(course), path)
    assert snapshot(course) == before


def test_solved_work_survives_an_update_and_the_chapters_stay_untouched(course):
    current = config(course)
    copies.ensure(current, LESSON)
    mine = course / "work" / LESSON
    solve(mine)
    work = mine.read_bytes()
    assert copies.of(current, LESSON) == (LESSON, [])

    current = update(course)
    chapters = snapshot(course / "chapters")
    beside = f"01_gpu/1_tiny.updated-{version(course)[:8]}.ipynb"
    assert copies.of(current, LESSON) == (beside, [LESSON])
    assert not copies.ensure(current, LESSON)
    assert copies.ensure(current, beside)
    assert copies.of(current, LESSON) == (beside, [LESSON])
    assert mine.read_bytes() == work
    assert snapshot(course / "chapters") == chapters
    assert b"rest" in (course / "work" / beside).read_bytes()
    assert check(current) == 0


def test_a_broken_copy_is_kept_and_a_fresh_one_offered(course):
    current = config(course)
    mine = course / "work" / LESSON
    mine.parent.mkdir(parents=True)
    mine.write_text('{\n "cells": [\n  oops\n')
    fresh, others = copies.of(current, LESSON)
    assert others == [LESSON] and fresh != LESSON and copies.ensure(current, fresh)
    assert mine.read_text() == '{\n "cells": [\n  oops\n'
    (course / "work" / fresh).write_text("{")
    assert copies.of(current, LESSON) == (fresh, [LESSON, fresh])


@pytest.mark.parametrize("metadata", ["{}", "[]"])
def test_a_copy_without_a_version_is_of_an_earlier_one(course, metadata):
    mine = course / "work" / LESSON
    mine.parent.mkdir(parents=True)
    mine.write_text(f'{{"cells": [], "metadata": {metadata}}}')
    assert copies.of(config(course), LESSON)[1] == [LESSON]


def test_a_copy_is_whole_or_not_there(course, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        copies.ensure(config(course), LESSON)
    assert snapshot(course / "work") == {}


def test_work_may_lie_elsewhere(course, monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_WORK", str(tmp_path / "mine"))
    assert copies.ensure(config(course), LESSON)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LABKIT_WORK", "~/mine")
    monkeypatch.setenv("LABKIT_ROOT", "~/course")
    assert config() == config(course) and config().work == tmp_path / "mine"
    assert (tmp_path / "mine" / LESSON).is_file() and not (course / "work").exists()


OF_THE_SYSTOLIC_ARRAY = {"one_cell", "skew", "systolic_step", "cycles", "implicit_rows"}


def test_what_was_solved_in_the_lesson_on_the_systolic_array_counts_in_its_two_parts(
    tmp_path, monkeypatch
):
    """The real course: its first lesson on the TPU was divided, and the copy of it is kept."""
    current = config()
    parts = ("02_tpu/1_a_product_in_a_grid", "02_tpu/2_what_a_grid_costs")
    lessons = {lesson.name: lesson for lesson in Course(current).lessons()}
    ids = [id for part in parts for id in lessons[part].named_in("check")]
    assert {f"tpu.{name}" for name in OF_THE_SYSTOLIC_ARRAY} <= set(ids)
    assert len(ids) == len(set(ids)), "an exercise is in one of the two"

    monkeypatch.setenv("LABKIT_WORK", str(tmp_path))
    current = config()
    assert copies.ensure(current, f"{parts[0]}.ipynb")
    old = tmp_path / "02_tpu/1_the_systolic_array.ipynb"
    (tmp_path / f"{parts[0]}.ipynb").rename(old)
    work = old.read_bytes()
    assert copies.of_lessons_gone(current, "02_tpu") == ["02_tpu/1_the_systolic_array.ipynb"]
    for part in parts:
        assert copies.of(current, f"{part}.ipynb") == (f"{part}.ipynb", [])
        assert copies.ensure(current, f"{part}.ipynb")
    assert old.read_bytes() == work


@pytest.fixture
def contents(course, monkeypatch):
    """The contents manager as JupyterLab runs it, on the tiny course."""
    pytest.importorskip("jupyter_server")
    from labkit.course.contents import LessonContents

    monkeypatch.setenv("LABKIT_ROOT", str(course))
    (course / "work").mkdir()
    return LessonContents(root_dir=str(course / "work"))


def test_jupyter_gets_a_copy_of_the_lesson(course, contents):
    chapters = snapshot(course / "chapters")
    model = asyncio.run(contents.get(LESSON))
    assert model["type"] == "notebook" and (course / "work" / LESSON).is_file()
    solve(course / "work" / LESSON)
    model = asyncio.run(contents.get(LESSON, content=True))
    assert "# mine" in str(model["content"])
    asyncio.run(contents.save({**model, "content": {**model["content"], "cells": []}}, LESSON))
    assert snapshot(course / "chapters") == chapters


def test_jupyter_asking_only_whether_a_lesson_exists_gets_the_copy_too(course, contents):
    assert asyncio.run(contents.file_exists(LESSON))
    assert asyncio.run(contents.get("01_gpu/README.md", content=False))["type"] == "file"
    assert not asyncio.run(contents.file_exists("01_gpu/2_none.ipynb"))


def test_jupyter_gets_the_start_page_anew(course, contents):
    page = asyncio.run(contents.get("START.md"))["content"]
    assert "[A tiny lesson](01_gpu/1_tiny.ipynb)" in page
    asyncio.run(contents.get(LESSON))
    update(course)
    again = asyncio.run(contents.get("START.md"))["content"]
    assert "changed since you opened it" in again and "1_tiny.updated-" in again


@pytest.mark.parametrize("text", ['{"cells": [', '{"cells": [3], "metadata": {}}', "[" * 100_000])
@pytest.mark.parametrize("path", [LESSON, "01_gpu/solutions/1_tiny.ipynb"])
def test_jupyter_shows_the_sentence_on_a_broken_lesson(course, contents, path, text):
    from tornado.web import HTTPError

    (course / "chapters" / path).write_text(text)
    with pytest.raises(HTTPError, match=f"chapters/{path}(, cell 1)? is not "):
        asyncio.run(contents.get(path))
    assert not (course / "work" / path).exists()


def test_jupyter_shows_the_sentence_when_work_cannot_be_written(course, contents, monkeypatch):
    from tornado.web import HTTPError

    def fail(*_):
        raise OSError("read-only file system")

    monkeypatch.setattr(copies, "ensure", fail)
    with pytest.raises(HTTPError, match="could not be made: read-only file system"):
        asyncio.run(contents.get(LESSON))
