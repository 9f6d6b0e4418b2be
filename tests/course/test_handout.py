"""`labkit handout`: what it writes, what it leaves out, and what it never overwrites."""

import json

import pytest

from labkit.cli import main
from labkit.course import CourseError
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.handout import command, pages, payload
from labkit.course.handout.command import handout
from labkit.course.notebook import Notebook, source_of, tags_of
from tests.course.tiny_wheels import make_wheels

NOTEBOOK = "01_gpu/1_tiny.ipynb"
SOLVED = "01_gpu/solutions/1_tiny.ipynb"


@pytest.fixture
def ours(course, monkeypatch):
    """A built course whose wheels are tiny."""
    monkeypatch.setattr(command, "build_wheels", lambda root, folder: make_wheels(folder))
    monkeypatch.setenv("LABKIT_ROOT", str(course))
    return config(course)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def code(path):
    return [source_of(cell) for cell in Notebook.read(path, path.name).code_cells]


def test_a_folder_has_notebooks_wheels_and_what_to_do(ours, out, capsys):
    assert main(["handout", "--out", str(out), "--chapter", "01_gpu"]) == 0
    wheels = {"labkit-1-py3-none-any.whl", "numba_simt-1-py3-none-any.whl"}
    assert names(out) == {NOTEBOOK, "START.md", "START.ipynb", "handout.json", *wheels}
    assert "1 lessons, the largest notebook has" in capsys.readouterr().out
    start = (out / "START.md").read_text()
    assert f"[A tiny lesson]({NOTEBOOK}) | 25 | nothing |" in start and "three steps" in start
    [cell] = Notebook.read(out / "START.ipynb", "START.ipynb").cells
    assert source_of(cell) == start and cell["cell_type"] == "markdown"


def test_only_the_first_cell_differs_and_nothing_is_shown_yet(ours, out):
    handout(ours, str(out))
    stored = Notebook.read(ours.chapters / NOTEBOOK, "stored")
    made = Notebook.read(out / NOTEBOOK, "made")
    assert code(out / NOTEBOOK)[1:] == [source_of(cell) for cell in stored.code_cells][1:]
    assert not any(cell["outputs"] for cell in made.code_cells)
    first = made.code_cells[0]
    assert tags_of(first) == ["setup"] and first["metadata"]["cellView"] == "form"
    assert source_of(first).startswith("# @title Set up")


def test_links_to_files_become_plain_text(ours, out):
    assert "[other page](README.md)" in (ours.chapters / NOTEBOOK).read_text()
    handout(ours, str(out))
    made = (out / NOTEBOOK).read_text()
    assert "with an other page." in made and "[cell above](#C02)" in made


def test_solutions_come_where_they_are_asked_for(ours, out):
    handout(ours, str(out), "01_gpu/1_tiny", solutions=True)
    assert SOLVED in names(out)
    assert Notebook.read(out / SOLVED, "made").code_cells[1]["outputs"]


def test_the_same_course_gives_the_same_bytes_and_may_be_written_again(ours, out):
    handout(ours, str(out))
    first = {name: (out / name).read_bytes() for name in names(out)}
    handout(ours, str(out))
    assert {name: (out / name).read_bytes() for name in names(out)} == first


def test_what_an_earlier_handout_made_alone_stays_and_is_named(ours, out, capsys):
    handout(ours, str(out), solutions=True)
    handout(ours, str(out))
    assert f"Of an earlier handout, and left as they were: {SOLVED}." in capsys.readouterr().out
    assert SOLVED in names(out)


@pytest.mark.parametrize("name", [NOTEBOOK, "START.md"])
def test_nothing_of_somebody_elses_is_overwritten(ours, out, name):
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text("mine")
    with pytest.raises(CourseError, match="was not made by `labkit handout`"):
        handout(ours, str(out))
    assert names(out) == {name} and (out / name).read_text() == "mine"


def test_what_was_changed_since_is_not_overwritten(ours, out):
    handout(ours, str(out))
    (out / "START.md").write_text("my own words for the class")
    with pytest.raises(CourseError, match=r"START\.md was .* changed since. Nothing was written"):
        handout(ours, str(out))


def test_other_files_in_the_folder_are_left_alone(ours, out):
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    handout(ours, str(out))
    assert (out / "notes.txt").read_text() == "mine"


def test_a_damaged_list_is_named(ours, out):
    out.mkdir()
    (out / "handout.json").write_text("[1")
    with pytest.raises(CourseError, match="is not a list of `labkit handout`"):
        handout(ours, str(out))


def test_unknown_names_are_answered_with_what_there_is(ours, out, capsys):
    assert main(["handout", "--out", str(out), "--lesson", "tinny"]) == 1
    assert "There is no lesson or chapter 'tinny'. Did you mean 01_gpu" in capsys.readouterr().err
    assert not out.exists()


def test_a_lesson_that_is_not_built_is_named(ours, out):
    (ours.chapters / NOTEBOOK).unlink()
    with pytest.raises(CourseError, match="is not there: run `labkit build 01_gpu/1_tiny`"):
        handout(ours, str(out))
    assert not out.exists()


def test_a_notebook_that_is_too_large_is_refused(ours, out, monkeypatch):
    monkeypatch.setattr(pages, "LARGEST", 1000)
    with pytest.raises(CourseError, match=r"at most 1,000 are saved"):
        handout(ours, str(out))


def test_wheels_that_cannot_be_built_are_one_sentence(tmp_path):
    for name in payload.FOLDERS:
        (tmp_path / "course" / name).mkdir(parents=True)
    for name in payload.FILES:
        (tmp_path / "course" / name).write_text("no = toml = here")
    with pytest.raises(CourseError, match="pip and setuptools must be here, as `make setup`"):
        payload.build_wheels(tmp_path / "course", tmp_path / "out")


def test_a_lesson_that_reads_weights_has_them_beside_it(ours, out, monkeypatch):
    monkeypatch.setitem(pages.READS, "convnet.safetensors", "def add_one")
    handout(ours, str(out))
    assert (out / "convnet.safetensors").read_text() == "weights"
    assert "| 25 | `convnet.safetensors` |" in (out / "START.md").read_text()
    assert "DATA = {'convnet.safetensors': '" in code(out / NOTEBOOK)[0]


def test_the_address_is_tried_where_the_course_has_one(ours, out):
    project = ours.root / "pyproject.toml"
    text = project.read_text().replace('address = ""', 'address = "https://example.org/a/b"')
    project.write_text(text)
    handout(config(ours.root), str(out))
    assert "'labkit @ git+https://example.org/a/b@v0.1.0'" in code(out / NOTEBOOK)[0]


def test_a_payload_has_this_lesson_and_those_whose_exercises_it_uses(tmp_path):
    files = payload.files_of(make_wheels(tmp_path))
    shared = payload.common(files)
    assert "labkit/data/cifar10/index.json" in shared and "share/labkit/train.py" in shared
    left_out = (".png", ".safetensors", "RECORD", "lesson_index.toml")
    assert not [name for name in shared if name.endswith(left_out) or "lessons/" in name]
    own = payload.own(files, "labkit_lessons.gpu.tiny")
    assert {name for name in own if "lessons/" in name} == {
        "labkit_lessons/gpu/tiny/solutions.py",
        "labkit_lessons/gpu/used/texts.toml",
    }
    index = own["labkit/checks/lesson_index.toml"].decode()
    assert '"labkit_lessons.gpu.used" = ["gpu.shared"]' in index and "other" not in index


def test_the_list_of_what_a_handout_made_is_by_place(ours, out):
    handout(ours, str(out))
    listed = json.loads((out / "handout.json").read_text())
    assert set(listed) == names(out) - {"handout.json"}


def test_a_handout_that_was_interrupted_can_be_made_again(ours, out):
    handout(ours, str(out))
    (out / "handout.json").unlink()
    handout(ours, str(out))
    assert (out / "handout.json").is_file()


@pytest.mark.parametrize(
    ("lesson", "data"),
    [
        ("01_gpu/4_what_limits_a_kernel", []),
        ("04_distributed/5_fewer_bytes", ["sample"]),
        ("04_distributed/15_serving", ["gpt.safetensors"]),
        ("03_fpga/1_int8_from_the_formula", ["sample", "convnet.safetensors"]),
    ],
)
def test_a_lessons_code_says_which_data_it_reads(lesson, data):
    [found] = Course(config()).lessons(lesson)
    assert pages.data_of(found) == data
