"""`make prove`: what is noted, what an interrupted proof goes on with, what README is told."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import prove

ROOT = Path(__file__).resolve().parents[2]
TESTS = """\
from pathlib import Path
import time

ROOM = Path(__file__).parents[1] / "build"


def note(name):
    with (ROOM / "ran").open("a") as ran:
        ran.write(name + " ")


def test_one():
    note("one")


def test_two():
    note("two")
    while (ROOM / "hang").exists():
        time.sleep(0.01)
    assert not (ROOM / "fail").exists()
"""
README = "| what | state |\n|---|---|\n| the whole proof: `make prove` | not yet |\n"


class Clone:
    """A clone of a small course, with two tests, in which a proof can be run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("tools", "tests", "chapters", "simt/tests", "build"):
            (root / name).mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "prove.py", root / "tools")
        (root / "tests" / "test_small.py").write_text(TESTS)
        (root / "README.md").write_text(README)
        (root / ".gitignore").write_text("/build/\n__pycache__/\n.pytest_cache/\n")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=me", "-c", "user.email=me@example.com")
        subprocess.run(["git", *who, *arguments], cwd=self.root, check=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "as it is", "--allow-empty")

    def start(self) -> subprocess.Popen:
        """Begin a proof, in a group of processes of its own."""
        command = [sys.executable, "-m", "tools.prove"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=self.root, start_new_session=True, **pipes)

    def prove(self) -> tuple[int, str]:
        """Exit code of a proof, and what it says."""
        proof = self.start()
        said, _ = proof.communicate()
        return proof.returncode, said

    def flag(self, name: str, up: bool = True) -> None:
        flag = self.root / "build" / name
        flag.touch() if up else flag.unlink()

    @property
    def ran(self) -> list[str]:
        """The tests that ran, in all proofs; in their order within one process."""
        ran = self.root / "build" / "ran"
        return ran.read_text().split() if ran.exists() else []

    @property
    def noted(self) -> int:
        """How many tests the records hold."""
        records = (self.root / "build" / "prove").glob("*.txt")
        return sum(len(record.read_text().splitlines()) for record in records)

    @property
    def row(self) -> str:
        return (self.root / "README.md").read_text().splitlines()[-1]


def until(holds: Callable[[], bool]) -> None:
    """Wait for it; ten minutes end a hang."""
    for _ in range(12_000):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path / "course")


def test_an_interrupted_proof_goes_on_where_it_was(clone):
    clone.flag("hang")
    proof = clone.start()
    until(lambda: proof.poll() is not None or ("two" in clone.ran and clone.noted == 1))
    assert proof.poll() is None, proof.stdout.read()
    os.killpg(proof.pid, signal.SIGKILL)
    proof.communicate()
    assert clone.row.endswith("not yet |")
    clone.flag("hang", up=False)
    code, said = clone.prove()
    assert code == 0 and "1 of this commit are proved already" in said, said
    assert sorted(clone.ran) == ["one", "two", "two"]
    assert "2 tests and 0 cells passed, 0 skipped" in clone.row
    assert "commit " in clone.row and " minutes on " in clone.row


@pytest.mark.night(
    instead="tests/project/test_prove.py::test_an_interrupted_proof_goes_on_where_it_was"
)
def test_where_no_test_is_found_nothing_is_proved(clone):
    (clone.root / "tests" / "test_small.py").write_text("")
    clone.commit()
    code, said = clone.prove()
    assert code != 0 and "Not everything is proved: 0 are" in said
    assert clone.row.endswith("not yet |")


@pytest.mark.night(
    instead="tests/project/test_prove.py::test_an_interrupted_proof_goes_on_where_it_was"
)
def test_a_failure_is_no_proof_and_runs_again(clone):
    clone.flag("fail")
    code, said = clone.prove()
    assert code == 1 and "Not everything is proved: 1 are" in said
    assert clone.row.endswith("not yet |")
    clone.flag("fail", up=False)
    assert clone.prove()[0] == 0
    assert sorted(clone.ran) == ["one", "two", "two"]


@pytest.mark.night(
    instead="tests/project/test_prove.py::test_an_interrupted_proof_goes_on_where_it_was"
)
def test_another_commit_begins_anew_and_so_does_what_no_commit_holds(clone):
    assert clone.prove()[0] == 0
    clone.commit()
    stood = clone.row
    (clone.root / "tests" / "test_small.py").write_text(TESTS + "\n\ndef test_three(): pass\n")
    code, said = clone.prove()
    assert code == 0 and "README.md keeps its row" in said and "3 tests" in said
    assert clone.row == stood
    clone.commit()
    assert clone.prove()[0] == 0
    assert clone.ran.count("one") == 3 and "3 tests and 0 cells" in clone.row


def test_a_folder_without_git_is_told(clone):
    shutil.rmtree(clone.root / ".git")
    code, said = clone.prove()
    assert code == 2 and "a proof is of a commit" in said


def test_a_line_cut_off_is_not_taken_for_a_proof(tmp_path):
    record = tmp_path / "record.txt"
    assert prove.read(record) == ({}, 0.0)
    record.write_text("passed\t2.0\ta::x\nskipped\t5.5\ta::y\npassed\t1.5\tb.ipynb::Cell 0\npass")
    proved = prove.read(record)
    assert proved.outcomes == {"a::x": "passed", "a::y": "skipped", "b.ipynb::Cell 0": "passed"}
    assert proved.seconds == 7.0, "two runs, the first of 5.5 s"
    assert proved.count("passed", cells=True) == proved.count("passed", cells=False) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a full disk is played by /dev/full")
def test_a_full_disk_ends_the_proof_with_a_sentence():
    with Path("/dev/full").open("ab", buffering=0) as full:
        notes = prove.Notes(full)
        ended = SimpleNamespace(nodeid="a::x", when="teardown", failed=False, skipped=False)
        with pytest.raises(pytest.exit.Exception, match=r"noted in /dev/full: .* Make room there"):
            notes.pytest_runtest_logreport(ended)


def test_a_notebook_of_which_a_cell_is_missing_runs_whole(tmp_path, monkeypatch):
    record = tmp_path / "record"
    done = ["t.py::a", "whole.ipynb::Cell 0", "half.ipynb::Cell 0"]
    Path(f"{record}.before").write_text("".join(f"passed\t1.0\t{test}\n" for test in done))
    monkeypatch.setenv(prove.RECORD, str(record))
    tests = [*done, "t.py::b", "half.ipynb::Cell 1"]
    items = [SimpleNamespace(nodeid=t, path=Path(t.split("::")[0])) for t in tests]
    left_out = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    prove.pytest_collection_modifyitems(SimpleNamespace(hook=hook), items)
    assert [i.nodeid for i in items] == ["half.ipynb::Cell 0", "t.py::b", "half.ipynb::Cell 1"]
    assert [i.nodeid for i in left_out] == ["t.py::a", "whole.ipynb::Cell 0"]
