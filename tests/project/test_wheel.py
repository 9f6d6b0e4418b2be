"""The wheels, alone: without the course's folder `check` finds the lessons, and answers.

So do handouts, which carry the wheels' code in their first cells.
"""

import os
import re
import subprocess
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from labkit.course.config import config
from labkit.course.handout import command
from labkit.course.handout.payload import build_wheels
from tests.night import others_by_night

ROOT = Path(__file__).resolve().parents[2]
# One exercise of each room, and a slip in its solution.
ANSWERS = {
    "gpu.linear_backward": ("gradients", ".T", ""),
    "tpu.split_bfloat16": ("bfloat16", "- ", "+ "),
    "fpga.accumulator_bits": ("int8_from_the_formula", "minimum", "maximum"),
    "distributed.reduce_scatter": ("the_ring", "+= arriving", "-= arriving"),
}
ASK = """\
import importlib, sys
import labkit
print(labkit.__file__)
for id in sys.argv[1:]:
    name = id.partition(".")[2]
    for answers in ("right", "wrong"):
        print(f"[{id} {answers}]")
        labkit.check(id, getattr(importlib.import_module(f"{answers}_{name}"), name))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of numba-simt and of this course, as `pip install` would build them."""
    return build_wheels(ROOT, tmp_path_factory.mktemp("wheel"))


def empty_environment(folder: Path) -> Path:
    """Where packages lie in a new environment, which sees those of this one, but no labkit."""
    venv.create(folder, with_pip=False)
    site = next(folder.glob("lib/*/site-packages"))
    (site / "packages.pth").write_text(sysconfig.get_path("purelib"))
    return site


def test_it_holds_the_lessons_without_planted_answers_and_tests(wheels):
    names = zipfile.ZipFile(wheels[1]).namelist()
    lessons = [name for name in names if name.startswith("labkit_lessons/")]
    sources = list(ROOT.glob("chapters/*/source/*/exercises*"))
    assert len([name for name in lessons if name.endswith("solutions.py")]) == len(sources)
    assert not [name for name in lessons if re.search(r"planted|/test_|classes\.toml", name)]
    assert not [name for name in names if name.startswith("numba_simt")]


def test_numba_simts_holds_all_that_it_needs(wheels):
    names = zipfile.ZipFile(wheels[0]).namelist()
    package = ROOT / "simt" / "numba_simt"
    files = [path for path in package.rglob("[!.]*.*") if path.suffix != ".pyc"]
    found = {f"numba_simt/{path.relative_to(package).as_posix()}" for path in files}
    assert found == {name for name in names if name.startswith("numba_simt/")}


def test_check_answers_in_an_empty_environment_for_each_room(wheels, tmp_path):
    """The packages that the course needs are there; of the course, the wheels alone are."""
    site = empty_environment(tmp_path / "venv")
    for wheel in wheels:
        zipfile.ZipFile(wheel).extractall(site)
    for id, (lesson, right, wrong) in ANSWERS.items():
        room, name = id.split(".")
        text = (site / "labkit_lessons" / room / lesson / "solutions.py").read_text("utf-8")
        (tmp_path / f"right_{name}.py").write_text(text)
        body = text.index(f"def {name}(")
        slip = text[:body] + text[body:].replace(right, wrong, 1)
        assert slip != text
        (tmp_path / f"wrong_{name}.py").write_text(slip)
    (tmp_path / "ask.py").write_text(ASK)
    python = tmp_path / "venv" / "bin" / "python"
    asked = [python, "ask.py", *ANSWERS]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(asked, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    place, *said = re.split(r"^\[(.+)\]$", done.stdout, flags=re.MULTILINE)
    assert Path(place.strip()).is_relative_to(tmp_path / "venv")
    verdicts = dict(zip(said[::2], said[1::2], strict=True))
    for id in ANSWERS:
        assert "Right" in verdicts[f"{id} right"]
        assert "Right" not in verdicts[f"{id} wrong"] and len(verdicts[f"{id} wrong"]) > 20


# One lesson of each chapter, cheap ones: they read the sample, weights of both kinds, and neither.
HANDED_OUT = (
    "01_gpu/6_tiles",
    "02_tpu/6_what_a_training_step_costs",
    "03_fpga/1_int8_from_the_formula",
    "04_distributed/13_a_tokens_cost",
)
BY_DAY = "tests/project/test_wheel.py::test_a_handout_runs_to_its_end_as_on_colab"


@pytest.mark.parametrize("lesson", others_by_night(HANDED_OUT, BY_DAY))
def test_a_handout_runs_to_its_end_as_on_colab(wheels, tmp_path, monkeypatch, lesson):
    """Its first cell carries labkit, data lie in the class's folder, and nothing is asked for."""
    monkeypatch.setattr(command, "build_wheels", lambda *_: wheels)
    out = tmp_path / "four-machines"
    command.handout(config(ROOT), str(out), [lesson])
    empty_environment(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    program = ROOT / "tests" / "project" / "run_handout.py"
    notebook = out / f"{lesson}.ipynb"
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    own |= {"HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(
        [python, "-P", program, notebook],
        cwd=notebook.parent,
        env=own,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.startswith("labkit was carried by this cell.\nRuns on: ")
    assert "Check failed" not in done.stdout and "There is no" not in done.stdout
