"""The wheels, alone: without the course's folder `check` finds the lessons, and answers."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# One exercise of each room, and a slip in its solution.
ANSWERS = {
    "gpu.linear_backward": ("gradients_and_convolutions", ".T", ""),
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
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, f"--wheel-dir={out}", ROOT / "simt", ROOT], check=True)
    return next(out.glob("numba_simt-*.whl")), next(out.glob("labkit-*.whl"))


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
    venv.create(tmp_path / "venv", with_pip=False)
    site = next((tmp_path / "venv").glob("lib/*/site-packages"))
    for wheel in wheels:
        zipfile.ZipFile(wheel).extractall(site)
    (site / "packages.pth").write_text(sysconfig.get_path("purelib"))
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
