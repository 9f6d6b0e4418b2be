"""Hosts on a switch: bytes cross the cables, no faster than these allow, and nothing stays."""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.distributed.links import hosts, switched_hosts
from labkit.distributed.links.link_trials import Trials
from labkit.distributed.links.switched_hosts import BURST
from labkit.distributed.links.trials_on_hosts import on_hosts
from tests.distributed.conftest import namespaces

ROOT = Path(__file__).resolve().parents[3]
ENOUGH = 600.0
needs_hosts = pytest.mark.skipif(
    switched_hosts.missing() is not None, reason=str(switched_hosts.missing())
)
SENDS = """
import socket, sys, time
node, size = int(sys.argv[1]), int(sys.argv[2])
if node == 0:
    listener = socket.create_server(("10.0.0.1", 5000))
    print("listens", flush=True)
    left = 2 * size
    ends = [listener.accept()[0] for _ in range(2)]
    for end in ends:
        while data := end.recv(1 << 16):
            left -= len(data)
    print("left", left)
else:
    for _ in range(500):
        try:
            end = socket.create_connection(("10.0.0.1", 5000))
            break
        except OSError:
            time.sleep(0.02)
    end.sendall(bytes(size))
    end.close()
"""


@needs_hosts
def test_two_that_send_to_one_share_its_cable(nothing_left):
    size, bandwidth = 400_000, 2e6
    with switched_hosts.switched_hosts(3, bandwidth) as trio:
        begin = time.monotonic()
        said = hosts.run(
            trio,
            lambda node: [sys.executable, "-c", SENDS, str(node), str(size)],
            ENOUGH,
            dict(os.environ),
        )
        took = time.monotonic() - begin
        sent = [host.sent() for host in trio]
    assert "left 0" in said[0]
    assert sent[1] > size and sent[2] > size > sent[0]
    assert took > (2 * size - BURST) / bandwidth  # each alone would need half of that


@needs_hosts
def test_the_trials_run_on_hosts(nothing_left):
    """No trial ends before its latency has passed and its bytes have crossed the cable."""
    given = replace(
        Trials(), latency=0.005, layers=2, gradient=60_000, bucket=60_000, backward=0.005,
        micro_batches=2, tokens=100, t_forward=0.005, t_backward=0.01, repeats=1,
    )  # fmt: skip
    seconds = on_hosts(2, given)
    for size in given.pings:
        least = given.latency + max(size - BURST, 0) / given.bandwidth
        assert seconds[f"ping {size}"] >= least
    for size in given.sizes:
        assert seconds[f"star {size}"] >= 2 * given.latency
        chunk = size / 2
        assert seconds[f"ring {size}"] >= 2 * given.latency + (chunk - BURST) / given.bandwidth
    assert seconds["overlap"] >= 2 * 0.005 + 2 * given.latency
    assert seconds["pipeline"] >= 3 * 0.015 + 2 * given.latency


@needs_hosts
def test_an_error_inside_leaves_nothing(nothing_left):
    with pytest.raises(ZeroDivisionError), switched_hosts.switched_hosts(2, 1e6) as pair:
        assert len(pair) == 2 and {host.name for host in pair} <= set(namespaces())
        raise ZeroDivisionError


@pytest.mark.parametrize("count, bandwidth", [(0, 1e6), (17, 1e6), (2, 0), (2, -1.0)])
def test_nonsense_is_refused(count, bandwidth):
    made = switched_hosts.switched_hosts(count, bandwidth)
    with pytest.raises(ValueError, match="switched_hosts"), made:
        pass


def test_what_is_missing_is_a_sentence_that_names_the_emulated_figures(monkeypatch):
    switched_hosts.missing.cache_clear()
    monkeypatch.setattr(hosts, "missing", lambda: "It takes root's rights (CAP_NET_ADMIN).")
    said = switched_hosts.missing()
    switched_hosts.missing.cache_clear()
    assert said.startswith("It takes root's rights (CAP_NET_ADMIN).")
    assert "emulated in process" in said
