"""A course of one small lesson that keeps every rule, for the tests to build, break and update."""

import base64
import shutil
from pathlib import Path

import pytest

from labkit.course.build import build_lesson
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.pages import claims, lesson_index, lesson_rows, stubs
from labkit.course.source.draft import draft

REPOSITORY = Path(__file__).parents[2]
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8"
        "cfc000000301010018dd8db00000000049454e44ae426082"
    )
).decode()
PROJECT = """\
[tool.labkit]
address = ""
tag = "v0.1.0"

[tool.setuptools]
packages = ["labkit_lessons.gpu"]
package-dir = {"labkit_lessons.gpu" = "chapters/01_gpu/source"}

[tool.pytest.ini_options]
addopts = ["--nbval-current-env", "--nbval-sanitize-with=tests/sanitize.cfg"]
"""
LESSON = f'''\
# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# labkit: {{title: A tiny lesson, number: 1, minutes: 25, needs: [], able: add, runs_on: any CPU}}
# ---

# %% [markdown]
# # A tiny lesson
#
# You will add one to a number.
# Then you will stop.
#
# ## What you will be able to do
#
# - Add one, with an [other page](README.md).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# How much is two and one?
# Write it down.
#
# ## Build
#
# Add one to a number, exercise `tiny.add_one`.

# %% tags=["exercise:tiny.add_one"]
def add_one(x):
    # STUB:
    # y = x  # one line
    # BEGIN SOLUTION
    y = x + 1
    # END SOLUTION
    return y


# A learner would now write: add_one = check("tiny.add_one", add_one)
print("two and one:", add_one(2))

# %% [markdown]
# ## Check
#
# Three is right.
#
# ## Measure
#
# This is how long it took, a fixed number here.

# %% tags=["timing", "nbval-ignore-output"]
from timeit import timeit

seconds = timeit(int, number=1)
print("1.2 ms (measured on this machine)")

# %% [markdown]
# ## Explain
#
# The picture below shows the number.
#
# ## On trial
#
# ### <a id="C02"></a>C02 on trial
#
# > Two and one
# > is four.

# %% tags=["picture"]
from IPython.display import display

alt = "A single point: the number two and one."
png = "{PIXEL}"
display({{"image/png": png, "text/plain": alt}}, raw=True, metadata={{"image/png": {{"alt": alt}}}})

# %% [markdown]
# **Verdict on C02: wrong.**
# It is three, as the [cell above](#C02) shows.

# %% [markdown]
# ## Recap
#
# One more is one more.
#
# ## Quiz
#
# What is two and one?
'''


def make_course(root: Path, lesson: str = LESSON) -> Path:
    """A course with one lesson, not yet built."""
    folder = root / "chapters" / "01_gpu" / "source" / "tiny"
    folder.mkdir(parents=True)
    (folder / "lesson.py").write_text(lesson)
    for part in ("exercises.py", "texts.toml", "planted.py", "classes.toml", "test_tiny.py"):
        (folder / part).write_text("")
    (root / "chapters" / "01_gpu" / "README.md").write_text("# Chapter one\n")
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "tests").mkdir()
    shutil.copy(REPOSITORY / "tests" / "sanitize.cfg", root / "tests" / "sanitize.cfg")
    return root


@pytest.fixture(autouse=True)
def no_personal_settings(monkeypatch):
    for name in ("LABKIT_ROOT", "LABKIT_WORK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def lesson_text() -> str:
    return LESSON


@pytest.fixture
def bare_course(tmp_path) -> Path:
    """The course before any build."""
    return make_course(tmp_path / "course")


@pytest.fixture(scope="session")
def built_once(tmp_path_factory) -> Path:
    """The course, built with real kernels; tests get copies of it."""
    root = make_course(tmp_path_factory.mktemp("built") / "course")
    built = Course(config(root))
    for lesson in built.lessons():
        build_lesson(draft(lesson, built.config))
    for page in (
        claims.page(built.lessons(), built.config),
        *lesson_index.files(built.lessons(), built.config),
        *stubs.files(built.lessons(), built.config),
        *lesson_rows.files(built.lessons(), built.config),
    ):
        page.write()
    return root


@pytest.fixture
def course(built_once, tmp_path) -> Path:
    """A built course of one's own."""
    return Path(shutil.copytree(built_once, tmp_path / "course"))


@pytest.fixture
def no_kernel(monkeypatch):
    """Building without kernels: every cell prints one line. Records the notebooks it was given."""
    ran = []

    def execute(notebook, relations):
        ran.append(notebook.name)
        count = 0
        cells = []
        for cell in notebook.cells:
            if cell["cell_type"] == "code":
                count += 1
                text = {"output_type": "stream", "name": "stdout", "text": [f"cell {count}\n"]}
                cell = cell | {"execution_count": count, "outputs": [text]}
            cells.append(cell)
        return notebook.with_cells(cells).holding()

    monkeypatch.setattr("labkit.course.build.execute", execute)
    return ran
