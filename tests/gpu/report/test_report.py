"""The whole command in a dry run: every section, every missing tool, and what it leaves behind."""

import os
import re
import shutil
import socket
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

from labkit.course.pages import measured
from labkit.files import cache_folder
from labkit.gpu.report import __main__ as command
from labkit.gpu.report import folder, machine, runner, section
from labkit.gpu.report.sections import counted_kernels, counters
from tests.gpu.report import fakes

ROOT = Path(__file__).resolve().parents[3]
NEEDED = ("numpy", "numba", "numba-cuda", "torch")


def only_what_is_needed(packages):
    """A folder of packages with NEEDED and what these need, and no others."""
    packages.mkdir()
    waiting = [*NEEDED]
    done = set()
    while waiting:
        name = waiting.pop()
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for another platform
        wanted = [Requirement(r) for r in found.requires or ()]
        new = {r.name for r in wanted if not r.marker or r.marker.evaluate({"extra": ""})} - done
        waiting += new
        done |= new
        for entry in {file.parts[0] for file in found.files}:
            here = found.locate_file(entry)
            if entry not in ("..", "__pycache__") and not (packages / entry).exists():
                (packages / entry).symlink_to(here)
    (packages / "labkit").symlink_to(ROOT / "labkit")
    return packages


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """run(*arguments, path): the command where only NEEDED is installed; exit code and output."""
    place = tmp_path_factory.mktemp("bare")
    packages = only_what_is_needed(place / "packages")

    def run(*arguments, path=""):
        env = {"PATH": f"{path}:/usr/bin:/bin", "PYTHONPATH": str(packages), "HOME": str(place)}
        env |= {"LABKIT_CACHE": str(cache_folder()), "OMP_NUM_THREADS": "1"}
        line = [sys.executable, "-S", "-B", *arguments]
        done = subprocess.run(line, cwd=place, env=env, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def dry_run(bare, tmp_path_factory):
    """run(*sections): a dry run with faked tools; its exit code, what it said, its folder."""
    place = tmp_path_factory.mktemp("report")
    tools = place / "tools"
    tools.mkdir()
    cases = counted_kernels.cases()
    fakes.ncu(tools, {name: counters.of_the_machine(case) for name, case in cases.items()})
    fakes.compute_sanitizer(tools)
    fakes.nvidia_smi(tools)
    fakes.program(tools, "nvcc", "echo release 13.0, V13.0.88")

    @cache
    def run(*sections):
        out = place / f"out of {len(sections)}"
        only = ("--only", *sections) if sections else ()
        line = ("-m", "labkit.gpu.report", "--dry-run", "--out", out, *only)
        code, said = bare(*line, path=tools)
        return code, said, out

    return run


@pytest.fixture(scope="module")
def dry(dry_run):
    """A dry run of the two sections that other programs than ours judge."""
    return dry_run("counters", "hazards")


def test_only_what_is_needed_is_there(bare):
    code = "import importlib.util as u; print(*map(u.find_spec, ('matplotlib', 'platformdirs')))"
    assert bare("-c", code) == (0, "None None\n")


JUDGED = "tests/gpu/report/test_report.py::test_what_other_programs_judge_runs_on_the_simt_machine"


def sound(report):
    """Each section of the report is done, and nothing in it is wrong."""
    for name, part in report["sections"].items():
        assert part["state"] == "done" and part["rows"], (name, part["why"])
        states = {row["state"] for row in part["rows"]}
        assert states <= {"done", "not here"}, (name, part["rows"])
        assert not any(row["ok"] is False for row in part["rows"]), (name, part["rows"])


def test_what_other_programs_judge_runs_on_the_simt_machine(dry):
    code, said, out = dry
    assert code == 0, said
    report = folder.read(out)
    sound(report)
    for name in ("counters", "hazards"):  # judged by the faked tools
        kernels = [row for row in report["sections"][name]["rows"] if row["ok"] is not None]
        assert len(kernels) >= 10 and all(row["ok"] for row in kernels)


@pytest.mark.night(instead=JUDGED)
def test_every_section_runs_on_the_simt_machine(dry_run):
    code, said, out = dry_run()
    assert code == 0, said
    report = folder.read(out)
    assert [*report["sections"]] == [*runner.SECTIONS]
    sound(report)
    results = report["sections"]["results"]["rows"]
    assert all(row["ok"] is True for row in results) and len(results) >= 30
    assert "results: 34 of 34 rows" in said


def test_nothing_is_measured_in_a_dry_run(dry):
    _, _, out = dry
    text = (out / "report.json").read_text("utf-8")
    assert '"measured"' not in text and folder.read(out)["dry"] is True
    assert "nothing in it was measured" in (out / "report.md").read_text("utf-8")


def test_nothing_of_the_users_is_in_it(dry):
    _, _, out = dry
    private = [str(out.parent), str(ROOT), *folder.private_words(), socket.gethostname()]
    for file in out.iterdir():
        text = file.read_text("utf-8")
        assert not [word for word in private if word in text], file.name
        assert not re.search(r"(/[\w.-]+){3,}", text), file.name
    assert {file.name for file in out.iterdir()} == {"report.json", "report.md"}


def test_versions_and_tools_are_told(dry):
    _, said, out = dry
    report = folder.read(out)
    assert report["gpu"]["name"] == "NVIDIA H200" and report["gpu"]["driver"] == "580.65.06"
    assert report["tools"]["nvcc"] == "13.0.88" and report["versions"]["matplotlib"] is None
    assert {"numpy", "torch"} <= report["versions"].keys()
    assert "hazards: " in said and "report.md" in said


def test_a_picture_that_cannot_be_drawn_is_not_missed(dry):
    _, _, out = dry
    assert "![" not in (out / "report.md").read_text("utf-8")


@pytest.mark.parametrize("flag", ["matmul", "cudnn"])
def test_a_section_refuses_to_measure_with_tf32(flag, monkeypatch, tmp_path):
    where = {"matmul": torch.backends.cuda.matmul, "cudnn": torch.backends.cudnn}[flag]
    monkeypatch.setattr(section, "settle", lambda dry: setattr(where, "allow_tf32", True))
    arguments = ["section", "results", "--dry-run", "--rows", str(tmp_path / "rows")]
    monkeypatch.setattr(sys, "argv", arguments)
    try:
        with pytest.raises(SystemExit, match="TF32 is on"):
            section.main()
    finally:
        where.allow_tf32 = False
    assert not (tmp_path / "rows").exists()


def test_a_section_switches_tf32_off(monkeypatch):
    for name in ("LABKIT_CUDA", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_DEVICE_ORDER"):
        monkeypatch.setenv(name, "")  # which it sets
    torch.backends.cudnn.allow_tf32 = True
    section.settle(dry=True)
    assert not section.tf32() and os.environ["LABKIT_CUDA"] == "simt"


def test_a_section_finds_the_compiler_of_an_installed_cuda(monkeypatch, tmp_path):
    names = ("LABKIT_CUDA", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_DEVICE_ORDER")
    for name in (*names, "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, "")
    monkeypatch.delenv("CUDA_HOME")
    monkeypatch.delenv("CUDA_PATH")
    section.settle(dry=True)
    at_first = os.environ.get("CUDA_HOME")
    monkeypatch.setattr(section, "CUDA", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("CUDA_PATH", "chosen")
    section.settle(dry=True)
    assert os.environ.get("CUDA_HOME") == at_first  # whoever has chosen one keeps it
    monkeypatch.delenv("CUDA_PATH")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    section.settle(dry=True)
    assert os.environ["CUDA_HOME"] == str(tmp_path)


@pytest.mark.night(instead="tests/course/pages/test_measured.py")
def test_every_prediction_has_a_lesson_on_the_page(dry_run):
    """`labkit build` refuses a report with a lesson that chapter 01's page does not have."""
    _, _, out = dry_run()
    report = folder.read(out)
    named = {
        row["lesson"]
        for part in report["sections"].values()
        for row in part["rows"]
        if "lesson" in row
    }
    assert named == {*measured.LESSONS} - {"what_limits_a_kernel"}  # for it, a GPU is needed
    assert "what_limits_a_kernel" in measured.LESSONS


# The command itself


@pytest.fixture
def here(monkeypatch, tmp_path):
    """main(*arguments) with sections that `found` gives, on an H200."""
    found = {
        name: {"state": "done", "why": "", "seconds": 1.0, "rows": []} for name in ("results",)
    }
    monkeypatch.setattr(machine, "gpu", lambda: {"name": "NVIDIA H200", "driver": "580"})
    monkeypatch.setattr(command, "run", lambda wanted, dry: iter(found.items()))

    def main(*arguments):
        return command.main(["--out", str(tmp_path / "out"), *arguments])

    return found, main, tmp_path / "out"


def row(what, state="done", ok=None, says=""):
    return {"what": what, "state": state, "numbers": {}, "ok": ok, "says": says}


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        ([row("a", ok=True)], 0, "results: 1 of 1 rows"),
        ([row("a", ok=False, says="goal 9: missed by 1")], 0, "to look at: a"),
        ([row("a", ok=False, says="WRONG")], 1, "to look at: a"),
        ([row("a", "failed", says="ValueError")], 1, "to look at: a"),
        ([row("a", "no memory", says="CUDA out of memory")], 1, "results: 0 of 1 rows"),
        ([row("a", "not here", says="The program ncu is not here.")], 0, "results: 0 of 1 rows"),
    ],
)
def test_exit_codes(here, capsys, rows, code, said):
    found, main, out = here
    found["results"]["rows"] = rows
    assert main() == code
    assert said in capsys.readouterr().out
    assert folder.read(out)["sections"]["results"]["rows"] == rows


def test_a_section_that_died_is_told(here, capsys):
    found, main, out = here
    found["results"] |= {"state": "died", "why": "code -11 in /srv/ada/x/kernel.py"}
    assert main() == 1
    assert "**It died.** code -11 in kernel.py" in (out / "report.md").read_text("utf-8")


def test_an_interrupted_report_keeps_what_it_had(here, monkeypatch):
    found, main, out = here

    def interrupted(wanted, dry):
        yield from found.items()
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main()
    assert [*folder.read(out)["sections"]] == ["results"]


def test_without_a_gpu_or_what_it_needs_nothing_is_measured(here, monkeypatch, capsys):
    _, main, out = here
    monkeypatch.setattr(machine, "gpu", lambda: {})
    assert main() == 2 and "no NVIDIA GPU here" in capsys.readouterr().out
    monkeypatch.setattr(machine, "missing", lambda: ["torch"])
    assert main() == 2 and "missing here: torch" in capsys.readouterr().out
    assert not out.exists()


def test_what_nvidia_smi_says(tmp_path, monkeypatch):
    fakes.nvidia_smi(tmp_path)
    monkeypatch.setenv("PATH", fakes.on_the_path(tmp_path))
    found = machine.gpu()
    assert found["name"] == "NVIDIA H200" and found["highest SM clock"] == "1980 MHz"
    for script in ("exit 9", "echo No devices were found", ""):
        fakes.program(tmp_path, "nvidia-smi", script)
        assert machine.gpu() == {}


def test_nvidia_smi_is_asked_of_the_gpu_that_cuda_takes(tmp_path, monkeypatch):
    fakes.program(
        tmp_path,
        "nvidia-smi",
        f"""
case "$*" in *--id=3*) echo "{fakes.SMI}" ;; esac""",
    )
    monkeypatch.setenv("PATH", fakes.on_the_path(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert machine.gpu() == {}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    assert machine.gpu()["name"] == "NVIDIA H200"


def test_tools_that_are_not_here(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    assert machine.tools() == dict.fromkeys(machine.TOOLS)


def test_all_that_a_report_needs_is_small():
    files = [path for path in (ROOT / "labkit").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 64 * 2**20


def test_the_report_begins_within_moments():
    """Before the first section, the command loads nothing slow."""
    slow = "{'torch', 'numba', 'numpy', 'matplotlib'}"
    code = f"import sys, labkit.gpu.report.__main__; print(*({slow} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# make gpu-report


PYTHON = """#!/bin/sh
echo "$0 $*" >>"$CALLS"
case "$*" in *find_spec*) exit {needs} ;; esac
"""


def make(place, **needs):
    """Calls of Python and of the set-up by `make gpu-report`; needs: exit codes by name."""
    place.mkdir()
    (place / "tools").mkdir()
    (place / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", place)
    names = {"venv": place / ".venv" / "bin" / "python", "python3": place / "python3"}
    for name, path in names.items():
        path.write_text(PYTHON.format(needs=needs[name]))
        path.chmod(0o755)
    setup = place / "tools" / "setup.sh"
    setup.write_text('#!/bin/sh\necho "set-up" >>"$CALLS"\n')
    setup.chmod(0o755)
    env = {**os.environ, "CALLS": str(place / "calls"), "PATH": f"{place}:{os.environ['PATH']}"}
    for name in ("MAKEFLAGS", "MAKELEVEL", "ARGS", "PYTHON"):
        env.pop(name, None)
    line = ["make", "gpu-report", "ARGS=--only results"]
    subprocess.run(line, cwd=place, env=env, capture_output=True, text=True, check=True)
    calls = (place / "calls").read_text().splitlines()
    return [call for call in calls if "find_spec" not in call]


def test_make_sets_up_only_where_no_python_has_what_is_needed(tmp_path):
    report = "-m labkit.gpu.report --only results"
    (call,) = make(tmp_path / "a", venv=0, python3=0)
    assert call == f".venv/bin/python {report}"
    (call,) = make(tmp_path / "b", venv=1, python3=0)
    assert call.endswith(f"python3 {report}")
    calls = make(tmp_path / "c", venv=1, python3=1)
    assert calls == ["set-up", f".venv/bin/python {report}"]
