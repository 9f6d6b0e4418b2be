"""The communication thread: order, errors, a clean end."""

import threading

import pytest
import torch

from labkit.distributed import launch
from labkit.distributed.gradients.asynchronous import BackendThreads, CommunicationThread
from labkit.distributed.messages import recorded

ENOUGH = 300.0


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "communication"]


def test_all_reduces_are_carried_in_order_by_one_other_thread():
    carried = []
    gate = threading.Event()

    def all_reduce(tensor):
        gate.wait()
        carried.append((int(tensor), threading.current_thread().name))
        return 2 * tensor

    with CommunicationThread(all_reduce) as thread:
        handles = [thread.submit(torch.tensor(k)) for k in range(5)]
        assert carried == [], "submit does not wait"
        gate.set()
        assert [int(handle.wait()) for handle in reversed(handles)] == [8, 6, 4, 2, 0]
    assert carried == [(k, "communication") for k in range(5)]
    ends = [moment for handle in handles for moment in (handle.begin, handle.end)]
    assert ends == sorted(ends)
    assert threads() == []


def test_the_end_waits_for_what_was_submitted():
    thread = CommunicationThread(lambda tensor: tensor + 1)
    handle = thread.submit(torch.tensor(1))
    thread.close()
    thread.close()
    assert threads() == []
    assert int(handle.wait()) == 2
    with pytest.raises(RuntimeError, match=r"closed: submit before close\(\)"):
        thread.submit(torch.tensor(1))


def test_an_error_comes_back_to_whoever_waits_and_ends_what_follows():
    calls = []

    def all_reduce(tensor):
        calls.append(int(tensor))
        if tensor == 1:
            raise ConnectionError("the cable is cut")
        return tensor

    with CommunicationThread(all_reduce) as thread:
        handles = [thread.submit(torch.tensor(k)) for k in range(3)]
        assert int(handles[0].wait()) == 0
        for handle in handles[1:]:
            with pytest.raises(ConnectionError, match="the cable is cut"):
                handle.wait()
    assert calls == [0, 1], "what comes after the error is not sent"
    assert threads() == []


def test_on_ranks():
    """Sums by the ring in the thread and by the backend; messages of the thread are recorded."""

    def program(rank, ranks):
        xs = [torch.arange(5.0) * (rank + 1) + k for k in range(3)]
        with recorded() as messages, CommunicationThread() as thread:
            handles = [thread.submit(x) for x in xs]
            ours = [handle.wait() for handle in handles]
        backend = BackendThreads()
        handles = [backend.submit(x) for x in xs]
        theirs = [handle.wait() for handle in handles]
        return ours, theirs, sum(message.bytes for message in messages if message.sent)

    expected = [torch.arange(5.0) * 3 + 2 * k for k in range(3)]
    for ours, theirs, _ in (found := launch(program, 2, timeout=ENOUGH)):
        assert all(torch.equal(x, y) for x, y in zip(ours, expected, strict=True))
        assert all(torch.equal(x, y) for x, y in zip(theirs, expected, strict=True))
    assert sum(sent for _, _, sent in found) == 3 * 2 * 20
