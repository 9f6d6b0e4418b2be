"""`numba-simt SCRIPT`: exit codes, and what is told of scripts, modules and notebooks."""

import json
import sys
from pathlib import Path

import pytest

import numba_simt
from numba_simt import cuda
from numba_simt.command.main import main
from numba_simt.launching import dispatcher

from .conftest import FINE, RACY


def test_a_race_is_exit_code_1_and_both_lines_are_quoted(command):
    done = command(RACY)
    assert done.code == 1 and done.out == "counted\n"
    assert done.said.startswith("numba-simt: 1 error")
    assert "script.py:8: error: race in `count`" in done.said
    assert done.said.count("line 8     h[x[i]] += 1") >= 2 and "h[0]" in done.said
    assert "1 kernel, 1 launch: 1 watched, 0 plain." in done.said


def test_nothing_found_is_exit_code_0_and_nothing_of_the_machine_stays(command):
    import numba

    before = {name: sys.modules.get(name) for name in ("numba.cuda", "__main__")}
    mine, path = vars(numba).get("cuda"), sys.path[:]
    done = command(FINE)
    assert (done.code, done.out) == (0, "sum 4950\n")
    assert done.said.startswith("numba-simt: nothing found in 1 kernel\n")
    assert {name: sys.modules.get(name) for name in before} == before
    assert vars(numba).get("cuda") is mine and sys.path == path
    assert dispatcher.onlooker is None and not hasattr(cuda, "__path__")


def test_the_script_has_its_own_arguments_and_folder(command, here):
    (here / "beside.py").write_text("NAME = 'beside'\n")
    text = "import sys, beside\nprint(sys.argv, beside.NAME, __name__, __file__)\n"
    done = command(text, "--count", arguments=["--count", "-m", "x"])
    script = str(here / "script.py")
    assert done.out == f"{['script.py', '--count', '-m', 'x']} beside __main__ {script}\n"


def test_a_module_runs_by_its_name(command, here, capsys):
    (here / "package").mkdir()
    (here / "package" / "part.py").write_text(RACY + "import sys\nprint(sys.argv[1:])\n")
    assert main(["-m", "package.part", "a"]) == 1
    out, said = capsys.readouterr()
    assert out == "counted\n['a']\n" and "part.py:8: error: race" in said


def test_a_folder_with_a_main_runs_and_one_without_is_refused(command, here, capsys):
    (here / "program").mkdir()
    assert command(None, file="program").code == 2
    (here / "program" / "__main__.py").write_text(FINE)
    assert command(None, file="program").out == "sum 4950\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["missing.py"], "There is no file missing.py."),
        (["."], "is a folder without __main__.py"),
        ([], "name a script, a module or a notebook"),
        (["-m"], "name a module behind -m"),
        (["--launches", "0", "x.py"], "no number of launches"),
        (["--launch", "3", "x.py"], "unrecognized arguments: --launch"),
        (["--cc", "new", "there.py"], "no compute capability"),
        (["--cc", "3.0", "there.py"], "no compute capability 3.0 that Numba compiles for"),
        (["--cc", "99.9", "there.py"], "from 3.5 to 12.1"),
        (["--json", "-", "there.py"], "--json - has no file: name one"),
        (["--ignore", "nowhere.txt", "there.py"], "nowhere.txt"),
        (["--json", "no/such/folder.json", "there.py"], "folder.json cannot be written: No such"),
        (["--html", "..", "there.py"], "--html .. cannot be written: Is a directory"),
        (["broken.ipynb"], "no notebook"),
    ],
)
def test_a_mistake_in_the_command_line_is_exit_code_2(here, capsys, words, why):
    (here / "there.py").write_text("print('it ran')")
    (here / "broken.ipynb").write_text("{}")
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    out, said = capsys.readouterr()
    assert code == 2 and why in said and out == ""


def test_what_the_script_raises_is_told_with_its_traceback_alone(command):
    done = command(RACY + "def f():\n    raise ValueError('no such thing')\nf()\n")
    assert done.code == 1
    head, _, trace = done.said.partition("Traceback (most recent call last):\n")
    assert "error: race" in head and "script.py raised ValueError" in head
    assert trace.startswith('  File "') and "script.py" in trace.splitlines()[0]
    assert trace.endswith("ValueError: no such thing\n") and "runpy" not in trace
    done = command(FINE + "raise ValueError('no such thing')\n")
    assert done.code == 1
    assert done.said.startswith("numba-simt: nothing found in 1 kernel; it raised ValueError\n")


def test_a_script_that_is_no_python_is_told(command):
    done = command("def f(:\n")
    assert done.code == 1 and "SyntaxError" in done.said and "script.py" in done.said


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [("3", 3, "ended with exit code 3"), ("", 0, ""), ("'enough'", 1, "enough\n")],
)
def test_sys_exit_gives_the_scripts_own_code(command, end, code, words):
    done = command(f"{FINE}import sys\nsys.exit({end})\n")
    assert done.code == code and words in done.said and "Traceback" not in done.said
    assert command(f"{RACY}import sys\nsys.exit({end})\n").code == 1


def test_what_the_machine_refuses_stands_above_the_traceback(command):
    refused = (
        FINE + "@cuda.jit\ndef odd(x):\n    y = {1: 2}\n    x[0] = y[1]\n\nodd[1, 1](np.zeros(1))\n"
    )
    done = command(refused)
    assert done.code == 1 and done.out == "sum 4950\n"
    head, _, trace = done.said.partition("Traceback")
    assert "nothing found in 1 kernel, 1 refusal" in head
    assert "script.py:15: refused of `odd`" in head and "y = {1: 2}" in head
    assert "1 launch: 1 watched" in head  # the rest of the report
    assert "odd[1, 1]" in trace and "numba_simt/translation" not in trace


def test_a_refusal_that_the_script_catches_is_told_all_the_same(command):
    text = FINE + "try:\n    fill[1, 32]('x')\nexcept ValueError:\n    print('caught')\n"
    done = command(text)
    assert done.code == 0 and "caught" in done.out
    assert "nothing found in 1 kernel, 1 refusal" in done.said
    assert "script.py:5: refused of `fill`" in done.said and "is a str" in done.said


def test_a_name_that_the_machine_lacks_is_refused_with_the_importing_line(command):
    done = command("import os\nfrom numba.cuda import cooperative_groups\n")
    assert done.code == 1
    assert "script.py:2: refused" in done.said and "no cuda.cooperative_groups" in done.said


def test_a_stopped_kernel_is_a_finding_and_its_error_reaches_the_script(command):
    text = FINE + "\n@cuda.jit\ndef out(x):\n    x[cuda.grid(1)] = 1\n"
    done = command(text + "try:\n    out[4, 32](x)\nexcept IndexError:\n    print('stopped')\n")
    assert done.code == 1 and done.out.endswith("stopped\n")
    assert "script.py:16: error: out of bounds in `out`" in done.said


def test_more_memory_than_there_is_ends_with_its_traceback(command):
    done = command(FINE + "np.zeros(10**15)\n")
    assert done.code == 1 and "MemoryError" in done.said and "1 launch" in done.said


NOTEBOOK = {
    "nbformat": 4,
    "cells": [
        {"cell_type": "markdown", "source": "# title"},
        {"cell_type": "code", "source": "%matplotlib inline\nimport numpy as np"},
        {"cell_type": "code", "source": ["from numba import cuda\n", *RACY.splitlines(True)[2:]]},
        {"cell_type": "code", "source": "!pip install x\n%time count[1, 64](x0, h0)"},
    ],
}


def test_a_notebook_runs_cell_by_cell_without_its_magics(command, here):
    text = json.dumps(NOTEBOOK).replace("import numpy as np", "import numpy as np\\nx0 = h0 = []")
    text = text.replace("x0 = h0 = []", "x0, h0 = np.arange(64) % 2, np.zeros(2, np.int64)")
    done = command(text, file="work.ipynb")
    assert done.code == 1 and "counted" in done.out
    assert "work.ipynb, cell 2:7: error: race in `count`" in done.said
    said = " ".join(done.said.split())
    assert "%matplotlib inline; !pip install x; %time count[1, 64](x0, h0) (run once" in said
    assert "1 kernel, 2 launches" in done.said


def test_ten_thousand_launches_are_watched_in_their_first_ones(command):
    text = FINE.replace("fill[4, 32](x)", "for _ in range(500):\n    fill[4, 32](x)")
    done = command(text + "fill[1, 32](x)\n")
    assert done.code == 0 and "501 launches: 4 watched, 497 plain" in done.said
    assert "first 3 launches of each kernel, grid, block and types" in done.said
    done = command(text, "--launches", "7")
    assert "7 watched, 493 plain" in done.said


def test_an_array_too_large_to_be_remembered_is_left_out_and_named(command):
    text = """\
import numpy as np
from numba import cuda
@cuda.jit
def k(large, small):
    large[0] = cuda.threadIdx.x
    small[0] = cuda.threadIdx.x
k[1, 32](np.zeros(40_000_000, np.uint8), np.zeros(1, np.uint8))
"""
    done = command(text)
    assert done.code == 1 and "k: large would need more than 4 GB" in done.said
    assert "script.py:6: error: race" in done.said and "script.py:5:" not in done.said


def test_fast_gives_up_what_takes_long_and_says_so(command, monkeypatch):
    monkeypatch.setattr("numba_simt.watching.session.FAST", 50_000)
    text = """\
import numpy as np
from numba import cuda
@cuda.jit
def k(x, n):
    for i in range(n):
        x[cuda.grid(1) % 2] += 1
x = np.zeros(2)
k[1, 64](x, 60_000)
k[1, 64](x, 1)
print(x.sum() > 60_000)
"""
    done = command(text, "--fast")
    assert "watching 1 launch was given up" in done.said and done.out == "True\n"
    assert "2 launches: 0 watched, 1 watched in part, 1 plain" in done.said
    assert done.said.startswith("numba-simt: 1 error in 1 kernel, not watched to the end\n")
    assert done.code == 1 and "error: race" in done.said  # seen until then
    assert "0 plain" in command(text).said


def test_what_was_not_watched_to_the_end_is_no_all_clear(command, monkeypatch):
    monkeypatch.setattr("numba_simt.watching.session.FAST", 50_000)
    text = """\
import numpy as np
from numba import cuda
@cuda.jit
def late(x, y):
    for i in range(60_000):
        x[cuda.grid(1)] += 1
    y[0] += 1
@cuda.jit
def early(x):
    x[cuda.grid(1)] = 1
late[1, 64](np.zeros(64), np.zeros(1))
"""
    nothing = "numba-simt: nothing found in 1 kernel, not watched to the end\n"
    assert command(text, "--fast", "--quiet") == (0, "", nothing)
    both = command(text + "early[1, 64](np.zeros(64))\n", "--fast").said
    assert both.startswith("numba-simt: nothing found in 2 kernels, 1 of 2 not watched to the end")
    twice = command(text + "late[2, 32](np.zeros(64), np.zeros(1))\n", "--fast").said
    assert "1 kernel, 2 launches: 0 watched, 2 watched in part, 0 plain" in twice
    assert "1 error in 1 kernel\n" in command(text).said


def test_counters_stand_beside_their_lines(command):
    said = command(FINE, "--count").said
    row = next(line for line in said.splitlines() if "x[i] = i" in line)
    # 100 float64 are 25 sectors, asked for by 4 warps, of whose 128 lanes 100 are active.
    assert row.split()[-5:] == ["4", "25", "6.25", "78.1", "%"]


def test_quiet_is_silent_about_nothing(command):
    assert command(FINE, "--quiet").said == ""
    assert command(RACY, "--quiet").said.startswith("numba-simt: 1 error")
    assert command(RACY, "--quiet").said.count("\n") == 1


def test_a_gpu_that_is_there_is_mentioned_unless_cpu_is_insisted_on(command, monkeypatch):
    there = "numba_simt.command.surroundings.gpu_is_there"
    monkeypatch.setattr(there, lambda: True)
    assert "There is an NVIDIA GPU here" in command(FINE).said
    assert "GPU" not in command(FINE, "--cpu").said
    monkeypatch.setattr(there, lambda: False)
    assert "GPU" not in command(FINE).said


def test_the_target_is_chosen_for_what_runs(command):
    text = (
        "import os\nprint(os.environ.get('NUMBA_SIMT_CC'), os.environ.get('NUMBA_SIMT_STRICT'))\n"
    )
    assert command(text).out == "None None\n"
    assert command(text, "--cc", "6.1", "--strict").out == "6.1 1\n"


def test_the_command_says_where_the_simulator_differs(command):
    done = command(FINE, "--compare")
    assert "On Numba's simulator it prints the same and ends the same." in done.said
    done = command(FINE + "print(cuda.__name__)\n", "--compare")
    assert "Line 2 of its output is `numba_simt.cuda` here, and `numba" in done.said
    done = command("from numba import cuda\nassert 'simt' in cuda.__name__\n", "--compare")
    assert "On Numba's simulator it ends with exit code 1: AssertionError" in done.said


def test_what_a_script_does_to_its_process_leaves_the_report_whole(command, here):
    """It goes to another folder, replaces its streams, and changes its arguments."""
    (here / "elsewhere").mkdir()
    changes = "import os, sys, io\nos.chdir('elsewhere')\nsys.stderr = sys.stdout = io.StringIO()\n"
    done = command(changes + RACY + "sys.argv.clear()\n", "--json", "out.json")
    assert done.code == 1 and "script.py:11: error: race" in done.said and done.out == ""
    assert (here / "out.json").read_text() and Path.cwd() == here


def test_the_version_is_that_of_the_package(command):
    command(FINE, "--json", "out.json")
    assert json.loads(Path("out.json").read_text())["numba_simt"] == numba_simt.__version__
