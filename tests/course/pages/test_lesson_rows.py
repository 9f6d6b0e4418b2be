"""Rows of lessons in README and in the pages of chapters follow the lessons' headers."""

import re

import pytest

from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.pages import lesson_rows
from labkit.course.source.lesson import load
from labkit.course.verify import check

LESSON = "chapters/01_gpu/source/tiny/lesson.py"
PAGE = "# One\n\n| lesson | |\n|---|---|\n| [9 Old](9_old.ipynb) | x |\n\nMore.\n"
README = "# All\n\n| [01 GPU](x.md) | [9 Old](chapters/01_gpu/9_old.ipynb) | x |\n| other | |\n"


@pytest.fixture
def pages(bare_course):
    """The tiny course with both pages, whose rows are of another lesson."""
    (bare_course / "chapters/01_gpu/README.md").write_text(PAGE)
    (bare_course / "README.md").write_text(README)
    return bare_course


def written(root):
    """The pages as they should be, by name."""
    found = lesson_rows.files(Course(config(root)).lessons(), config(root))
    return {page.path.relative_to(root).as_posix(): page.data.decode() for page in found}


def test_rows_are_replaced_and_nothing_else(pages):
    link = "[1 A tiny lesson]"
    assert written(pages) == {
        "chapters/01_gpu/README.md": PAGE.replace(
            "| [9 Old](9_old.ipynb) | x |", f"| {link}(1_tiny.ipynb) | add |"
        ),
        "README.md": README.replace(
            "[01 GPU](x.md) | [9 Old](chapters/01_gpu/9_old.ipynb) | x",
            f"[01 GPU](chapters/01_gpu/README.md) | {link}(chapters/01_gpu/1_tiny.ipynb) | any CPU",
        ),
    }


def test_a_second_lesson_has_no_link_to_the_chapter(pages):
    other = pages / "chapters/01_gpu/source/tenth/lesson.py"
    other.parent.mkdir()
    text = (pages / LESSON).read_text()
    other.write_text(
        text.replace("number: 1", "number: 10").replace("runs_on: any CPU", "runs_on: it")
    )
    rows = [line for line in written(pages)["README.md"].splitlines() if "ipynb" in line]
    assert rows[1] == "| | [10 A tiny lesson](chapters/01_gpu/10_tenth.ipynb) | it |"


def test_a_page_whose_rows_are_old_is_refused(course, capsys):
    page = course / "chapters/01_gpu/README.md"
    page.write_text(page.read_text() + "| [1 Old](1_tiny.ipynb) | x |\n")
    assert check(config(course)) == 1
    name = "chapters/01_gpu/README.md"
    said = f"{name} is not what the lessons' headers say: run `labkit build`."
    assert said in capsys.readouterr().out


def test_a_row_is_no_part_of_a_notebook(pages):
    path = pages / LESSON
    fields = "title: A\n#   number: 1\n#   minutes: 25\n#   needs: []\n"
    found = set()
    for row in ("able: add\n#   runs_on: it\n", "able: more\n#   runs_on: all\n"):
        text = re.sub(r"# labkit: {.*}\n", f"# labkit:\n#   {fields}#   {row}", path.read_text())
        path.with_name("other.py").write_text(text)
        found.add(load(path.with_name("other.py"), "other.py").sha256)
    assert len(found) == 1
