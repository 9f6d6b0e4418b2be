"""Connections of our own carry what torch's group carries, through relays and without."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import torch

from labkit.distributed import LaunchError, launch
from labkit.distributed.collectives import (
    all_gather,
    gather_all_reduce,
    halving_all_reduce,
    ring_all_reduce,
)
from labkit.distributed.connections import door, wires
from labkit.distributed.connections.handshake import HandshakeError, demand, new_secret
from labkit.distributed.connections.wires import accepted, called, wired
from labkit.distributed.messages import exchange, receive, recorded, send


def all_of_them(rank, ranks, latency):
    x = torch.arange(1_000_003, dtype=torch.float32) * (rank + 1)
    results = []
    with wired(latency), recorded() as messages:
        for function in (ring_all_reduce, gather_all_reduce, halving_all_reduce):
            results.append(function(x))
        gathered = all_gather(torch.full((0, 3), rank))
        mixed = all_gather(torch.tensor([[rank, -rank]], dtype=torch.int64))
    total = torch.arange(1_000_003, dtype=torch.float32) * sum(range(1, ranks + 1))
    same = all(torch.allclose(result, total) for result in results)
    bytes = sum(message.bytes for message in messages if message.sent)
    return same, [list(one.shape) for one in gathered], [one.tolist() for one in mixed], bytes


@pytest.mark.parametrize("ranks, latency", [(1, 0.01), (2, 0.0), (2, 0.01), (3, 0.0)])
def test_collectives_are_right(ranks, latency):
    for same, shapes, mixed, _ in launch(all_of_them, ranks, latency):
        assert same
        assert shapes == [[0, 3]] * ranks
        assert mixed == [[[rank, -rank]] for rank in range(ranks)]


def ping_pongs(rank, ranks, latency):
    x = torch.full((7,), float(rank))
    came = torch.empty(7)
    took = []
    with wired(latency):
        for _ in range(5):
            begin = time.monotonic()
            if rank == 0:
                send(x, 1)
                receive(came, 1)
            else:
                receive(came, 0)
                send(x, 0)
            took.append(time.monotonic() - begin)
    return min(took), came.tolist()


def test_a_message_is_never_there_before_its_latency():
    (there, one), (_, zero) = launch(ping_pongs, 2, 0.02)
    assert there >= 0.04
    assert one == [1.0] * 7 and zero == [0.0] * 7


def swaps(rank, ranks):
    """More than any buffer holds, both ways at once: neither waits for the other to receive."""
    out = torch.full((2_000_000,), float(rank))
    came = torch.empty(2_000_000)
    with wired(0.001):
        exchange(out, 1 - rank, came, 1 - rank)
    return bool((came == 1 - rank).all())


def test_a_single_number_of_a_column_has_bytes():
    column = torch.arange(8.0).view(2, 4)[:1, 1]
    assert bytes(wires._bytes_of(column)) == column.numpy().tobytes()


def test_an_exchange_does_not_wait_for_itself():
    assert launch(swaps, 2) == [True, True]


def unlike(rank, ranks):
    with wired():
        if rank == 0:
            send(torch.zeros(3), 1)
        else:
            receive(torch.zeros(4), 0)


def test_a_message_of_another_length_is_told():
    with pytest.raises(LaunchError, match="waits for 16 bytes of rank 0, which sends 12"):
        launch(unlike, 2)


ENOUGH = 60.0  # seconds: only ends a hang
SECRET = new_secret()


def calls(ranks, callers, strangers=(), silent=0):
    """What `accepted` finds where these ranks call, after strangers with words and silent ones."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        place = listener.getsockname()
        pool = stack.enter_context(ThreadPoolExecutor(1))
        found = pool.submit(lambda: dict(accepted(listener, SECRET, 0, ranks)))
        for words in strangers:
            stranger = stack.enter_context(socket.create_connection(place))
            stranger.sendall(words)
            stranger.shutdown(socket.SHUT_WR)
        for _ in range(silent):
            stack.enter_context(socket.create_connection(place))
        for rank in callers:
            wire = stack.enter_context(called(place, SECRET, 0))
            wire.sendall(rank.to_bytes(8, "big") + bytes([rank % 256]))
        wires = found.result(ENOUGH)
        return {rank: stack.enter_context(wire).recv(1)[0] for rank, wire in wires.items()}


def test_ranks_are_known_by_what_they_prove_and_say():
    assert calls([1, 2, 3], [2, 3, 1]) == {1: 1, 2: 2, 3: 3}


def test_strangers_become_no_rank():
    strangers = [b"", (1).to_bytes(8, "big"), bytes(64), b"GET / HTTP/1.1\r\n" * 10]
    assert calls([1, 2], [2, 1], strangers) == {1: 1, 2: 2}


@pytest.mark.parametrize("silent", [1, 40])
def test_silent_strangers_block_no_rank(monkeypatch, silent):
    monkeypatch.setattr(door, "PROOF", 100 * ENOUGH)  # it is not their time that runs out
    assert calls([1, 2], [2, 1], silent=silent) == {1: 1, 2: 2}


def test_a_rank_that_strangers_have_pushed_out_calls_again():
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        caller = pool.submit(called, listener.getsockname(), SECRET, 0)
        listener.accept()[0].close()
        wire, _ = listener.accept()
        with wire:
            demand(wire, SECRET, "rank 0", ENOUGH)
            caller.result(ENOUGH).close()


def test_a_call_for_another_rank_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        caller = pool.submit(called, listener.getsockname(), SECRET, 1)
        wire, _ = listener.accept()
        with wire, pytest.raises(HandshakeError):
            demand(wire, SECRET, "rank 0", ENOUGH)
        with pytest.raises(HandshakeError, match="or it is not rank 1"):
            caller.result(ENOUGH)


def test_a_rank_that_never_calls_is_told(monkeypatch):
    monkeypatch.setattr(wires, "PATIENCE", 0.1)
    with pytest.raises(RuntimeError, match=r"ranks 1, 2 did not call rank 0 within 0\.1 s"):
        calls([1, 2], [])


@pytest.mark.parametrize("rank", [0, 3, 4, 1 << 63])
def test_a_rank_out_of_range_is_refused(rank):
    with pytest.raises(RuntimeError, match=f"rank {rank}, which does not exist or does not call"):
        calls([1, 2], [rank])


def test_a_rank_that_calls_twice_is_refused():
    with pytest.raises(RuntimeError, match="rank 1, which has called already: rank 2 may call"):
        calls([1, 2], [1, 1])
