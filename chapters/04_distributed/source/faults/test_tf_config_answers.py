"""What a TF_CONFIG says, as places; and the sentence for one that says nothing."""

import json

import numpy as np
import pytest

from labkit import check
from labkit.checks.items import Refused
from labkit_lessons.distributed.faults.tf_config_answers import in_words, read, read_as_places
from tests.exercises.edits import edit

ADDRESSES = ["a:1", "b:2", "b:3", "c:2"]
CLUSTER = {"chief": ["a:1"], "ps": ["b:2"], "worker": ["b:3", "c:2"]}
TASK = {"type": "worker", "index": 1}
INDEX = '"index": index'


def text(cluster=CLUSTER, task=TASK):
    return json.dumps({"cluster": cluster, "task": task})


def refused(said):
    with pytest.raises(Refused) as caught:
        read(said, ADDRESSES)
    return str(caught.value)


def test_addresses_become_places():
    chief, ps, worker, task = read(text(), ADDRESSES)
    assert (chief.tolist(), ps.tolist(), worker.tolist()) == ([0], [1], [2, 3])
    assert task.tolist() == [2, 1]


def test_a_role_without_members_may_be_missing():
    chief, ps, worker, task = read(
        text({"chief": ["b:2"]}, {"type": "chief", "index": 0}), ADDRESSES
    )
    assert (chief.tolist(), ps.tolist(), worker.tolist()) == ([1], [], [])
    assert task.tolist() == [0, 0]


@pytest.mark.parametrize("index", [-1, 2, 10])
def test_a_task_that_the_cluster_does_not_have_is_told_as_it_is(index):
    _, _, _, task = read(text(task={"type": "worker", "index": index}), ADDRESSES)
    assert task.tolist() == [2, index]


def test_what_is_wrong_is_told_in_words():
    given = (["a"] * 6, range(6), 2, 4)
    told = in_words(given, "task", np.array([1, 4]), np.array([2, 1]))
    assert told == "The task is that of ps 4; process 4 is worker 1."
    told = in_words(given, "worker", np.array([2, 3, 4]), np.array([], dtype=int))
    assert told.startswith('"worker" has the addresses of the processes 2, 3 and 4; these should')
    assert told.endswith("be those of no process.")
    told = in_words(given, "ps", np.arange(40), np.array([7]))
    assert "2, 3, 4, 5, 6, 7 and so on, 40 in all; these should be those of process 7." in told


def test_a_slip_of_the_index_is_told_as_a_person_would(capsys):
    check("distributed.tf_config", edit("distributed.tf_config", "w", INDEX, '"index": number'))
    said = capsys.readouterr().out
    assert "The task is that of worker 4; process 4 is worker 1." in said
    assert "`task" not in said


def test_what_is_no_config_is_told_so():
    assert "returns nothing" in refused(None)
    assert "this is of type dict" in refused({"cluster": CLUSTER, "task": TASK})
    assert "JSON has double quotes" in refused(str({"cluster": CLUSTER, "task": TASK}))
    assert "no JSON" in refused("chief") and "double" not in refused("chief")
    assert 'no "cluster"' in refused(json.dumps({"task": TASK}))
    assert 'no "task"' in refused(json.dumps({"cluster": CLUSTER}))
    assert 'no "cluster"' in refused("[1, 2]")
    assert "role 'server'" in refused(text({"server": ["b:2"]}))
    assert "no list" in refused(text({"ps": "b:2"}))
    assert "'b' is the address of no process" in refused(text({"ps": ["b"]}))
    assert '"type" is None' in refused(text(task={"index": 1}))
    assert "\"index\" is '1'" in refused(text(task={"type": "worker", "index": "1"}))
    assert '"index" is True' in refused(text(task={"type": "worker", "index": True}))


def test_an_answer_is_a_function():
    with pytest.raises(Refused, match="this is of type str"):
        read_as_places(text())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (INDEX, '"index": index + 1', "the first of a role has the index 0"),
        (INDEX, '"index": str(index)', "it is a whole number"),
        ("json.dumps(", "dict(", "this is of type dict"),
        ("json.dumps(", "str(", "JSON has double quotes"),
        ("{host}:{port}", "{host}", "an address is a host, a colon and a port"),
        ('"ps":', '"server":', "The cluster has a role 'server'"),
        ('"cluster": cluster, ', "", 'The text has no "cluster"'),
        (
            "addresses[1 + servers :]",
            "addresses[:1] + addresses[1 + servers :]",
            "The coordinator stands among the workers",
        ),
    ],
)
def test_an_answer_that_is_right_nowhere_is_told_why(old, new, says, capsys):
    wrong = edit("distributed.tf_config", "wrong", old, new)
    assert check("distributed.tf_config", wrong) is not wrong
    assert says in " ".join(capsys.readouterr().out.replace("`", "").split())


def test_what_check_hands_on_returns_a_text(capsys):
    working = check("distributed.tf_config", lambda hosts, ports, servers, number: "{}")
    config = json.loads(working(["a", "b", "c"], np.array([1, 2, 3]), 1, 2))
    assert config["task"] == {"type": "worker", "index": 0}
    assert config["cluster"] == {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3"]}
