"""A program that labkit starts takes no module from the folder in which its user happens to be."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.test_floors import LESSONS, MODULES, ROOT

# One runs the tests in the course's own folder, the other says a command.
APART = {ROOT / "labkit" / "course" / name for name in ("verify.py", "doctor.py")}
SAFE = {"-P", "-I"}  # the folder of the call is not searched for modules
HOSTILE = "import os\nos.mkdir('ran')\nraise SystemExit('this is a stranger')\n"


def flags(path: Path) -> list[str]:
    """What follows `sys.executable` in a file's lists, where it begins with "-"."""
    text = path.read_text("utf-8")
    found = []
    for node in ast.walk(ast.parse(text)) if "sys.executable" in text else ():
        if isinstance(node, ast.List):
            for one, after in zip(node.elts, node.elts[1:], strict=False):
                flag = after.value if isinstance(after, ast.Constant) else ""
                if ast.unparse(one) == "sys.executable" and str(flag).startswith("-"):
                    found.append(flag)
    return found


def test_every_start_of_python_leaves_out_the_folder_of_the_call():
    files = {*MODULES, *LESSONS} - APART
    started = {path: found for path in files if (found := flags(path))}
    assert len(started) >= 12
    open_to_others = {str(path) for path, found in started.items() if not SAFE.issuperset(found)}
    assert not open_to_others, "put -P behind sys.executable"


def test_the_list_sees_what_is_open(tmp_path):
    program = tmp_path / "program.py"
    program.write_text('[sys.executable, "-m", "x"]\n["a", sys.executable, "-I", "-c", "y"]')
    assert flags(program) == ["-m", "-I"]


@pytest.mark.skipif(sys.platform != "linux", reason="networks without a way out are Linux's")
def test_a_strangers_labkit_in_that_folder_does_not_run(tmp_path):
    """`python program.py`, called in a folder where others write."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "labkit.py").write_text(HOSTILE)
    program = tmp_path / "program.py"
    program.write_text(
        "from labkit.distributed.connections.closed_network import without_way_out\n"
        "print(without_way_out(lambda: print('ours')))\n"
    )
    command = [sys.executable, program]
    done = subprocess.run(command, cwd=tmp_path / "open", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "ours" or "This was not run here." in done.stdout
    assert not (tmp_path / "open" / "ran").exists()
