"""Ways to a verdict that is not deserved, each tried: the grader says what is true.

Each cheat is right for the notebook's own `check`, or would be; and a right answer stands beside
it, whose verdict nothing changes.
"""

import csv
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest

from labkit.checks.items import Exercise
from labkit.checks.judge import seeded_cases
from labkit.checks.registry import registry
from labkit.course.config import config
from labkit.course.grading.command import grade
from tests.course.grading.notebooks import CHECK, ID, RIGHT, WRONG, submit

SOLUTIONS = "labkit_lessons.gpu.gradients.solutions"
PATCHES = """
import labkit, labkit.checks.compare, labkit.checks.judge, labkit.checks.diagnosis.diagnose
import labkit.checks.watch.run, labkit.course.grading.data as data
from labkit.checks.render import Message
labkit.checks.compare.compare = lambda *_: None
labkit.checks.judge.compare = lambda *_: None
labkit.checks.judge.diagnose = lambda *_, **__: None
labkit.checks.judge._verdict = lambda *_: Message("Right", "solved")
data.send = lambda stream, message: stream.write(
    b'{"word": "Right", "text": "", "cause": "", "way": "", "runs": [], "verdict": "Right"}\\n')
np.sum = lambda values: 0.0
"""
FORGED = """
import os
for number in range(3, 64):
    try:
        os.write(number, b'{"word": "Right", "text": "", "cause": "", "way": "apart"}\\n')
    except OSError:
        pass
"""
COPIES = {
    "imported": f"from {SOLUTIONS} import one_output as ours",
    "read": "import labkit, pathlib\n"
    "place = pathlib.Path(labkit.__file__).parents[1] / 'chapters/01_gpu/source'\n"
    "text = (place / 'gradients/solutions.py').read_text()\n"
    "own = {}\nexec(text, own)\nours = own['one_output']",
    "from_memory": "import gc, types\n"
    "found = [f for f in gc.get_objects() if isinstance(f, types.FunctionType)\n"
    "         and f.__module__.startswith('labkit_lessons')]\n"
    "ours = [f for f in found if f.__name__ in ('one_output', 'weighted_sum')][0]",
    "from_the_judge": "import os, pathlib, re\n"
    "for one in pathlib.Path('/proc').glob('[0-9]*/environ'):\n"
    "    pathlib.Path(one.parent, 'mem').open('rb').close()\n"
    "raise LookupError('no other process can be seen')",
}


def table():
    """A cell with an answer from a table of the course's own cases: right for `check` alone."""
    exercise = registry().find(ID, Exercise)
    pairs = {}
    for case in seeded_cases(exercise):
        pairs[float(np.sum(case.args[0]))] = float(exercise.oracle(*case.args))
    body = "def one_output(x, w, b):\n    return TABLE.get(float(np.sum(x)), 0.0)\n"
    return f"TABLE = {pairs!r}\n{body}"


@pytest.fixture(scope="module")
def verdicts(rooms, tmp_path_factory):
    """The verdict on each cheat."""
    folder = tmp_path_factory.mktemp("cheats")
    submit(folder, "honest", RIGHT + CHECK)
    submit(folder, "patched", PATCHES, WRONG + CHECK)
    submit(folder, "forged", FORGED + WRONG + FORGED + CHECK)
    inner = indent(FORGED, "    ")
    submit(folder, "forged_late", f"def one_output(x, w, b):\n{inner}\n    return x @ w\n", CHECK)
    submit(folder, "table", table(), CHECK)
    for name, text in COPIES.items():
        body = indent(f"{text}\nreturn ours(x, w, b)", "    ")
        submit(folder, name, f"def one_output(x, w, b):\n{body}\n", CHECK)
    submit(folder, "own_check", "check = lambda id, f: f\n", WRONG + CHECK)
    submit(folder, "no_number", "class Any(float):\n    __eq__ = lambda *_: True\n"
           "def one_output(x, w, b):\n    return Any(0)\n", CHECK)  # fmt: skip
    out = folder.parent / "grades"
    grade(config(), str(folder), str(out))
    rows = csv.DictReader((out / "grades.csv").read_text("utf-8").splitlines())
    return {row["student"]: row["verdict"] for row in rows if row["exercise"] in (ID, "")}


def test_the_table_is_right_for_the_notebook_alone(verdicts, capsys, monkeypatch):
    from labkit import check

    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    own = {"np": np}
    exec(table(), own)
    assert check(ID, own["one_output"]) is own["one_output"]
    assert "Right" in capsys.readouterr().out
    assert verdicts["table"] == "Look again"


def test_an_honest_answer_beside_them_stays_right(verdicts):
    assert verdicts["honest"] == "Right"


@pytest.mark.parametrize("name", ["patched", "forged", "forged_late", *COPIES, "no_number"])
def test_no_cheat_is_right(verdicts, name):
    assert verdicts[name] in ("Look again", "Not judged", "Stopped", "Not yet", "No answer")


def test_a_check_of_one_s_own_hands_nothing_in(verdicts):
    assert verdicts["own_check"] in ("No answer", "Look again")


PICKLED = """
import torch
class Evil:
    def __reduce__(self):
        import builtins
        return (builtins.eval, ("__import__('labkit.checks.judge', fromlist=['x'])."
            "__dict__.update(_verdict=lambda *_: __import__('labkit.checks.render',"
            "fromlist=['x']).Message('Right', 'solved'))",))

def pass_on(rank, ranks, x):
    return Evil()
"""
LATE = """
class Late:
    def __call__(self, rank, ranks, x):
        return x
    def __reduce__(self):
        return Evil().__reduce__()
pass_on = Late()
"""
RANKS = 'check("distributed.pass_on", pass_on)\n'


@pytest.fixture(scope="module")
def other_verdicts(rooms, tmp_path_factory):
    """Cheats in a module of SystemVerilog, and in ranks."""
    from labkit_lessons.fpga.a_multiply_accumulate_array import solutions

    folder = tmp_path_factory.mktemp("other_cheats")
    note = r'(* note = "x\012static int evil = system(\"touch /tmp/was_run\"); //" *)'
    mac = solutions.mac.replace("  logic first;", f"  {note} logic first;")
    assert mac != solutions.mac
    submit(folder, "attribute", f'mac = {mac!r}\ncheck("fpga.mac", mac)\n')
    submit(folder, "result", PICKLED + RANKS)
    submit(folder, "answer", PICKLED + LATE + RANKS)
    out = folder.parent / "other_grades"
    grade(config(), str(folder), str(out))
    rows = csv.DictReader((out / "grades.csv").read_text("utf-8").splitlines())
    ids = ("fpga.mac", "distributed.pass_on")
    return {row["student"]: row for row in rows if row["exercise"] in ids}


def test_code_in_an_attribute_of_systemverilog(other_verdicts):
    row = other_verdicts["attribute"]
    assert row["verdict"] == "Look again" and "line break" in row["diagnosis"]
    assert not Path("/tmp/was_run").exists()


@pytest.mark.parametrize("name", ["result", "answer"])
def test_pickles_of_ranks_change_no_verdict(other_verdicts, name):
    assert other_verdicts[name]["verdict"] in ("Look again", "Not yet", "Not judged", "Stopped")
