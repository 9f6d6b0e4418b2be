"""The first cell of a handout, run by a Python that has no labkit: each way to get it, and faults.

pip and Colab's dialogs are stand-ins; all else is what runs there.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.course.handout.pages import cell_text
from labkit.course.handout.payload import common, files_of, own, packed
from tests.course.tiny_wheels import make_wheels

# pip unpacks what it is given into a folder that is on the path.
BEFORE = """\
import json, subprocess, sys, types, zipfile
from pathlib import Path

home, uploads, pip_works = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3] == "True"
(home / "site").mkdir(exist_ok=True)
sys.path[:0] = [str(home / "site")]
Path.home = staticmethod(lambda: home)

def run(command, **options):
    print("pip:", *(Path(one).name for one in command[6:]))
    for one in command[7:]:
        if one.endswith(".whl"):
            zipfile.ZipFile(one).extractall(home / "site")
    return types.SimpleNamespace(returncode=0 if pip_works else 1, stderr="no network")

subprocess.run = run
colab = types.ModuleType("google.colab")
colab.files = types.SimpleNamespace(upload=lambda: {n: Path(n).read_bytes() for n in uploads})
sys.modules["google"] = types.ModuleType("google")
sys.modules["google.colab"] = colab
"""
FOLDERS = ("four-machines", "four-machines-mine")
ADDRESS = ["labkit @ git+https://example.org/a/b@v1"]


@pytest.fixture
def home(tmp_path):
    """A folder with nothing of the course in it, in which the cell runs."""
    (tmp_path / "home" / "notebooks").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def values(tmp_path):
    """What a first cell has, for a lesson of the tiny wheels."""
    wheels = make_wheels(tmp_path / "made")
    files = files_of(wheels)
    payload = packed(common(files)), packed(own(files, "labkit_lessons.gpu.tiny"))
    return {
        "LESSON": "labkit_lessons.gpu.tiny",
        "VARIANT": "",
        "ROOM": "gpu",
        "WHEELS": {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in wheels},
        "ADDRESSES": [],
        "DATA": {"convnet.safetensors": "0f"},
        "PAYLOAD_SHA256": hashlib.sha256("".join(payload).encode()).hexdigest(),
        "PAYLOAD": payload,
    }


def said(home: Path, values: dict, uploads=(), pip_works: bool = True) -> list[str]:
    """The lines that the cell prints; its Drive is a folder of `home`."""
    cell = BEFORE + cell_text(values).replace("/content", str(home / "content"))
    command = [sys.executable, "-I", "-S", "-c", cell, str(home), json.dumps([*map(str, uploads)])]
    done = subprocess.run(
        [*command, str(pip_works)], cwd=home / "notebooks", capture_output=True, text=True
    )
    return (done.stdout + done.stderr).splitlines()


READY = ["gpu {'convnet.safetensors': '0f'}", "Runs on: gpu"]  # what the end of a cell calls


def test_what_the_cell_carries_is_unpacked_once_and_found_again(home, values):
    assert said(home, values) == ["labkit was carried by this cell.", *READY]
    [folder] = (home / ".cache" / "four-machines").iterdir()
    unpacked = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert {"share/labkit/train.py", "labkit-1.dist-info/METADATA"} <= unpacked
    assert said(home, values)[0] == "labkit was carried by this cell."


def test_labkit_that_is_installed_with_this_lesson_is_taken(home, values, tmp_path):
    make_wheels(home / "notebooks")
    said(home, values)
    assert said(home, values)[0] == "labkit is here already."


@pytest.mark.parametrize(
    "place", ["notebooks", "", "content", *(f"content/drive/MyDrive/{name}" for name in FOLDERS)]
)
def test_wheels_are_found_beside_the_notebook_in_the_working_folder_and_in_drive(
    home, values, place
):
    make_wheels(home / place)
    first, second, *rest = said(home, values)
    assert first == f"pip: --no-deps {' '.join(values['WHEELS'])}"
    assert second == f"labkit comes from the wheels in {home / place}." and rest == READY


def test_a_wheel_that_was_cut_short_is_named_and_the_next_way_taken(home, values):
    _, wheel = make_wheels(home / "notebooks")
    wheel.write_bytes(wheel.read_bytes()[:-10])
    first, second, *_ = said(home, values)
    assert first == f"{wheel.name} was cut short, or is of another version: its SHA-256 differs."
    assert second == "labkit was carried by this cell."


def test_one_wheel_alone_is_not_enough(home, values):
    wheel, _ = make_wheels(home / "notebooks")
    wheel.unlink()
    assert said(home, values)[0] == "labkit was carried by this cell."


def test_the_address_comes_before_what_the_cell_carries_and_may_fail(home, values):
    first, second, third, *_ = said(home, values | {"ADDRESSES": ADDRESS}, pip_works=False)
    assert first.startswith("pip: --no-deps")
    assert second == "labkit: address did not work (pip says: no network)."
    assert third == "labkit was carried by this cell."


def test_a_payload_that_is_not_whole_leads_to_the_dialog(home, values, tmp_path):
    first_part, second_part = values["PAYLOAD"]
    broken = values | {"PAYLOAD": (first_part[:-5], second_part)}
    lines = said(home, broken, uploads=make_wheels(tmp_path / "laptop"))
    assert lines[0].startswith("labkit: payload did not work (the text in this cell is not whole")
    assert lines[1].startswith("Choose these files") and lines[-3:] == [
        "labkit was uploaded.",
        *READY,
    ]


def test_where_no_way_is_left_the_last_sentence_says_whom_to_ask(home, values, tmp_path):
    lines = said(home, values | {"PAYLOAD": ()}, uploads=make_wheels(tmp_path / "laptop")[:1])
    assert "labkit-1-py3-none-any.whl was not among the files" in lines[1]
    assert lines[-1].endswith("labkit is not here by any way: ask who gave you this notebook.")


def test_another_lesson_of_an_installed_labkit_is_not_enough(home, values):
    other = home / "site" / "labkit"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    assert said(home, values)[0] == "labkit was carried by this cell."


def test_the_cell_is_ipythons_too_and_no_line_of_it_is_long(values):
    from IPython.core.inputtransformer2 import TransformerManager

    text = cell_text(values)
    assert TransformerManager().transform_cell(text) == text
    assert max(map(len, text.splitlines())) < 2_100
