"""Prove everything: `make prove`. Every test, every planted answer, every notebook and its twin.

What passes is noted under build/prove/ as it passes, in a file named after the commit. An
interrupted proof goes on there, as long as the commit is the same and nothing was changed since.
When all has passed, a row of README.md says when, of which commit, how much, how long and where.

This file is the command, and pytest's plugin in it (`-p tools.prove`) as well.
"""

import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
RECORD = "LABKIT_PROOF"  # the environment variable that names the record to the plugin
PYTEST = ("pytest", "--quiet", "--nbval", "--numprocesses=3", "-p", "tools.prove")
WHERE = ("tests", "chapters", "simt/tests")
ROW = re.compile(r"^\| the whole proof: `make prove` \|.*$", re.MULTILINE)
ALL_RAN_BEFORE = 5  # pytest's exit code where no test is left


class Proved(NamedTuple):
    """What a record holds: outcome ("passed" or "skipped") by test, and seconds of all runs."""

    outcomes: dict[str, str]
    seconds: float

    def count(self, outcome: str, cells: bool) -> int:
        """How many tests, or cells of notebooks, came to this."""
        return sum(
            ended == outcome and (".ipynb::" in test) == cells
            for test, ended in self.outcomes.items()
        )


def read(record: Path) -> Proved:
    """What has been proved so far; a line that was being written when all ended is left out."""
    outcomes: dict[str, str] = {}
    seconds = [0.0]  # of each run, up to its last test
    text = record.read_text("utf-8") if record.exists() else ""
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        outcome, at, test = line.rstrip("\n").split("\t", 2)
        if float(at) < seconds[-1]:
            seconds.append(0.0)
        seconds[-1] = float(at)
        outcomes[test] = outcome
    return Proved(outcomes, sum(seconds))


# --- pytest's plugin: what has passed is noted by the one that hands out the tests ---------------


class Notes:
    """Writes each test that passed, or was skipped, into the record as soon as it ended."""

    def __init__(self, record: BinaryIO) -> None:
        self.record = record
        self.start = time.monotonic()
        self.skipped: set[str] = set()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid
        if report.failed:
            self.failed.add(test)
        if report.skipped:
            self.skipped.add(test)
        if report.when != "teardown" or test in self.failed:
            return
        outcome = "skipped" if test in self.skipped else "passed"
        try:
            line = f"{outcome}\t{time.monotonic() - self.start:.1f}\t{test}\n"
            self.record.write(line.encode())
        except OSError as error:
            pytest.exit(
                f"The proof cannot be noted in {self.record.name}: {error.strerror}. Make room "
                "there and run `make prove` again: it goes on where it is now.",
                returncode=1,
            )


def pytest_configure(config: pytest.Config) -> None:
    """The process that hands out the tests takes the notes."""
    if RECORD in os.environ and not hasattr(config, "workerinput"):
        record = Path(os.environ[RECORD]).open("ab", buffering=0)  # noqa: SIM115
        config.add_cleanup(record.close)
        config.pluginmanager.register(Notes(record), "notes of the proof")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is proved. A notebook's cells need each other: all of them, or none."""
    if RECORD not in os.environ:
        return
    proved = read(Path(os.environ[RECORD] + ".before")).outcomes
    cells = defaultdict(list)
    for item in items:
        if item.path.suffix == ".ipynb":
            cells[item.path].append(item.nodeid)
    whole = {path for path, ids in cells.items() if all(id in proved for id in ids)}
    left, done = [], []
    for item in items:
        is_done = item.path in whole if item.path in cells else item.nodeid in proved
        (done if is_done else left).append(item)
    config.hook.pytest_deselected(items=done)
    items[:] = left


# --- the command ---------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    """What git says of the course's folder."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@contextmanager
def record_of(commit: str, changed: str) -> Iterator[Path]:
    """The record to go on with: of this commit, or a new one where something was changed."""
    folder = ROOT / "build" / "prove"
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"{commit}.txt"
    for other in folder.iterdir():
        if other != record:
            other.unlink()  # of another commit, or of changes that no commit holds
    if changed:
        record = folder / "changed.txt"
    before = Path(f"{record}.before")  # every process of pytest leaves out the same
    before.write_text(record.read_text("utf-8") if record.exists() else "", "utf-8")
    yield record
    before.unlink()


def row(proved: Proved, commit: str) -> str:
    """The row of README.md for a whole proof."""
    from labkit.machine_probe import this_machine

    skipped = proved.count("skipped", cells=False) + proved.count("skipped", cells=True)
    counts = (
        f"{proved.count('passed', cells=False):,} tests and "
        f"{proved.count('passed', cells=True):,} cells passed, {skipped:,} skipped"
    )
    here, today = this_machine(), time.strftime("%Y-%m-%d", time.gmtime())
    return (
        f"| the whole proof: `make prove` | {today}, commit {commit[:10]}: {counts}, "
        f"in {proved.seconds / 60:.0f} minutes on {here.name} |"
    )


def main() -> int:
    """Run what is not proved yet; 0 when everything is."""
    try:
        commit, changed = git("rev-parse", "HEAD"), git("status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        print("`make prove` needs git and a clone of the course: a proof is of a commit.")
        return 2
    try:
        with record_of(commit, changed) as record:
            return prove(record, commit, changed)
    except OSError as error:
        print(f"The proof cannot be noted in {ROOT / 'build'}: {error.strerror}.")
        return 1


def prove(record: Path, commit: str, changed: str) -> int:
    """Run pytest with the record, and say what came of it."""
    proved = read(record)
    if proved.outcomes:
        print(f"{len(proved.outcomes):,} of this commit are proved already: going on there.")
    environment = os.environ | {RECORD: str(record)}
    done = subprocess.run([sys.executable, "-m", *PYTEST, *WHERE], cwd=ROOT, env=environment)
    proved = read(record)
    if done.returncode not in (0, ALL_RAN_BEFORE) or not proved.outcomes:
        count = f"{len(proved.outcomes):,}"
        print(f"Not everything is proved: {count} are. `make prove` goes on there.")
        return done.returncode or 1
    said = row(proved, commit)
    print(said)
    if changed:
        print("README.md keeps its row: there are changes that no commit holds.")
        return 0
    page = ROOT / "README.md"
    text, replaced = ROW.subn(lambda _: said, page.read_text("utf-8"))
    if not replaced:
        print("README.md has no row `the whole proof: make prove` to write this into.")
        return 1
    page.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
