"""The start page, the table of progress and the JupyterLab command."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from labkit.course import CourseError, copies, lab, progress, start
from labkit.course.catalogue import CHAPTERS, readable
from labkit.course.config import Config, config
from labkit.course.lesson_rules import prose

LESSON = "01_gpu/1_tiny.ipynb"


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A progress store of one's own; call it with what has been done."""
    monkeypatch.setenv("LABKIT_PROGRESS", "on")
    monkeypatch.setenv("LABKIT_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return lambda **done: (tmp_path / "home" / "progress.json").write_text(json.dumps(done))


def test_the_lessons_of_a_chapter_know_what_is_in_them(course):
    source = course / "chapters/01_gpu/source/tiny/lesson.py"
    source.write_text(source.read_text() + '\n# %%\npredict("tiny.p", 1, "s")\nquiz("tiny.q")\n')
    current = config(course)
    assert [len(readable(current, chapter)[0]) for chapter in CHAPTERS] == [1, 0, 0, 0]
    [[lesson], _] = readable(current, CHAPTERS[0])
    assert (lesson.title, lesson.minutes) == ("A tiny lesson", 25)
    ids = [lesson.named_in(call) for call in ("check", "predict", "quiz")]
    assert ids == [("tiny.add_one",), ("tiny.p",), ("tiny.q",)]


def test_the_start_page_says_what_there_is(course, store):
    page = start.page(config(course))
    row = next(line for line in page.splitlines() if "A tiny lesson" in line)
    assert "| 25 | 0/1 |" in row
    assert f"]({LESSON})" in row and "](01_gpu/solutions/1_tiny.solution.ipynb)" in row
    assert row.startswith("| 1 | [A tiny lesson]") and "begin here" in row
    assert page.count("There are no lessons in this chapter yet.") == 3
    assert (
        "On this computer the SIMT machine stands in for a GPU" in page
        and str(course / "work") in page
    )


def test_lessons_stand_in_the_order_of_their_numbers(course, store):
    first = course / "chapters/01_gpu/source/tiny/lesson.py"
    text = first.read_text()
    for number in (10, 2):
        folder = first.parent.with_name(f"other_{number}")
        shutil.copytree(first.parent, folder)
        numbered = text.replace("number: 1", f"number: {number}")
        (folder / "lesson.py").write_text(numbered)
        shutil.copy(
            course / "chapters" / LESSON, course / f"chapters/01_gpu/{number}_{folder.name}.ipynb"
        )
    page = start.page(config(course))
    rows = [line for line in page.splitlines() if "[A tiny lesson](" in line]
    assert [row.split(" | ")[0] for row in rows] == ["| 1", "| 2", "| 10"]
    assert [row for row in rows if "begin here" in row] == rows[:1]


def test_a_solutions_tab_says_what_it_is(course, store):
    current = config(course)
    [opened] = re.findall(r"\((01_gpu/solutions/\S+)\)", start.page(current))
    assert opened == "01_gpu/solutions/1_tiny.solution.ipynb"
    assert copies.ensure(current, opened) and not copies.ensure(current, opened)
    mine = course / "work" / opened
    assert "This is the solution" in mine.read_text()
    assert "This is the solution" not in (course / "chapters" / LESSON).read_text()
    mine.write_text(mine.read_text().replace('"source_sha256": "', '"source_sha256": "0'))
    [new] = re.findall(
        r"\((01_gpu/solutions/1_tiny.solution.updated-\w{8}.ipynb)\)", start.page(current)
    )
    assert copies.ensure(current, new)
    assert copies.original(current, LESSON.replace(".ipynb", ".solution.ipynb")) is None


def test_every_link_of_the_start_page_can_be_opened(course, store):
    current = config(course)
    for target in prose.targets(start.page(current)):
        copies.ensure(current, target)
        assert (course / "work" / target).is_file()


def test_the_start_page_shows_progress(course, store):
    store(exercises={"tiny.add_one": {"attempts": 2, "solved": True}})
    assert "| 25 | 1/1 |" in start.page(config(course))


def test_the_start_page_keeps_earlier_work_in_sight(course, store):
    current = config(course)
    copies.ensure(current, LESSON)
    mine = course / "work" / LESSON
    mine.write_text(mine.read_text().replace('"source_sha256": "', '"source_sha256": "0'))
    page = start.page(current)
    assert "**A tiny lesson changed since you opened it:** open the [new version](" in page
    assert f"Your work stays in [{LESSON}]({LESSON})" in page
    [new] = set(re.findall(r"\((01_gpu/1_tiny\.updated-\w{8}\.ipynb)\)", page))
    copies.ensure(current, new)
    page = start.page(current)
    assert f"[A tiny lesson]({new})" in page and f"Your work stays in [{LESSON}]" in page


def test_a_copy_follows_its_lesson_to_another_number(course, store):
    """The lesson is the same, so the copy under the old number is what its link opens."""
    copies.ensure(config(course), LESSON)
    renumber(course, 3)
    page = start.page(config(course))
    assert f"| 3 | [A tiny lesson]({LESSON})" in page and "changed since" not in page
    mine = course / "work" / LESSON
    mine.write_text(mine.read_text().replace('"source_sha256": "', '"source_sha256": "0'))
    page = start.page(config(course))
    assert "| 3 | [A tiny lesson](01_gpu/3_tiny.ipynb)" in page
    assert f"Your work stays in [{LESSON}]({LESSON})" in page
    copies.ensure(config(course), "01_gpu/3_tiny.ipynb")
    assert "| 3 | [A tiny lesson](01_gpu/3_tiny.ipynb)" in start.page(config(course))


def renumber(course, number):
    """Give the tiny lesson another place in its chapter, with nothing else changed."""
    source = course / "chapters/01_gpu/source/tiny/lesson.py"
    source.write_text(source.read_text().replace("number: 1,", f"number: {number},"))
    for folder in ("01_gpu", "01_gpu/solutions"):
        notebook = course / "chapters" / folder / "1_tiny.ipynb"
        notebook.rename(notebook.with_name(f"{number}_tiny.ipynb"))


def test_a_copy_of_a_lesson_that_is_gone_stays_in_sight(course, store):
    copies.ensure(config(course), LESSON)
    (course / "work/01_gpu/2_mine.ipynb").write_text("{}")  # a notebook of the learner's own
    old = (course / "work" / LESSON).rename(course / "work/01_gpu/1_tiny_and_large.ipynb")
    page = start.page(config(course))
    link = "[01_gpu/1_tiny_and_large.ipynb](01_gpu/1_tiny_and_large.ipynb)"
    assert f"{link} is your copy of a lesson that is now divided" in page
    assert "2_mine" not in page and old.exists()


def test_the_start_page_names_a_broken_copy(course, store):
    mine = course / "work" / LESSON
    mine.parent.mkdir(parents=True)
    mine.write_text("{\n")
    page = start.page(config(course))
    [note] = [line for line in page.splitlines() if "work/01_gpu/1_tiny.ipynb is not valid" in line]
    assert ": line 2 column 1" in note
    assert "[fresh copy](01_gpu/1_tiny.updated-" in page


@pytest.mark.parametrize("file", [LESSON, "01_gpu/source/tiny/lesson.py"])
def test_a_broken_lesson_is_named_and_takes_no_page_down(course, store, capsys, file):
    (course / "chapters" / file).write_text("{")
    page = start.page(config(course))
    assert re.search(rf"- \*\*chapters/{file}.* This lesson cannot be opened.", page)
    assert page.count("There are no lessons in this chapter yet.") == 3
    assert progress.progress(config(course)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["GPU", "cannot", "be", "read"]
    assert lines[-1].startswith(f"chapters/{file}") and "line 1" in lines[-1]


def test_the_table_of_progress(course, store, capsys):
    source = course / "chapters/01_gpu/source/tiny/lesson.py"
    source.write_text(source.read_text() + '\n# %%\npredict("a", 1, "s")\npredict("b", 1, "s")\n')
    store(
        exercises={"tiny.add_one": {"attempts": 1, "solved": True}},
        predictions={"b": {"value": 1.0, "unit": "s", "first": 1.0}},
    )
    progress.progress(config(course))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["chapter", "exercises", "predictions", "quizzes"]
    assert lines[1].split() == ["GPU", "1/1", "1/2", "-"]
    assert lines[2].split() == ["1_tiny", "1/1", "1/2", "-"]
    assert lines[3].split() == ["TPU", "no", "lessons", "yet"]
    assert lines[-1].split() == ["all", "1/1", "1/2", "-"], "all is solved: there is no next one"


def test_progress_says_where_to_go_on_and_speaks_json(course, store, capsys):
    store()
    progress.progress(config(course))
    assert capsys.readouterr().out.endswith("Go on with 01_gpu/1_tiny: A tiny lesson.\n")
    assert progress.progress(config(course), as_json=True) == 0
    row = {"lesson": "01_gpu/1_tiny", "title": "A tiny lesson"}
    row |= {"exercises": [0, 1], "predictions": [0, 0], "quizzes": [0, 0]}
    found = json.loads(capsys.readouterr().out)
    assert found == {"lessons": [row], "next": "01_gpu/1_tiny", "unreadable": []}


def test_a_lesson_that_is_begun_comes_before_one_that_is_not(monkeypatch):
    names = {"solved": (1, 1), "fresh": (0, 1), "begun": (1, 2)}
    monkeypatch.setattr(
        progress, "counted", lambda lessons, call: names[lessons[0]] if call == "check" else (0, 0)
    )
    assert progress.next_lesson(["solved", "fresh", "begun"]) == "begun"
    assert progress.next_lesson(["solved", "fresh"]) == "fresh"
    assert progress.next_lesson(["solved"]) is None


def test_lab_prepares_work_and_becomes_jupyterlab(course, monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call))
    lab.lab(config(course), ["--no-browser", "--port=8899"])
    [(program, argv, environment)] = calls
    assert argv[0] == program and argv[1:4] == ["-P", "-m", "jupyterlab"]
    assert argv[-2:] == ["--no-browser", "--port=8899"]
    assert f"--ServerApp.root_dir={course / 'work'}" in argv
    assert "--LabApp.default_url=/lab/tree/START.md" in argv
    assert environment["LABKIT_ROOT"] == str(course)
    assert environment["PATH"].startswith(f"{Path(sys.executable).parent}{os.pathsep}")
    settings = Path(environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)[0])
    assert json.loads((settings / "labconfig" / "page_config.json").read_text())
    overrides = json.loads((settings / "labconfig" / "default_setting_overrides.json").read_text())
    cells = overrides["@jupyterlab/notebook-extension:tracker"]["codeCellConfig"]
    assert cells["lineNumbers"]  # as messages name them
    assert (course / "work" / "START.md").is_file()


@pytest.mark.parametrize("words", [[], ["--ip=0.0.0.0"], ["--ServerApp.ip", "0.0.0.0"]])
def test_the_lab_has_an_address_by_number(course, monkeypatch, words):
    """`localhost` may lead to ::1 as well, where another user could listen."""
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call[1]))
    lab.lab(config(course), words)
    assert ("--ServerApp.ip=127.0.0.1" in calls[0]) == (not words)


def server_settings():
    from traitlets.config import PyFileConfigLoader

    loader = PyFileConfigLoader("jupyter_server_config.py", str(lab.SETTINGS))
    return loader.load_config().ServerApp


def test_a_cookie_opens_one_lab_alone():
    secret = server_settings().cookie_secret
    assert len(secret) == 32 and secret != server_settings().cookie_secret


def test_jupyter_finds_the_stylesheet(course, monkeypatch):
    """The learner's own is looked for after ours."""
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call[1]))
    lab.lab(config(course))
    assert "--LabApp.custom_css=True" in calls[0]
    ours, theirs = map(Path, server_settings().tornado_settings["static_custom_path"])
    assert ours.parent == lab.SETTINGS
    css = (ours / "custom.css").read_text()
    assert "jp-needs-light-background" in css and "white-space: pre !important" in css
    assert theirs.name == "custom"


@pytest.mark.parametrize(
    ("platform", "length", "by_files"),
    [("linux", 49, True), ("linux", 50, False), ("darwin", 49, True), ("win32", 10, False)],
)
def test_kernels_talk_through_files(course, monkeypatch, capsys, platform, length, by_files):
    """At 49 bytes of folder the longest name, /kernel-<36>-ipc-99, makes 100."""
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call[1]))
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/" + "r" * (length - 1))
    lab.lab(config(course))
    assert ("--KernelManager.transport=ipc" in calls[0]) == by_files
    said = "is too long for socket files" in capsys.readouterr().out
    assert said == (platform != "win32" and not by_files)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_a_work_folder_where_others_write_is_told(course, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(os, "execve", lambda *call: None)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/run")
    monkeypatch.setenv("LABKIT_WORK", str(tmp_path / "mine"))
    said = []
    for rights in (0o755, 0o777):
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine").chmod(rights)
        lab.lab(config(course))
        said.append("Other users may write" in capsys.readouterr().out)
    assert said == [False, True]


def test_an_option_of_the_learner_takes_the_place_of_ours(course, monkeypatch):
    calls = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call[1]))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/run")
    lab.lab(config(course), ["--KernelManager.transport=tcp", "--ServerApp.root_dir", "/"])
    options = [word.partition("=")[0] for word in calls[0]]
    assert options.count("--KernelManager.transport") == options.count("--ServerApp.root_dir") == 1
    assert calls[0][-3:] == ["--KernelManager.transport=tcp", "--ServerApp.root_dir", "/"]


def test_lab_in_a_folder_that_cannot_be_written_is_a_sentence(course, monkeypatch):
    monkeypatch.setenv("LABKIT_WORK", str(course / "pyproject.toml" / "work"))
    with pytest.raises(CourseError, match="set LABKIT_WORK to a folder of your own"):
        lab.lab(config(course))


def test_lab_without_jupyterlab_or_course_is_a_sentence(course, monkeypatch):
    with pytest.raises(CourseError, match="clone the course's repository"):
        lab.lab(Config("", "", None))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CourseError, match="JupyterLab is not installed"):
        lab.lab(config(course))
