"""From source to executed notebooks: what is stored, when it is executed, when it is refused."""

import json
import subprocess
import sys
import types

import nbformat
import pytest

from labkit.course import CourseError
from labkit.course.build import build, build_lesson
from labkit.course.catalogue import Course, sources
from labkit.course.config import Config, config
from labkit.course.execute import execute
from labkit.course.generated import GeneratedFile
from labkit.course.notebook import Notebook, source_of
from labkit.course.source.draft import draft
from labkit.course.source.lesson import TWINS
from labkit.course.source.twins import setup_cell
from labkit.course.verify import check, refusals_of

SOURCE = "chapters/01_gpu/source/tiny/lesson.py"


def only_draft(root):
    course = Course(config(root))
    return draft(course.lessons()[0], course.config)


def edit(root, old, new):
    path = root / SOURCE
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def stored(root, twin="learner"):
    expected = only_draft(root).notebooks[TWINS.index(twin)]
    return Notebook.read(expected.path, expected.name).content


def files(root):
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}


def test_both_twins_are_valid_executed_notebooks(course):
    for twin, printed in (("learner", "two and one: 2\n"), ("solution", "two and one: 3\n")):
        made = stored(course, twin)
        nbformat.validate(json.loads(json.dumps(made)))
        code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in code] == [1, 2, 3, 4]
        assert code[0]["outputs"][0]["text"][0].startswith("Runs on: ")
        assert code[1]["outputs"][0]["text"] == [printed]
        assert code[3]["outputs"][0]["data"]["image/png"]
        assert made["metadata"]["labkit"]["twin"] == twin


def test_no_timing_and_no_version_is_stored(course):
    text = (course / "chapters/01_gpu/1_tiny.ipynb").read_text()
    made = json.loads(text)
    assert "iopub" not in text and "started" not in text
    assert (
        made["metadata"]["labkit"]["outputs_sha256"] == Notebook(course, "", made).outputs_sha256()
    )
    assert made["metadata"]["language_info"] == {"name": "python"}
    assert made["metadata"]["kernelspec"]["name"] == "python3"
    assert {key for cell in made["cells"] for key in cell["metadata"]} == {"tags"}


def test_twins_share_ids_and_an_edit_moves_no_other(bare_course, no_kernel):
    build_lesson(only_draft(bare_course))
    before = [cell["id"] for cell in stored(bare_course)["cells"]]
    assert before == [cell["id"] for cell in stored(bare_course, "solution")["cells"]]
    assert len(set(before)) == len(before)
    edit(bare_course, "Then you will stop.", "Then you will rest.")
    build_lesson(only_draft(bare_course))
    after = [cell["id"] for cell in stored(bare_course)["cells"]]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False] + [True] * 9


def test_equal_cells_get_different_ids(bare_course, no_kernel):
    extra = "\n# %% [markdown]\n# Look again.\n\n# %%\nprint(1)\n" * 3
    (bare_course / SOURCE).write_text((bare_course / SOURCE).read_text() + extra)
    build_lesson(only_draft(bare_course))
    ids = [cell["id"] for cell in stored(bare_course)["cells"]]
    assert len(set(ids)) == len(ids) == 16


def test_an_unchanged_lesson_is_neither_executed_nor_written(course, no_kernel):
    before = files(course)
    assert not build_lesson(only_draft(course))
    assert files(course) == before and no_kernel == []


def test_a_forced_build_of_the_same_lesson_gives_the_same_bytes(course):
    before = files(course)
    assert build_lesson(only_draft(course), force=True)
    assert files(course) == before


def test_new_prose_keeps_the_outputs_of_the_same_code(course, no_kernel):
    outputs = [cell.get("outputs") for cell in stored(course)["cells"]]
    edit(course, "Then you will stop.", "Then you will rest.")
    assert not build_lesson(only_draft(course)) and no_kernel == []
    assert "rest" in source_of(stored(course)["cells"][0])
    assert [cell.get("outputs") for cell in stored(course)["cells"]] == outputs


def test_changed_code_is_executed_only_where_it_changed(course, no_kernel):
    edit(course, "    y = x + 1", "    y = 1 + x")  # the solution's line; the learner's is a stub
    assert build_lesson(only_draft(course))
    assert no_kernel == ["chapters/01_gpu/solutions/1_tiny.ipynb"]


def change_texts(root, text):
    (root / SOURCE).with_name("texts.toml").write_text(text)


def test_a_changed_text_makes_the_outputs_stale(course, no_kernel, capsys):
    """`predict` shows the question of texts.toml: no line of the source changed."""
    change_texts(course, '[predictions."gpu.one"]\nquestion = "How many?"\n')
    assert check(config(course)) == 1
    said = capsys.readouterr().out
    assert said.count("is not what its source and texts generate: run `labkit build 01_gpu/1") == 2
    assert build_lesson(only_draft(course))
    assert no_kernel == ["chapters/01_gpu/1_tiny.ipynb", "chapters/01_gpu/solutions/1_tiny.ipynb"]


def test_a_comment_among_the_texts_and_a_notebook_without_their_digest_keep_outputs(
    course, no_kernel
):
    change_texts(course, "# A comment.\n")
    path = course / "chapters/01_gpu/1_tiny.ipynb"
    made = json.loads(path.read_text())
    del made["metadata"]["labkit"]["items_sha256"]
    path.write_text(json.dumps(made))
    assert not build_lesson(only_draft(course)) and no_kernel == []
    assert "items_sha256" in path.read_text()


@pytest.mark.parametrize("damage", ["count", "error", "edited", "json", "shape", "missing"])
def test_a_notebook_that_was_not_run_cleanly_is_run_again(course, no_kernel, damage, capsys):
    path = course / "chapters/01_gpu/1_tiny.ipynb"
    made = json.loads(path.read_text())
    if damage == "count":
        made["cells"][1]["execution_count"] = None
    elif damage == "error":
        error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
        made["cells"][1]["outputs"] = [error]
    elif damage == "edited":
        made["cells"][5]["outputs"][0]["text"] = ["1 ns (measured on NVIDIA H200)\n"]
    elif damage == "shape":
        made["cells"][5]["outputs"] = None
    path.write_text("{" if damage == "json" else json.dumps(made))
    if damage == "missing":
        path.unlink()
    build_lesson(only_draft(course))
    assert no_kernel == ["chapters/01_gpu/1_tiny.ipynb"]
    said = capsys.readouterr().out  # what cannot be read is named before it is replaced
    assert said.startswith("chapters/01_gpu/1_tiny.ipynb") == (damage in ("json", "shape"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("raise RuntimeError('no such luck')", "raises RuntimeError: no such luck"),
        ("import sys; print('careful', file=sys.stderr)", "writes to stderr, 'careful'"),
        ("import warnings; warnings.warn('old way')", "writes to stderr"),
    ],
)
def test_a_cell_that_fails_stops_the_build_and_changes_nothing(course, line, words):
    edit(course, 'print("1.2 ms', f'{line}\nprint("1.2 ms')
    before = files(course)
    with pytest.raises(CourseError) as caught:
        build_lesson(only_draft(course))
    message = str(caught.value)
    assert message.startswith("chapters/01_gpu/1_tiny.ipynb, cell 6 (`from timeit ")
    assert words in message
    assert files(course) == before


def test_a_cell_that_kills_its_kernel_is_named(course):
    edit(course, 'print("1.2 ms', 'import os; os._exit(1)\nprint("1.2 ms')
    with pytest.raises(CourseError, match=r"cell 6 \(`from timeit .*`\) ends its kernel"):
        build_lesson(only_draft(course))


@pytest.fixture
def no_process_is_left():
    psutil = pytest.importorskip("psutil")
    before = set(psutil.Process().children())
    yield
    assert set(psutil.Process().children()) <= before


def one_cell(text, folder):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": text.splitlines(True)}
    cell |= {"execution_count": None, "outputs": []}
    content = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return Notebook(folder / "a.ipynb", "a.ipynb", content)


def test_a_cell_that_never_ends_is_named(tmp_path, monkeypatch, no_process_is_left):
    monkeypatch.setattr("labkit.course.execute.CELL_SECONDS", 1)
    with pytest.raises(CourseError, match=r"cell 1 \(`while True:`\) runs longer than 1 s"):
        execute(one_cell("while True:\n    pass", tmp_path))


def test_lessons_run_beside_their_notebook_and_leave_nothing(tmp_path, no_process_is_left):
    text = "import os, sys\nprint(os.getcwd(), os.environ['LABKIT_PROGRESS'], sys.executable)"
    ran = execute(one_cell(text, tmp_path))
    assert ran.cells[0]["outputs"][0]["text"] == [f"{tmp_path} off {sys.executable}\n"]


def test_consecutive_streams_are_one_output(tmp_path):
    """However the kernel cuts them: here it sends two pieces, for half a second lies between."""
    text = (
        "print('a', flush=True)\nimport time; time.sleep(0.5)\nprint('b')\ndisplay(1)\nprint('c')"
    )
    outputs = execute(one_cell(text, tmp_path)).cells[0]["outputs"]
    assert [output.get("text") for output in outputs] == [["a\n", "b\n"], None, ["c\n"]]


def test_a_malformed_verdict_stops_the_build_before_anything_runs(course, no_kernel):
    edit(course, "C02: wrong.**", "C02: maybe.**")
    before = files(course)
    with pytest.raises(CourseError, match="'maybe'"):
        build(config(course), force=True)
    assert no_kernel == [] and files(course) == before


def test_line_ends_and_a_byte_order_mark_change_nothing(course, no_kernel):
    path = course / SOURCE
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert check(config(course)) == 0


def test_setup_cell_does_nothing_here(course):
    current = config(course)
    ran = setup_cell(Config("https://example.org/a/b", "v1", course))
    subprocess.run([sys.executable, "-c", ran], check=True, capture_output=True)
    assert source_of(stored(course)["cells"][1]) == setup_cell(current, "01_gpu")
    assert len(setup_cell(current).splitlines()) <= 20 and len(ran.splitlines()) <= 20


@pytest.fixture
def colab(monkeypatch):
    """What marks Colab, and the commands that the setup cell would run there."""
    calls = []
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setattr("labkit.hardware.runs_on", lambda *_: print("Runs on: Colab."))
    monkeypatch.setattr(subprocess, "run", lambda command, check: calls.append((command, check)))
    return calls


def test_setup_cell_installs_on_colab_and_keeps_what_is_there(colab, tmp_path, capsys):
    address = "https://example.org/a/b"
    exec(setup_cell(Config(address, "v1", tmp_path)), {})
    command, check = colab[0]
    assert check and command[:4] == [sys.executable, "-m", "pip", "install"]
    simt = f"numba-simt @ git+{address}@v1#subdirectory=simt"
    assert command[-2:] == [simt, f"labkit @ git+{address}@v1"]
    with open(command[command.index("-c") + 1]) as file:
        constraints = file.read().splitlines()
    import numpy

    assert f"numpy=={numpy.__version__}" in constraints
    assert not [line for line in constraints if line.startswith("labkit")]
    assert capsys.readouterr().out.startswith("Runs on: ")


def test_setup_cell_of_chapter_3_brings_its_tools_and_pynq_without_what_pynq_asks_for(
    colab, tmp_path
):
    from labkit.fpga.board.pynq_package.compatibility import PYNQ

    address = "https://example.org/a/b"
    cell = setup_cell(Config(address, "v1", tmp_path), "03_fpga")
    assert len(cell.splitlines()) <= 20
    exec(cell, {})
    (first, _), (second, check) = colab
    assert first[-1] == f"labkit[fpga] @ git+{address}@v1"
    assert check and second == [*first[:-2], "--no-deps", PYNQ]


def test_setup_cell_without_address_says_so_on_colab(colab, tmp_path, capsys):
    exec(setup_cell(Config("", "v1", tmp_path)), {})
    assert "no public address yet" in capsys.readouterr().out.splitlines()[0]
    assert colab == []


@pytest.mark.parametrize(
    ("address", "badges"),
    [("", 0), ("https://example.org/a/b", 0), ("https://github.com/some/course.git", 1)],
)
def test_badge_only_for_a_configured_github_address(bare_course, no_kernel, address, badges):
    path = bare_course / "pyproject.toml"
    path.write_text(f'[tool.labkit]\naddress = "{address}"\ntag = "v7"\n')
    build_lesson(only_draft(bare_course))
    for twin, place in zip(TWINS, ("1_tiny", "solutions/1_tiny"), strict=True):
        texts = [source_of(cell) for cell in stored(bare_course, twin)["cells"]]
        url = "https://colab.research.google.com/github/some/course/blob/v7/chapters/01_gpu/"
        assert texts[0].count("Open in Colab") == badges == texts[0].count(f"{url}{place}.ipynb")
        assert not any("Open in Colab" in text for text in texts[1:])


def test_links_of_the_solution_climb_one_folder_more(course):
    learner, solution = (source_of(stored(course, t)["cells"][0]) for t in TWINS)
    assert "(README.md)" in learner and "(../README.md)" in solution
    assert "](#C02)" in source_of(stored(course, "solution")["cells"][8])


def test_check_names_a_notebook_that_is_not_what_its_source_generates(course):
    current = config(course)
    assert refusals_of(only_draft(course), current) == []
    path = course / "chapters/01_gpu/1_tiny.ipynb"
    made = json.loads(path.read_text())
    made["cells"][3]["source"] = ["def add_one(x):\n", "    return x + 1"]
    path.write_text(json.dumps(made))
    sentence = refusals_of(only_draft(course), current)
    assert len(sentence) == 1 and sentence[0].startswith("chapters/01_gpu/1_tiny.ipynb is not what")
    assert "labkit build 01_gpu/1_tiny" in sentence[0]


def test_check_names_changed_sources_missing_and_foreign_notebooks(course, capsys):
    assert check(config(course)) == 0
    (course / "chapters/01_gpu/solutions/1_tiny.ipynb").unlink()
    (course / "chapters/01_gpu/9_foreign.ipynb").write_text("{}")
    edit(course, "Then you will stop.", "Then you will rest.")
    capsys.readouterr()
    assert check(config(course)) == 1
    printed = capsys.readouterr().out
    assert "1_tiny.ipynb is not what its source and texts generate" in printed
    assert "solutions/1_tiny.ipynb is missing" in printed
    assert "9_foreign.ipynb has no source" in printed


def test_lessons_are_found_by_chapter_name_and_file(course):
    current = config(course)
    everything = sources(current)
    source = str(course / SOURCE)
    for wanted in ("01_gpu", "1_tiny", "01_gpu/1_tiny", "chapters/01_gpu/1_tiny.ipynb", source):
        assert sources(current, wanted) == everything
    with pytest.raises(CourseError, match=r"no lesson or chapter '01_gp'. Did you mean 01_gpu"):
        sources(current, "01_gp")


def test_a_write_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    old = GeneratedFile(path, b"old")
    assert old.write() and not old.write()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        GeneratedFile(path, b"new").write()
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
