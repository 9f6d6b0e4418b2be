"""Two hosts as network namespaces: the training runs on them unchanged, and nothing stays."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.distributed import LaunchError
from labkit.distributed.links import hosts
from labkit.distributed.links.host_programs import programs
from tests.distributed.conftest import namespaces

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "chapters" / "04_distributed" / "train_ddp.py"
BANDWIDTH = 25e6  # bytes per second
ENOUGH = 600.0

needs_hosts = pytest.mark.skipif(not hosts.available(), reason=str(hosts.missing()))


def environment():
    """The learner's own is not needed; labkit is found where it stands."""
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def figures(words, out):
    """What the program writes with --out, started by itself on this machine."""
    told = {**environment(), "GLOO_SOCKET_IFNAME": "lo"}
    words = [*words, "--steps", "2", "--batch", "8", "--out", str(out)]
    subprocess.run(words, check=True, capture_output=True, timeout=ENOUGH, env=told)
    return json.loads(out.read_text("utf-8"))


@pytest.mark.night(
    instead="tests/distributed/links/test_switched_hosts.py::test_the_trials_run_on_hosts"
)
@needs_hosts
def test_the_program_trains_on_two_hosts_as_on_one(tmp_path, nothing_left):
    out = tmp_path / "two.json"
    program = [str(PROGRAM), "--steps", "2", "--batch", "8", "--out", str(out)]
    with hosts.two_hosts(BANDWIDTH) as pair:
        command = lambda node: hosts.torchrun(pair, node, 1, *program)  # noqa: E731
        said = hosts.run(pair, command, ENOUGH, environment())
        crossed = [host.sent() for host in pair]
    assert "step 2: loss" in said[0]
    assert "step" not in said[1], "rank 0 alone prints"
    one = figures([sys.executable, str(PROGRAM)], tmp_path / "one.json")
    for ours, theirs in zip(json.loads(out.read_text("utf-8")), one, strict=True):
        assert [step["loss"] for step in ours] == [step["loss"] for step in theirs]
        sent = [step["sent"] for step in ours]
        assert sent == [step["sent"] for step in theirs]
        assert crossed[0] >= sum(sent), "the kernel has seen all of it on the cable"
        assert crossed[1] >= sum(sent)
        # The cable is never faster than asked for, however slow the machine is.
        assert sum(step["seconds"] for step in ours) > 0.8 * sum(sent) / BANDWIDTH


@needs_hosts
def test_a_host_that_fails_ends_the_other(nothing_left):
    with hosts.two_hosts(BANDWIDTH) as pair:
        fails = [["sleep", "1000"], ["sh", "-c", "echo no such thing; exit 3"]]
        with pytest.raises(LaunchError) as error:
            hosts.run(pair, lambda node: fails[node], ENOUGH)
        assert "Host 1 ended with exit code 3" in str(error.value)
        assert "[host 1] no such thing" in str(error.value)
        for host in pair:
            assert host.processes() == []


@needs_hosts
def test_hosts_that_do_not_end_are_ended_with_their_children(nothing_left):
    with hosts.two_hosts(BANDWIDTH) as pair:
        lonely = ["sh", "-c", "setsid sleep 1000 & sleep 1000"]
        with pytest.raises(LaunchError, match=r"Not all hosts ended within 0\.3 s"):
            hosts.run(pair, lambda node: lonely, 0.3)
        for host in pair:
            assert host.processes() == []


@needs_hosts
def test_an_error_in_the_block_leaves_nothing(nothing_left):
    with pytest.raises(ZeroDivisionError), hosts.two_hosts(BANDWIDTH):
        raise ZeroDivisionError


@needs_hosts
def test_ctrl_c_leaves_nothing(nothing_left):
    program = (
        "from labkit.distributed.links import hosts\n"
        "with hosts.two_hosts(1e6) as pair:\n"
        "    print(pair[0].name, flush=True)\n"
        "    hosts.run(pair, lambda node: ['sleep', '1000'])\n"
    )
    words = [sys.executable, "-c", program]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=environment(), **pipes) as process:
        name = process.stdout.readline().strip()
        assert name in namespaces()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=ENOUGH)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in said
    assert name not in namespaces()


@needs_hosts
def test_the_hosts_reach_each_other_and_nothing_else():
    with hosts.two_hosts(BANDWIDTH) as pair:
        devices = json.loads(hosts._call("ip", "-n", pair[0].name, "-json", "address"))
        addresses = {d["ifname"]: [a["local"] for a in d["addr_info"]] for d in devices}
        assert addresses["eth0"][0] == pair[0].address
        assert set(addresses) == {"lo", "eth0"}
        routes = json.loads(hosts._call("ip", "-n", pair[0].name, "-json", "route"))
        assert [route["dst"] for route in routes] == ["10.0.0.0/24"]


ECHO = """
import socket
with socket.create_server(("0.0.0.0", 9000)) as server:
    print("ready", flush=True)
    connection, _ = server.accept()
    while received := connection.recv(100):
        connection.sendall(received)
"""
# Speaks over a connection that it keeps, each time that its file says so.
SPEAK = """
import pathlib, socket, sys, time
said = pathlib.Path(sys.argv[1])
connection = socket.create_connection(("10.0.0.1", 9000), 60)
for word in ("before", "after"):
    while not said.exists() or word not in said.read_text():
        time.sleep(0.01)
    connection.sendall(word.encode())
    print("sent", word, flush=True)
    print("heard", connection.recv(100).decode(), flush=True)
"""
CONNECT = "import socket; socket.create_connection(('10.0.0.1', 9000), 60)"


@needs_hosts
def test_a_cut_cable_carries_nothing_and_a_connection_outlives_it(tmp_path, nothing_left):
    word = tmp_path / "word"
    with hosts.two_hosts(BANDWIDTH) as pair, programs(environment()) as start:
        echo = start(pair[0], [sys.executable, "-c", ECHO])
        echo.wait_for("ready", ENOUGH)
        speaker = start(pair[1], [sys.executable, "-c", SPEAK, str(word)])
        word.write_text("before")
        speaker.wait_for("heard before", ENOUGH)
        pair[1].cut()
        word.write_text("before, after")
        speaker.wait_for("sent after", ENOUGH)
        crossed = [host.sent() for host in pair]
        stranger = start(pair[1], [sys.executable, "-c", CONNECT])
        with pytest.raises(LaunchError, match="Network is unreachable"):
            stranger.wait(ENOUGH)
        assert "heard after" not in speaker.printed()
        assert [host.sent() for host in pair] == crossed
        pair[1].mend()
        assert "heard after" in speaker.wait(ENOUGH), "TCP sends again what was not confirmed"
        shaped = hosts._call("tc", "-n", pair[1].name, "qdisc", "show", "dev", "eth0")
        assert "tbf" in shaped and "rate 200Mbit" in shaped


@needs_hosts
def test_a_program_is_listened_to_and_killed(nothing_left):
    with hosts.two_hosts(BANDWIDTH) as pair, programs(environment()) as start:
        lonely = start(pair[0], ["sh", "-c", "echo here; sleep 1000 & sleep 1000"])
        assert lonely.wait_for("here", ENOUGH) == "here\n"
        with pytest.raises(LaunchError, match=r"did not say 'there' within 0\.1 s"):
            lonely.wait_for("there", 0.1)
        with pytest.raises(LaunchError, match=r"did not end within 0\.1 s"):
            lonely.wait(0.1)
        lonely.kill()
        assert pair[0].processes() == []
        fails = start(pair[1], ["sh", "-c", "echo no such thing; exit 3"])
        with pytest.raises(LaunchError, match="no such thing") as error:
            fails.wait_for("ready", ENOUGH)
        assert "on 10.0.0.2 ended before it said 'ready'" in str(error.value)
        with pytest.raises(LaunchError, match="ended with exit code 3"):
            fails.wait(ENOUGH)
        start(pair[1], ["sleep", "1000"])


@pytest.fixture
def asked_again():
    hosts.missing.cache_clear()
    yield
    hosts.missing.cache_clear()


def test_another_system_is_told(asked_again, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not hosts.available()
    assert hosts.missing() == "Network namespaces are a part of Linux, and this is darwin."


def test_a_program_that_is_missing_is_told(asked_again, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(hosts.shutil, "which", lambda name: None if name == "tc" else name)
    assert re.match(r"The program `tc` is missing: install .*iproute2", hosts.missing())


def test_a_right_that_is_missing_is_told(asked_again, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(hosts.shutil, "which", lambda name: name)
    refused = "mount --make-shared /run/netns failed: Operation not permitted"
    done = subprocess.CompletedProcess([], 1, "", refused)
    monkeypatch.setattr(hosts.subprocess, "run", lambda *_, **__: done)
    told = hosts.missing()
    assert "`ip netns add labkit-" in told
    assert "Operation not permitted. It takes root's rights" in told


@pytest.mark.parametrize("bandwidth", [0, -1.0, float("nan")])
def test_a_bandwidth_that_is_none(bandwidth):
    with pytest.raises(ValueError, match="bandwidth is above 0"), hosts.two_hosts(bandwidth):
        pass
