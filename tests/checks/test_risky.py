"""A check ends whatever an answer does, says so in a sentence, and leaves nothing changed."""

import json
import os
import subprocess
import sys

import pytest

from tests.checks.risky import RISKY

BY_DAY = (  # one or two of each mechanism
    *("exits", "exits_by_way_of_c", "forks", "becomes_another_by_name", "leaves"),
    *("sets_an_alarm", "allows_any_recursion", "closes_stdout", "closes_a_descriptor"),
    *("changes_directory", "deletes_print", "replaces_a_module", "asks_for_a_terabyte"),
    *("recurses_through_sorted", "returns_what_is_deep", "returns_what_raises"),
    *("leaves_a_busy_thread", "leaves_a_process_with_another"),
)


def feedback(names):
    """The name of each answer -> what it was told, and what it has changed; one after the other."""
    command = [sys.executable, "-m", "tests.checks.risky", *names]
    environment = os.environ | {"LABKIT_PROGRESS": "off"}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(names), f"{names[len(rows)]} ends the process: {done.stderr[-2000:]}"
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr[-2000:]
    return {name: (words, changed) for name, words, changed in rows}


def wrong_rows(names):
    found = feedback(names)
    return {
        name: found[name]
        for name in names
        if RISKY[name][1] not in found[name][0] or found[name][1]
    }


def test_the_process_survives_each_mechanism():
    assert not wrong_rows(BY_DAY)


@pytest.mark.night(instead="tests/checks/test_risky.py::test_the_process_survives_each_mechanism")
def test_the_process_survives_all_answers_one_after_the_other():
    assert len(RISKY) >= 40
    assert not wrong_rows(list(RISKY))
