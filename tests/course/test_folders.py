"""A lesson's folder: what must lie in it, what it may import, which names and ids are free."""

import pytest

from labkit.checks.items import Exercise
from labkit.checks.lesson_files import module_of
from labkit.checks.registry import Registry, UnknownId
from labkit.course import CourseError, folders
from labkit.course.catalogue import Course, sources
from labkit.course.config import config
from labkit.course.new import new
from labkit.course.pages import lesson_index
from labkit.course.source.lesson import load
from tests.course.conftest import REPOSITORY

PARTS = ["exercises.py", "texts.toml", "planted.py", "classes.toml", "test_first.py"]


@pytest.fixture
def two(bare_course):
    """The tiny course with two lessons in folders, `first` and `second`."""
    for name in ("first", "second"):
        new(config(bare_course), "02_tpu", name)
    return bare_course


def examined(root, name):
    """The sentences on one lesson's folder."""
    [path] = [path for path in sources(config(root)) if path.parent.name == name]
    return folders.examine(load(path, "lesson.py"), config(root))


def test_a_whole_folder_is_not_refused(two):
    assert examined(two, "first") == [] and [*folders.without_source(config(two))] == []


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_part_is_named(two, part):
    (two / "chapters/02_tpu/source/first" / part).unlink()
    [sentence] = examined(two, "first")
    assert sentence.startswith(f"chapters/02_tpu/source/first/{part} is missing: write it")


@pytest.mark.parametrize(
    ("rows", "says"),
    [("", 'has no row ["tpu.first_double"]: write it, as CONTR'), ("[", "cannot be read: ")],
)
def test_an_exercise_without_a_row_of_classes_is_named(two, rows, says):
    (two / "chapters/02_tpu/source/first/classes.toml").write_text(rows)
    [sentence] = examined(two, "first")
    assert sentence.startswith(f"chapters/02_tpu/source/first/classes.toml {says}")


def test_exercises_may_be_a_package(two):
    folder = two / "chapters/02_tpu/source/first"
    (folder / "exercises").mkdir()
    (folder / "exercises.py").rename(folder / "exercises" / "__init__.py")
    assert examined(two, "first") == []


def test_a_folder_without_a_lesson_is_named(two):
    (two / "chapters/02_tpu/source/first/lesson.py").unlink()
    [sentence] = folders.without_source(config(two))
    assert sentence.startswith("chapters/02_tpu/source/first has no lesson.py: write it, or delete")


def test_what_python_compiled_of_a_lesson_that_went_is_no_folder(two):
    left = two / "chapters/02_tpu/source/gone/wrong/__pycache__"
    left.mkdir(parents=True)
    (left / "shared.cpython-311.pyc").touch()
    assert list(folders.without_source(config(two))) == []


@pytest.mark.parametrize(
    "code",
    [
        "from labkit_lessons.tpu.second import pictures",
        "from labkit_lessons.tpu import second",
        "import labkit_lessons.tpu.second.pictures",
        'PATH = "labkit_lessons.tpu.second.pictures"',
    ],
)
def test_an_import_of_another_lesson_is_named(two, code):
    (two / "chapters/02_tpu/source/first/pictures.py").write_text(f"{code}\n")
    [sentence] = examined(two, "first")
    assert "first/pictures.py imports labkit_lessons.tpu.second, which is another" in sentence
    assert sentence.endswith("what two lessons share belongs into labkit.")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "tpu.second_quiz",
            "tpu.first_quiz",
            "the id 'tpu.first_quiz' is taken by chapters/02_tpu",
        ),
        ("number: 2", "number: 1", "the number 02_tpu 1 is taken by chapters/02_tpu/source/first"),
    ],
)
def test_what_two_lessons_have_is_refused(two, old, new, says):
    folder = two / "chapters/02_tpu/source/second"
    for path in (folder / "lesson.py", folder / "texts.toml"):
        path.write_text(path.read_text().replace(old, new))
    with pytest.raises(CourseError, match=says):
        lesson_index.files(Course(config(two)).lessons(), config(two))


def test_a_name_that_two_chapters_have_is_refused(two):
    (two / "chapters/01_gpu/source/tiny").rename(two / "chapters/01_gpu/source/first")
    with pytest.raises(CourseError, match="the name 'first' is taken by chapters/01_gpu/source/f"):
        lesson_index.files(Course(config(two)).lessons(), config(two))


def test_a_header_without_a_number_is_refused(two):
    path = two / "chapters/02_tpu/source/first/lesson.py"
    path.write_text(path.read_text().replace("#     number: 1\n", ""))
    with pytest.raises(CourseError, match=r"lesson.py, line 1: the header lacks `number`: write"):
        load(path, "lesson.py")


def test_what_is_not_among_the_packages_is_named(two):
    (two / "labkit" / "tpu").mkdir(parents=True)
    (two / "labkit" / "tpu" / "__init__.py").write_text("")
    said = [*folders.not_installed(config(two))]
    assert said[0].startswith("pyproject.toml does not list labkit.tpu among its packages: add it")
    assert said[1].startswith(
        "pyproject.toml does not install the lessons of 02_tpu: list it, with"
    )
    assert [*folders.not_installed(config(REPOSITORY))] == []


def test_a_chapter_that_is_not_installed_is_named(monkeypatch):
    lesson = "labkit_lessons.nowhere.first"
    monkeypatch.setattr("labkit.checks.lesson_files.index", lambda: {"toy": {lesson: []}})
    found = Registry(["toy"])
    with pytest.raises(UnknownId, match=f"{lesson} is not installed: run `make setup`"):
        found.find("toy.one", Exercise)


def test_a_room_below_gets_a_lessons_module_by_the_index():
    assert module_of("bfloat16", "solutions").SOLUTIONS.keys() >= {"tpu.round_to_bfloat16"}
    with pytest.raises(ModuleNotFoundError, match="There is no lesson 'nowhere': run `labkit bui"):
        module_of("nowhere", "solutions")
