"""TF_CONFIG: what is written is read, what is wrong is told, and who does not answer is named."""

import json
import socket
import threading
from contextlib import closing

import pytest

from labkit.distributed.tensorflow.config import (
    TfConfigError,
    answers,
    await_others,
    read,
    tf_config,
)

CLUSTER = {"chief": ["a:7000"], "ps": ["a:7001", "b:7001"], "worker": ["a:7002", "[::1]:7002"]}


@pytest.mark.parametrize(("role", "index"), [("chief", 0), ("ps", 1), ("worker", 1)])
def test_what_is_written_is_what_tensorflow_documents_and_is_read(role, index):
    text = tf_config(CLUSTER, role, index)
    assert json.loads(text) == {"cluster": CLUSTER, "task": {"type": role, "index": index}}
    place = read(text)
    assert (place.cluster, place.role, place.index) == (CLUSTER, role, index)


def changed(**parts):
    """A TF_CONFIG of which a part is another one."""
    whole = {"cluster": CLUSTER, "task": {"type": "worker", "index": 0}} | parts
    return json.dumps(whole)


def with_role(role, addresses):
    return changed(cluster=CLUSTER | {role: addresses})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "TF_CONFIG is not set: give each process"),
        ("", "TF_CONFIG is not set"),
        ("{'cluster': 1}", r"no JSON: .* at character 1, \"'cluster': 1}\".*double quotes"),
        ("[]", 'TF_CONFIG lacks "cluster"'),
        (json.dumps({"cluster": CLUSTER}), 'TF_CONFIG lacks "task"'),
        (changed(task={"type": "server", "index": 0}), "role 'server' in the task does not exist"),
        (changed(task={"index": 0}), "role None in the task does not exist; the roles are chief"),
        (with_role("master", ["a:1"]), "role 'master' in the cluster does not exist"),
        (changed(task={"type": "ps", "index": 2}), "index is 2, .* 2 of the role 'ps': .* to 1"),
        (changed(task={"type": "ps", "index": -1}), "index is -1"),
        (changed(task={"type": "ps", "index": True}), "index is True"),
        (changed(task={"type": "ps", "index": "0"}), "index is '0'"),
        (changed(task={"type": "ps"}), "index is None"),
        (changed(cluster={"chief": ["a:1"], "ps": ["b:1"]}), "the cluster has no 'worker'"),
        (with_role("ps", []), "the cluster has no 'ps'"),
        (with_role("chief", ["a:1", "b:1"]), "one chief, not 2"),
        (with_role("ps", ["a"]), "'a' of the role 'ps' is no address"),
        (with_role("ps", ["a:0"]), "'a:0' .* is no address"),
        (with_role("ps", ["a:65536"]), "is no address"),
        (with_role("ps", [":7001"]), "':7001' .* is no address"),
        (with_role("ps", [7001]), "7001 .* is no address"),
        (with_role("ps", ["a:7001", "a:7002"]), "'a:7002' stands twice, the second time as 'work"),
    ],
)
def test_what_is_wrong_is_told(text, told):
    with pytest.raises(TfConfigError, match=told):
        read(text)


def test_a_role_that_does_not_exist_is_not_written():
    with pytest.raises(TfConfigError, match="role 'evaluator' in the task does not exist"):
        tf_config(CLUSTER, "evaluator")


def listening():
    """A socket that takes connections and never says a word, as a process that hangs."""
    return closing(socket.create_server(("127.0.0.1", 0)))


def address(server):
    return f"127.0.0.1:{server.getsockname()[1]}"


def speaking(server, words):
    """Lets the server say the same to everybody who connects."""

    def speak():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(words)

    threading.Thread(target=speak, daemon=True).start()


SETTINGS = bytes([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 64, 0, 0])  # as RFC 9113 has it


def test_everybody_who_does_not_answer_is_named_with_the_reason(monkeypatch):
    monkeypatch.setattr("labkit.distributed.tensorflow.config.TRY", 0.1)
    with listening() as silent, listening() as web, listening() as gone, listening() as right:
        speaking(web, b"HTTP/1.1 400 Bad Request\r\n\r\n")
        speaking(right, SETTINGS)
        refused = address(gone)
        gone.close()
        cluster = {
            "chief": ["127.0.0.1:1"],
            "ps": [address(silent), address(web), address(right)],
            "worker": [refused, "nowhere.invalid:7000"],
        }
        with pytest.raises(TfConfigError) as error:
            await_others(read(tf_config(cluster, "chief")), patience=0.3)
        assert [answers(one) for one in cluster["ps"]] == [False, False, True]
    told = str(error.value)
    assert told.startswith("No answer within 0.3 s from ps 0 at 127.0.0.1:")
    assert f"ps 0 at {address_of(cluster, 0)} (it does not answer)" in told
    assert f"ps 1 at {address_of(cluster, 1)} (what answers there is no TensorFlow process)" in told
    assert "ps 2" not in told
    assert f"worker 0 at {refused} (connection refused)" in told
    assert "worker 1 at nowhere.invalid:7000 (" in told
    assert "chief" not in told
    assert told.endswith("correct its address in the TF_CONFIG of all processes.")


def address_of(cluster, index):
    return cluster["ps"][index]


def test_a_process_that_begins_later_is_waited_for():
    with listening() as early, listening() as late:
        speaking(early, SETTINGS)
        threading.Timer(0.3, speaking, (late, SETTINGS)).start()
        cluster = {"chief": ["127.0.0.1:1"], "ps": [address(early)], "worker": [address(late)]}
        await_others(read(tf_config(cluster, "chief")), patience=60)
