"""`labkit new`: what it makes runs and is refused until written; bad input writes nothing."""

import os
import shutil
import subprocess
import sys
import tomllib

import pytest

from labkit.cli import main
from labkit.course.catalogue import CHAPTERS, Course
from labkit.course.config import config
from labkit.course.lesson_rules.source_rules import unfinished
from labkit.course.source.lesson import load
from tests.course.conftest import REPOSITORY
from tests.night import others_by_night

ROOMS = {chapter.folder: chapter.extra for chapter in CHAPTERS}
NAME = "adders_and_tables"


@pytest.fixture
def tiny(bare_course, monkeypatch):
    """The tiny course, in which the files of a lesson are made."""
    monkeypatch.setenv("LABKIT_ROOT", str(bare_course))
    return bare_course


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def index_of(tiny):
    """room -> the ids of each lesson, as the index has them."""
    return tomllib.loads((tiny / "labkit/checks/lesson_index.toml").read_text())


@pytest.mark.parametrize("chapter", ROOMS)
def test_every_file_of_a_lesson_is_made(tiny, chapter, capsys):
    before = snapshot(tiny)
    assert main(["new", chapter, NAME]) == 0
    room, number = ROOMS[chapter], 2 if chapter == "01_gpu" else 1
    made = {path.relative_to(tiny).as_posix() for path in snapshot(tiny).keys() - before.keys()}
    folder = f"chapters/{chapter}/source/{NAME}"
    parts = ["lesson.py", "exercises.py", "texts.toml", "planted.py", "classes.toml"]
    parts.append(f"test_{NAME}.py")
    files = {f"{folder}/{part}" for part in (*parts, "solutions.py")}
    files.add("labkit/checks/lesson_index.toml")
    page = f"chapters/{chapter}/README.md"
    assert made == files | ({page} if tiny / page not in before else set())
    ids = [f"{room}.{NAME}_{item}" for item in ("guess", "quiz", "double")]
    assert index_of(tiny) == {room: {f"labkit_lessons.{room}.{NAME}": ids}}
    row = f"| [{number} Adders and tables]({number}_{NAME}.ipynb) | TO WRITE: "
    assert (tiny / page).read_text().splitlines()[-1].startswith(row)
    said = capsys.readouterr().out
    assert all(f"{path}: written" in said for path in made)


def test_lessons_are_numbered_and_listed_in_their_order(tiny):
    page = tiny / "chapters/01_gpu/README.md"
    page.write_text("# One\n\n| lesson | |\n|---|---|\n| [1 Tiny](1_tiny.ipynb) | add |\n\nMore.\n")
    for name in ("second", "third"):
        assert main(["new", "01_gpu", name]) == 0
    assert [*index_of(tiny)["gpu"]] == ["labkit_lessons.gpu.second", "labkit_lessons.gpu.third"]
    assert [lesson.stem for lesson in Course(config(tiny)).lessons()] == [
        "1_tiny",
        "2_second",
        "3_third",
    ]
    rows = [line.split("]")[0] for line in page.read_text().splitlines() if line.startswith("| [")]
    assert rows == ["| [1 A tiny lesson", "| [2 Second", "| [3 Third"]
    assert page.read_text().endswith(" |\n\nMore.\n")


def test_a_lesson_that_joins_the_machines_has_its_exercises_in_the_course_room(tiny):
    assert main(["new", "04_distributed", "one_network", "--room", "course"]) == 0
    assert [*index_of(tiny)] == ["course"]
    assert [*index_of(tiny)["course"]] == ["labkit_lessons.distributed.one_network"]
    source = tiny / "chapters/04_distributed/source/one_network/lesson.py"
    assert load(source, source.name).named_in("check") == ("course.one_network_double",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["03_fgpa", NAME], "There is no chapter '03_fgpa'. Did you mean 03_fpga"),
        (["fpga", NAME], "There is no chapter 'fpga'"),
        (["03_fpga", "Adders"], "lower_case_with_underscores"),
        (["03_fpga", "adders-and-tables"], "not 'adders-and-tables'"),
        (["03_fpga", "1_adders"], "without a number"),
        (["03_fpga", "../adders"], "not '../adders'"),
        (["03_fpga", "class"], "not 'class'"),
        (["03_fpga", "tiny"], "taken by chapters/01_gpu/source/tiny/lesson.py"),
        (["03_fpga", NAME, "--kernel"], "Only the room 'gpu' has kernel exercises: not 'fpga'"),
        (["03_fpga", NAME, "--room", "gpu"], "in the room 'fpga', or 'course'"),
        (["02_tpu", "no_source"], "taken by chapters/02_tpu/source/no_source"),
    ],
)
def test_bad_input_is_a_sentence_and_writes_nothing(tiny, capsys, arguments, words):
    (tiny / "chapters/02_tpu/source/no_source").mkdir(parents=True)
    before = snapshot(tiny)
    assert main(["new", *arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("labkit new: ") and words in said
    assert snapshot(tiny) == before


def test_a_second_lesson_of_the_same_name_is_refused(tiny, capsys):
    assert main(["new", "03_fpga", NAME]) == 0
    before = snapshot(tiny)
    assert main(["new", "02_tpu", NAME]) == 1
    assert (
        "is taken by chapters/03_fpga/source/adders_and_tables/lesson.py" in capsys.readouterr().err
    )
    assert snapshot(tiny) == before


@pytest.mark.parametrize("arguments", [["03_fpga", NAME], ["01_gpu", NAME, "--kernel"]])
def test_each_place_to_write_is_named_until_it_is_written(tiny, arguments):
    assert main(["new", *arguments]) == 0
    [lesson] = [one for one in Course(config(tiny)).lessons() if one.plain_name == NAME]
    named = {sentence.split(" is still")[0] for sentence in unfinished(lesson, config(tiny))}
    places = set()
    for path, data in snapshot(tiny).items():
        for number, line in enumerate(data.decode().splitlines(), 1):
            if "TO WRITE" in line:
                places.add(f"{path.relative_to(tiny).as_posix()}, line {number}")
    assert named == places
    assert {place.split(",")[0].rpartition("/")[2] for place in places} == {
        lesson.path.name,
        "README.md",
        "exercises.py",
        "planted.py",
        "classes.toml",
        "texts.toml",
        f"test_{NAME}.py",
    }
    for path, data in snapshot(tiny).items():
        path.write_bytes(data.replace(b"TO WRITE", b"Written"))
    [lesson] = [one for one in Course(config(tiny)).lessons() if one.plain_name == NAME]
    assert list(unfinished(lesson, config(tiny))) == []


@pytest.fixture
def whole(tiny):
    """The same with all of labkit in it; what runs there is this copy."""
    copy = tiny.with_name("whole")
    shutil.copytree(REPOSITORY / "labkit", copy / "labkit", ignore=shutil.ignore_patterns("data"))
    shutil.copytree(tiny / "chapters", copy / "chapters")
    shutil.copytree(tiny / "tests", copy / "tests")
    for chapter, room in ROOMS.items():  # as the package-dir of an install would
        (copy / "chapters" / chapter / "source").mkdir(parents=True, exist_ok=True)
        (copy / "labkit_lessons").mkdir(exist_ok=True)
        (copy / "labkit_lessons" / room).symlink_to(copy / "chapters" / chapter / "source")
    (copy / "tests" / "notebooks").mkdir()
    shutil.copy(REPOSITORY / "tests" / "__init__.py", copy / "tests")
    shutil.copy(REPOSITORY / "tests" / "notebooks" / "running.py", copy / "tests" / "notebooks")
    (copy / "pyproject.toml").write_text((tiny / "pyproject.toml").read_text())

    def run(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "LABKIT_ROOT": str(copy)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    run.folder = copy
    return run


@pytest.mark.parametrize(
    ("arguments", "source"),
    others_by_night(
        [(["01_gpu", "--kernel"], "01_gpu/2_halves"), (["03_fpga"], "03_fpga/1_halves")],
        "tests/course/test_new.py::test_what_it_makes_runs_and_is_refused_as_unfinished",
    ),
)
def test_what_it_makes_runs_and_is_refused_as_unfinished(whole, arguments, source):
    whole("labkit", "new", arguments[0], "halves", *arguments[1:])
    texts = whole.folder / "chapters" / arguments[0] / "source" / "halves" / "texts.toml"
    right = texts.read_text()
    for old, new, says in (
        ("unchanged =", "unchangd =", ".misconceptions] has no sentence for 'unchanged'."),
        ('_double"', '_doubled"', "] is missing in the files of labkit_lessons."),
    ):
        texts.write_text(right.replace(old, new))
        for options in ([], ["--check"]):
            said = whole("labkit", "build", source, *options, code=1)
            assert 'source/halves: `check` could not use it: [exercises."' in said and says in said
    texts.write_text(right)
    assert not (whole.folder / "chapters" / f"{source}.ipynb").exists()
    printed = whole("labkit", "build", source)
    assert f"{source}: executed" in printed
    chapter, _, name = source.partition("/")
    learner, solution = (
        (whole.folder / "chapters" / chapter / folder / f"{name}.ipynb").read_text()
        for folder in ("", "solutions")
    )
    assert "not solved yet" in learner and "is solved" not in learner
    assert "is solved" in solution and "Right" in solution
    refused = whole("labkit", "build", "--check", source, code=1).splitlines()
    unwritten = [line for line in refused if "is still to be written" in line]
    assert len(unwritten) >= 20
    # Nothing else is wrong with it; CLAIMS.md is for the other lesson's claims.
    assert [line for line in refused if line not in unwritten] == []
    folder = whole.folder / "chapters" / chapter / "source" / "halves"
    whole("pytest", "-q", str(folder / "test_halves.py"))
    made = sorted(str(path) for path in folder.glob("*.py") if path.name != "solutions.py")
    settings = f"--config={REPOSITORY / 'pyproject.toml'}"
    whole("ruff", "check", settings, *made)
    whole("ruff", "format", "--check", settings, *made)
