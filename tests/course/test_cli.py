"""The command line: what each command prints, and that a failure is one sentence."""

import subprocess
import sys

import pytest

from labkit.cli import COMMANDS, main


@pytest.fixture
def here(course, monkeypatch):
    monkeypatch.setenv("LABKIT_ROOT", str(course))
    return course


def labkit(*arguments):
    command = [sys.executable, "-m", "labkit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_build_check_and_progress_of_a_built_course(here, capsys):
    assert main(["build"]) == 0
    assert "01_gpu/1_tiny: same code and texts, outputs kept" in capsys.readouterr().out
    assert main(["build", "--check", "01_gpu"]) == 0
    assert "every rule holds" in capsys.readouterr().out
    assert main(["progress"]) == 0
    assert "0/1" in capsys.readouterr().out


def test_build_says_what_is_still_to_do(here, capsys, no_kernel):
    source = here / "chapters/01_gpu/source/tiny/lesson.py"
    source.write_text(source.read_text().replace("# ## Quiz\n", "# ## End\n"))
    assert main(["build"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("has no section `## Quiz`") == 1 and "1 to do" in printed
    assert main(["build", "--check"]) == 1


def test_build_of_nothing_says_so(tmp_path, monkeypatch, capsys):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "chapters").mkdir()
    monkeypatch.setenv("LABKIT_ROOT", str(tmp_path))
    assert main(["build"]) == 0
    assert "There are no lessons yet" in capsys.readouterr().out
    assert "no claim is on trial yet" in (tmp_path / "CLAIMS.md").read_text()
    assert main(["verify"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "07_abacus"], "There is no lesson or chapter '07_abacus'"),
        (["build", "1_tini"], "Did you mean 01_gpu/1_tiny?"),
        (["build", ""], "no lesson or chapter ''. There are: 01_gpu, 01_gpu/1_tiny."),
        (["data", "--from", "no_such_folder"], "no_such_folder"),
    ],
)
def test_a_failure_is_a_sentence_and_exit_code_1(here, capsys, arguments, words):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"labkit {arguments[0]}: ") and words in error
    assert "Traceback" not in error


@pytest.mark.parametrize("text", ["[tool.labkit\n", None])
def test_a_broken_configuration_is_a_sentence(here, capsys, text):
    path = here / "pyproject.toml"
    path.write_text(text) if text else path.unlink()
    assert main(["build"]) == 1
    assert "pyproject.toml" in capsys.readouterr().err


def test_race_is_numba_simt_and_hands_over_all_its_words(tmp_path):
    """The script's options are its own, and its exit code comes through."""
    script = tmp_path / "script.py"
    script.write_text("import sys\nfrom numba import cuda\nprint(cuda.__name__, sys.argv[1:])\n")
    done = labkit("race", "--cpu", script, "--json", "-h")
    assert done.returncode == 0 and done.stdout == "numba_simt.cuda ['--json', '-h']\n"
    assert done.stderr.startswith("numba-simt: no kernel was launched")
    assert labkit("race", tmp_path / "missing.py").returncode == 2


def test_help_names_every_command():
    shown = labkit("--help")
    assert shown.returncode == 0
    assert all(f"    {name} " in shown.stdout for name in COMMANDS)


def test_an_unknown_command_is_refused():
    assert labkit("grande").returncode == 2


def test_help_loads_no_command():
    code = "import sys; from labkit.cli import parser; parser(); print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not [
        m for m in ("numpy", "torch", "nbformat", "labkit.course") if repr(m) in loaded.stdout
    ]


def test_an_unchanged_build_loads_neither_jupyter_nor_torch(here):
    code = "import sys; from labkit.cli import main; main(['build']); print([*sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = ("jupytext", "nbformat", "nbclient", "IPython", "torch", "numpy", "matplotlib")
    assert not [name for name in heavy if repr(name) in loaded.stdout]


def test_options_that_no_command_knows_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["build", "--chekc"])
    assert "unrecognized arguments: --chekc" in capsys.readouterr().err


def test_what_lab_does_not_know_goes_to_jupyterlab(here, monkeypatch):
    calls = []
    monkeypatch.setattr("labkit.course.lab.lab", lambda config, rest: calls.append(rest))
    main(["lab", "--no-browser", "--port=8899"])
    assert calls == [["--no-browser", "--port=8899"]]
