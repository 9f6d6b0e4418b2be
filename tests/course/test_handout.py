"""`labkit handout`: what it writes, what it leaves out, and what it never overwrites."""

import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

import labkit
from labkit.cli import main
from labkit.course import TEXTS, CourseError
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.handout import command, pages, payload
from labkit.course.handout.command import handout
from labkit.course.handout.ready import SAMPLE
from labkit.course.notebook import Notebook, source_of, tags_of
from tests.course.tiny_wheels import make_wheels

NOTEBOOK = "01_gpu/1_tiny.ipynb"
SOLVED = "01_gpu/solutions/1_tiny.ipynb"
WHEELS = {"labkit-1-py3-none-any.whl", "numba_simt-1-py3-none-any.whl"}
PAGES = {"START.md", "START.ipynb", "AI-TUTORS.md", "handout.json"}
PLANS = {"PATHS.md", "plans/01_gpu/1_tiny.md"}


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


def test_a_folder_has_notebooks_and_what_to_do(ours, out, capsys):
    assert main(["handout", "--out", str(out), "--chapter", "01_gpu"]) == 0
    assert names(out) == {NOTEBOOK, *PAGES}
    assert "1 lesson, the largest notebook has" in capsys.readouterr().out
    start = (out / "START.md").read_text()
    assert f"[A tiny lesson]({NOTEBOOK}) | 25 | nothing |" in start and "three steps" in start
    [cell] = Notebook.read(out / "START.ipynb", "START.ipynb").cells
    assert source_of(cell) == start and cell["cell_type"] == "markdown"


def test_a_variant_bears_its_name(ours, out):
    assert main(["handout", "--out", str(out), "--seed", "anna"]) == 0
    made = Notebook.read(out / NOTEBOOK, NOTEBOOK)
    assert made.course_metadata["variant"] == "anna"
    assert "VARIANT = 'anna'" in source_of(made.code_cells[0])


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


def test_solutions_and_wheels_come_into_a_folder_of_the_teachers_own(ours, out):
    handout(ours, str(out), ["01_gpu/1_tiny"], solutions=True)
    assert names(out) == {NOTEBOOK, *PAGES}
    teachers = out.with_name("out-teacher")
    assert names(teachers) == {SOLVED, "START.md", "handout.json", *PLANS, *WHEELS}
    assert Notebook.read(teachers / SOLVED, "made").code_cells[1]["outputs"]
    start = (teachers / "START.md").read_text()
    assert "Do not share this folder. The folder of the class is `out`" in start


@pytest.fixture
def second(ours):
    """Another lesson, of chapter 02, built."""
    folder = ours.chapters / "02_tpu" / "source" / "small"
    shutil.copytree(ours.chapters / "01_gpu" / "source" / "tiny", folder)
    text = (folder / "lesson.py").read_text().replace("A tiny lesson", "A small lesson")
    (folder / "lesson.py").write_text(text)
    copied = ours.chapters / "02_tpu" / "1_small.ipynb"
    shutil.copy(ours.chapters / NOTEBOOK, copied)
    return "02_tpu/1_small"


def test_the_page_lists_what_lies_in_the_folder_by_whichever_call(ours, second, out, capsys):
    handout(ours, str(out), [second])
    handout(ours, str(out), ["01_gpu/1_tiny"])
    assert "START.md lists what lies there: 2 lessons." in capsys.readouterr().out
    tiny, small = [line for line in (out / "START.md").read_text().splitlines() if "| 25 |" in line]
    assert "A tiny lesson" in tiny and "A small lesson" in small
    (out / f"{second}.ipynb").unlink()
    handout(ours, str(out), ["01_gpu/1_tiny"])
    assert "A small lesson" not in (out / "START.md").read_text()


@pytest.mark.parametrize(
    "wanted",
    [
        ["--lesson", "02_tpu/1_small", "01_gpu/1_tiny"],
        ["--lesson", "01_gpu/1_tiny", "--lesson", "02_tpu/1_small", "01_gpu/1_tiny"],
        ["--chapter", "01_gpu", "--lesson", "02_tpu/1_small"],
        [],
    ],
)
def test_several_lessons_may_be_named_each_is_there_once(ours, second, out, wanted):
    assert main(["handout", "--out", str(out), *wanted]) == 0
    assert names(out) == {NOTEBOOK, f"{second}.ipynb", *PAGES}


def test_the_same_course_gives_the_same_bytes_and_may_be_written_again(ours, out):
    handout(ours, str(out))
    first = {name: (out / name).read_bytes() for name in names(out)}
    handout(ours, str(out))
    assert {name: (out / name).read_bytes() for name in names(out)} == first


def test_what_an_earlier_handout_made_alone_stays_and_is_named(ours, out, capsys):
    handout(ours, str(out))
    listed = json.loads((out / "handout.json").read_text())
    (out / "old.whl").write_text("old")
    (out / "handout.json").write_text(json.dumps(listed | {"old.whl": "0f"}))
    handout(ours, str(out))
    said = "Of an earlier handout, and no longer part of it: old.whl."
    assert said in capsys.readouterr().out and "old.whl" in names(out)


@pytest.fixture
def no_build(ours, monkeypatch):
    """The course, whose wheels must not be built."""

    def too_early(*_):
        raise AssertionError("the wheels are built before the folder is looked at")

    monkeypatch.setattr(command, "build_wheels", too_early)
    return ours


def test_nothing_of_somebody_elses_is_overwritten_and_all_of_it_is_named(no_build, out):
    for name in (NOTEBOOK, "START.md"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("mine")
    with pytest.raises(CourseError, match=r"Not made by .*, or changed since: ") as refused:
        handout(no_build, str(out))
    assert str(out / NOTEBOOK) in str(refused.value) and "START.md" in str(refused.value)
    assert names(out) == {NOTEBOOK, "START.md"} and (out / NOTEBOOK).read_text() == "mine"


def test_a_solved_notebook_of_somebody_elses_stops_both_folders(no_build, out):
    mine = out.with_name("out-teacher") / SOLVED
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(CourseError, match=f"changed since: {mine}"):
        handout(no_build, str(out), solutions=True)
    assert not out.exists()


@pytest.mark.parametrize("place", ["file", "file/below", "folder"])
def test_a_folder_that_cannot_be_is_refused_before_anything_is_built(no_build, tmp_path, place):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "01_gpu").write_text("mine")
    named = tmp_path / ("folder/01_gpu" if place == "folder" else "file")
    with pytest.raises(CourseError, match=f"{named} is a file, where a folder is needed"):
        handout(no_build, str(tmp_path / place))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc takes no file of root either")
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_built(no_build):
    with pytest.raises(CourseError, match=r"^/proc cannot be written .* another folder"):
        handout(no_build, "/proc/class")


def test_what_was_changed_since_is_not_overwritten(ours, out):
    handout(ours, str(out))
    (out / "START.md").write_text("my own words for the class")
    with pytest.raises(CourseError, match=r"changed since: .*START\.md\. Nothing was written"):
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


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("04", "04_distributed"),
        ("Cluster", "04_distributed"),
        ("Tiles", "01_gpu/6_tiles"),
        ("03 Tiles", "01_gpu/6_tiles"),
        ("A token's cost", "04_distributed/13_a_tokens_cost"),
    ],
)
def test_a_title_or_a_number_leads_to_the_name(said, meant):
    with pytest.raises(CourseError, match=rf"Did you mean {meant}( or |\?)"):
        Course(config()).lessons(said)


def test_names_are_listed_by_their_numbers():
    with pytest.raises(CourseError, match=r"There are: .*/9_tensor_parallel, .*/10_pipeline, "):
        Course(config()).lessons("xyzzy")


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
    assert "| 25 | `convnet.safetensors` (2.2 MB) |" in (out / "START.md").read_text()
    assert "DATA = {'convnet.safetensors': '" in code(out / NOTEBOOK)[0]


def test_photographs_lie_beside_the_notebooks_as_one_file(ours, out, monkeypatch):
    monkeypatch.setitem(pages.READS, SAMPLE, "def add_one")
    handout(ours, str(out))
    with tarfile.open(out / SAMPLE) as archive:
        assert archive.getnames() == ["index.json", "train.png"]
    assert f"DATA = {{'{SAMPLE}': '" in code(out / NOTEBOOK)[0]


def test_the_sizes_that_the_page_tells_are_those_of_the_files():
    data = Path(command.__file__).parents[2] / "data"
    files = {}
    for path in data.rglob("*"):
        if path.is_file():
            files[f"labkit/data/{path.relative_to(data).as_posix()}"] = path.read_bytes()
    for name, said in TEXTS["handout"]["needs"].items():
        size = len(payload.data_file(files, name)) / 1e6
        assert f"{size:.1f} MB" in said


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


@pytest.mark.parametrize("again", [False, True])
def test_a_handout_that_was_interrupted_can_be_made_again(ours, out, monkeypatch, again):
    if again:
        handout(ours, str(out))
    whole = command.write_whole
    written = []

    def interrupted(path, data):
        written.append(path.name)
        if len(written) == 3:
            raise KeyboardInterrupt
        whole(path, data)

    monkeypatch.setattr(command, "write_whole", interrupted)
    monkeypatch.setattr(pages, "TITLE", "# @title Set up, in other words\n")
    with pytest.raises(KeyboardInterrupt):
        handout(ours, str(out))
    monkeypatch.setattr(command, "write_whole", whole)
    handout(ours, str(out))
    assert names(out) == {NOTEBOOK, *PAGES}
    assert all(len(digests) == 1 for digests in command.made_before(out).values())


@pytest.mark.parametrize(
    ("lesson", "data"),
    [
        ("01_gpu/7_what_limits_a_kernel", []),
        ("04_distributed/5_fewer_bytes", ["cifar10-sample.tar"]),
        ("04_distributed/6_parameter_servers", ["cifar10-sample.tar"]),  # its processes do
        ("04_distributed/15_serving", ["gpt.safetensors"]),
        ("03_fpga/1_int8_from_the_formula", ["cifar10-sample.tar", "convnet.safetensors"]),
    ],
)
def test_a_lessons_code_says_which_data_it_reads(lesson, data):
    [found] = Course(config()).lessons(lesson)
    assert pages.data_of(found) == data


# Modules of labkit that read the photographs, and what a lesson that runs them says.
READERS = {
    "datasets.py": "cifar10",
    "course/handout/ready.py": "no lesson calls it",
    "distributed/small_training.py": "photographs, or parameter_server",
    "fpga/convnet/hls.py": "no lesson calls it",
    "gpu/training/pytorch.py": "photographs",
    "tpu/same_run.py": "photographs",
    "tpu/train.py": "cifar10",
}


def test_all_that_reads_photographs_is_known():
    """A new reader needs a name in pages.READS, or lessons on Colab run without their data."""
    room = Path(labkit.__file__).parent
    reads = [path for path in room.rglob("*.py") if "cifar10(" in path.read_text("utf-8")]
    assert sorted(path.relative_to(room).as_posix() for path in reads) == sorted(READERS)
