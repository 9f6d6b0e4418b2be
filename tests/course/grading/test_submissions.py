"""What is read from a submitted file's text alone: whose it is, guesses, letters, free answers."""

from labkit.course.config import config
from labkit.course.grading.closed_process import with_compiled
from labkit.course.grading.submissions import (
    free_answers,
    guesses,
    lesson_of,
    letters,
    read,
    submissions,
)
from labkit.course.notebook import Notebook
from tests.course.grading.notebooks import LESSON, code, course_notebook, submit, text_cell


def test_names_come_from_folders_or_files(tmp_path):
    submit(tmp_path, "anna/first", "x = 1")
    submit(tmp_path, "berta", "x = 1")
    submit(tmp_path, ".ipynb_checkpoints/old", "x = 1")
    assert [one.student for one in submissions(tmp_path)] == ["anna", "berta"]


def test_guesses_and_letters_are_read_and_nothing_is_run(tmp_path):
    file = submit(
        tmp_path,
        "one",
        'guesses = {"a": predict("gpu.conv_share", 10 ** 2, "%")}',
        'predict("gpu.x", None, "B")',
        'predict("gpu.conv_share", 80, "%")',
        'quiz("gpu.quiz_bound", "b")\nquiz("gpu.quiz_shape", None)',
        'quiz("gpu.quiz_plus_equals", 1 / 0)',
    )
    one = read(file, "one.ipynb")
    assert guesses(one) == {"gpu.conv_share": "80"}
    assert letters(one) == {"gpu.quiz_bound": "b", "gpu.quiz_plus_equals": "1 / 0"}


def test_what_python_cannot_write_costs_no_grading(tmp_path):
    long = f"0x{'f' * 8000}"
    file = submit(tmp_path, "one", f'quiz("gpu.q", {long})\npredict("gpu.p", -{long}, "B")')
    one = read(file, "one.ipynb")
    assert letters(one) == {"gpu.q": "(not readable)"}
    assert guesses(one) == {"gpu.p": "(not readable)"}


def test_no_student_fills_the_report(tmp_path):
    cells = [text_cell(f"{number} {'x' * 30_000}") for number in range(50)]
    one = read(submit(tmp_path, "one", *cells), "one.ipynb")
    texts = free_answers(one, Notebook(one.path, "ours", course_notebook()))
    assert sum(map(len, texts)) < 201_000 and "open the notebook" in texts[-1]


def test_free_answers_are_the_student_s_own_texts(tmp_path):
    file = submit(tmp_path, "one", text_cell("Because of the [bias](x.ipynb)."), code("x = 1"))
    one = read(file, "one.ipynb")
    ours = Notebook(file, "ours", course_notebook())
    assert free_answers(one, ours) == ["Set up.", "Because of the [bias](x.ipynb)."]
    chapter, name = LESSON.split("/")
    stored = config().chapters / chapter / f"{name}.ipynb"
    assert free_answers(read(stored, "ours.ipynb"), ours) == []


def test_the_lesson_is_that_of_most_ids():
    index = {"tiles": ["gpu.a", "gpu.b"], "ring": ["distributed.c"]}
    assert lesson_of(["distributed.c", "gpu.a", "gpu.b"], index) == "tiles"
    assert lesson_of(["gpu.unknown"], index) == "" and lesson_of([], {}) == ""


def test_what_is_hidden_is_hidden_compiled_too(tmp_path):
    source, compiled = tmp_path / "a.py", tmp_path / "__pycache__" / "a.cpython-311.pyc"
    compiled.parent.mkdir()
    compiled.touch()
    (compiled.parent / "b.cpython-311.pyc").touch()
    assert with_compiled(str(source)) == [str(source), str(compiled)]
