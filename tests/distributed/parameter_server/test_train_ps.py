"""The script of parameter servers: its roles as threads of this process, and on two hosts."""

import importlib.util
import json
import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

from labkit.distributed.connections.handshake import new_secret
from labkit.distributed.links import hosts
from labkit.distributed.links.host_programs import programs
from labkit.distributed.parameter_server import Photographs, problem
from labkit.distributed.parameter_server.checkpoint import load_checkpoint
from labkit.distributed.parameter_server.client import Client
from labkit.distributed.tensorflow.turns import free_ports

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "chapters" / "04_distributed" / "train_ps.py"
ENOUGH = 300.0  # seconds: only ends a hang
SECRET = new_secret()
needs_hosts = pytest.mark.skipif(not hosts.available(), reason=str(hosts.missing()))

spec = importlib.util.spec_from_file_location("train_ps", PROGRAM)
train_ps = importlib.util.module_from_spec(spec)
spec.loader.exec_module(train_ps)


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch):
    """Roles as threads share the network's structure and torch's random numbers."""
    lock = threading.RLock()

    def locked(function):
        def call(*words):
            with lock:
                return function(*words)

        return call

    for name in ("network", "gradient"):
        monkeypatch.setattr(problem, name, locked(getattr(problem, name)))


def free_addresses(count):
    """Addresses at which nobody listens; no system gives their ports to whoever asks for any."""
    return [f"127.0.0.1:{port}" for port in islice(free_ports(), count)]


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    """The file that all roles hold."""
    path = tmp_path_factory.mktemp("secret") / "secret"
    path.touch(0o600)
    path.write_bytes(SECRET)
    return path


def run_roles(roles, secret, *shared):
    """Runs roles, "server 0 --out FILE", as threads; their exit statuses."""
    calls = []
    for role in roles:
        kind, number, *own = role.split()
        words = ["--role", kind, "--index", number, "--secret", str(secret)]
        calls.append([*words, *shared, *own])
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(train_ps.main, calls))


def by_one_process(steps, batch):
    """The mean loss of the last step, when one process descends with the whole batch."""
    job = Photographs(batch)
    flat = job.start()
    for step in range(steps):
        loss, gradient, _ = job.gradient(flat, 0, step, 1)
        flat -= 0.1 * gradient
    return loss


def test_all_roles_are_plain_descent(tmp_path, secret):
    first, second, copy = free_addresses(3)
    out = tmp_path / "server.json"
    roles = [f"server 0 --out {out}", "server 1", "copy 0", "worker 0", "worker 1"]
    shared = ["--servers", f"{first},{second}", "--copy", copy, "--workers", "2"]
    shared += ["--rule", "sync", "--steps", "12", "--batch", "4"]
    assert run_roles(roles[::-1], secret, *shared) == [0] * 5, "in any order"
    figures = json.loads(out.read_text("utf-8"))
    assert (figures["gradients"], figures["updates"], figures["surplus"]) == (12, 6, 0)
    assert figures["staleness"] == 0
    assert sorted(figures["workers"]) == [0] * 6 + [1] * 6
    assert figures["loss"] == pytest.approx(by_one_process(6, 8), abs=1e-5)


def test_a_server_begins_with_its_checkpoint(tmp_path, capfd, secret):
    (address,) = free_addresses(1)
    saved = tmp_path / "server.safetensors"
    shared = ["--servers", address, "--workers", "1", "--batch", "4", "--save-every", "5"]
    roles = [f"server 0 --checkpoint {saved}", "worker 0"]
    assert run_roles(roles, secret, *shared, "--steps", "12") == [0, 0]
    assert len(load_checkpoint(saved).fields["notes"]) == 10
    out = tmp_path / "server.json"
    roles = [f"server 0 --checkpoint {saved} --out {out}", "worker 0"]
    assert run_roles(roles, secret, *shared, "--steps", "12") == [0, 0]
    assert "server 0 begins with 10 gradients" in capfd.readouterr().out
    figures = json.loads(out.read_text("utf-8"))
    assert (figures["gradients"], figures["surplus"]) == (12, 0)
    assert figures["loss"] == pytest.approx(by_one_process(12, 4), abs=1e-5)


def test_nobody_begins_before_all_are_there(secret):
    (address,) = free_addresses(1)
    shared = ["--servers", address, "--workers", "2", "--steps", "4"]
    with ThreadPoolExecutor(1) as pool:
        roles = pool.submit(run_roles, ["server 0", "worker 0"], secret, *shared)
        client = Client([address], None, Photographs(16).fingerprint(), SECRET, ENOUGH)
        assert client.links[0].ask({"kind": "count"})[0] == {"applied": 0}
        client.close()
        assert run_roles(["worker 1"], secret, *shared) == [0]
        assert roles.result(ENOUGH) == [0, 0]


def test_without_a_role_all_run_here(tmp_path, capfd):
    out = tmp_path / "all.json"
    words = ["--workers", "2", "--rule", "sync", "--steps", "12", "--batch", "4"]
    assert train_ps.main([*words, "--out", str(out)]) == 0
    assert "server 0: 12 gradients in 6 updates, 0 came again" in capfd.readouterr().out
    figures = json.loads(out.read_text("utf-8"))
    assert figures["loss"] == pytest.approx(by_one_process(6, 8), abs=1e-5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--role boss", "invalid choice: 'boss'"),
        ("--role worker --index 3 --servers a:1", "no worker 3: --index is from 0 to 2"),
        ("--role server --index 2 --servers a:1,a:2", "no server 2: --index is from 0 to 1"),
        ("--role worker", "A worker needs --servers host:port"),
        ("--role worker --servers here", "An address is host:port, .* not 'here'"),
        ("--role copy --servers a:1", "A copy needs --copy host:port"),
        ("--role worker --servers a:1", "A worker needs --secret FILE"),
        ("--servers a:1", "need --role: say what this process is"),
    ],
)
def test_words_that_make_no_sense(words, said, capfd):
    with pytest.raises(SystemExit) as ending:
        train_ps.main(words.split())
    assert ending.value.code == 2
    assert re.search(said, capfd.readouterr().err)


def test_sentences_instead_of_tracebacks(capfd, secret):
    (nobody,) = free_addresses(1)
    shared = ["--servers", nobody, "--secret", str(secret)]
    assert train_ps.main(["--role", "worker", *shared, "--timeout", "0.3"]) == 1
    said = capfd.readouterr().err
    assert f"Worker 0 waited 0.3 s for its greeting, and server {nobody} did not answer" in said
    assert train_ps.main(["--rule", "bounded"]) == 1
    assert "A rule is sync, async or bounded:S" in capfd.readouterr().err
    assert train_ps.main(["--role", "server", *shared, "--patience", "0.1"]) == 1
    assert "server 0: 0 of 120 steps in 0.1 s." in capfd.readouterr().err


@pytest.mark.night(
    instead="tests/distributed/links/test_hosts.py::test_a_cut_cable_carries_nothing_and_a_connection_outlives_it"
)
@needs_hosts
def test_on_two_hosts_with_a_cable_that_is_cut(tmp_path, secret):
    """The same program and the same weights: only the words of the command line differ."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    out = tmp_path / "server.json"
    with hosts.two_hosts(25e6) as pair, programs(environment) as start:
        shared = ["--servers", f"{pair[0].address}:4700", "--workers", "2", "--every", "1"]
        shared += ["--rule", "sync", "--steps", "60", "--batch", "4"]
        shared += ["--seconds", "0.05", "--secret", str(secret)]

        def role(host, kind, number, *own):
            words = [sys.executable, str(PROGRAM), "--role", kind, "--index", str(number)]
            return start(host, [*words, *shared, *own])

        server = role(pair[0], "server", 0, "--out", str(out))
        near, far = role(pair[0], "worker", 0), role(pair[1], "worker", 1)
        server.wait_for("server 0: 4 gradients\n", ENOUGH)
        pair[1].cut()
        if "server 0: 60 gradients" not in server.printed():  # on no machine but a very slow one
            far.kill()
            pair[1].mend()
            far = role(pair[1], "worker", 1)
        pair[1].mend()
        for program in (near, far, server):
            program.wait(ENOUGH)
        weights = Photographs(4).start().nbytes
        assert pair[0].sent() > 5 * weights, "the weights have crossed the cable"
    figures = json.loads(out.read_text("utf-8"))
    assert (figures["gradients"], figures["updates"], figures["surplus"]) == (60, 30, 0)
    assert figures["loss"] == pytest.approx(by_one_process(30, 8), abs=1e-5)
