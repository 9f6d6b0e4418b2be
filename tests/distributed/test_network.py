"""What carries messages: torch's group, another transport in its place, and emulated links."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from labkit.distributed import launch
from labkit.distributed.messages import exchange, receive, recorded, send
from labkit.distributed.network import Cable, emulated_link, transport, use

ENOUGH = 300.0


class Post:
    """A transport without processes: what is sent lies in boxes, one for each pair of ranks."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks = rank, ranks
        self.boxes = {}

    def place(self):
        return self.rank, self.ranks

    def send(self, tensor, to):
        self.boxes.setdefault((self.rank, to), []).append(tensor.clone())

    def receive(self, tensor, source):
        tensor.copy_(self.boxes[source, self.rank].pop(0))

    def exchange(self, outgoing, to, incoming, source):
        self.send(outgoing, to)
        self.receive(incoming, source)


def test_another_transport_takes_every_message_and_then_goes():
    import torch

    before = transport()
    post = Post(0, 3)
    with use(post), recorded() as messages:
        send(torch.arange(4), 2)
        post.rank = 2
        x = torch.zeros(4, dtype=torch.int64)
        receive(x, 0)
        post.boxes[1, 2] = [torch.ones(1)]
        y = torch.zeros(1)
        exchange(x, 1, y, 1)
    assert transport() is before
    assert x.tolist() == [0, 1, 2, 3] and y.tolist() == [1.0]
    assert [(m.source, m.target, m.bytes, m.sent) for m in messages] == [
        (0, 2, 32, True),
        (0, 2, 32, False),
        (2, 1, 32, True),
        (1, 2, 4, False),
    ]


def test_records_inside_of_records_and_from_other_threads():
    import threading

    import torch

    with use(Post(0, 2)), recorded() as outer:
        send(torch.ones(1), 1)
        with recorded() as inner:
            thread = threading.Thread(target=send, args=(torch.ones(2), 1))
            thread.start()
            thread.join()
        send(torch.ones(3), 1)
    assert [m.bytes for m in outer] == [4, 8, 12] and [m.bytes for m in inner] == [8]


@pytest.mark.parametrize("other", [-1, 2, 7])
def test_there_is_no_such_rank(other):
    import torch

    x = torch.ones(1)
    with use(Post(1, 2)):
        with pytest.raises(ValueError, match=rf"cannot send to rank {other}: they are 0 to 1"):
            send(x, other)
        with pytest.raises(ValueError, match=rf"cannot receive from rank {other}"):
            receive(x, other)
        with pytest.raises(ValueError, match=rf"cannot receive from rank {other}"):
            exchange(x, 0, x, other)


def test_not_to_itself_and_not_into_a_view():
    import torch

    x = torch.ones(2, 3)
    with use(Post(1, 2)):
        with pytest.raises(ValueError, match="Rank 1 cannot send to itself"):
            send(x, 1)
        with pytest.raises(ValueError, match="has to be contiguous"):
            receive(x.T, 0)
    with pytest.raises(RuntimeError, match="in a function that `launch` runs"):
        send(x, 1)


def test_a_cable_carries_one_message_at_a_time():
    """Spans that were asked for in any order: each the first free one, none of them overlapping."""
    cable = Cable()
    assert cable.take(10.0, 2.0) == 10.0
    assert cable.take(11.0, 1.0) == 12.0, "the cable is busy until 12"
    assert cable.take(3.0, 4.0) == 3.0, "it was free before 10"
    assert cable.take(6.0, 4.0) == 13.0, "from 7 to 10 there is too little room"
    assert cable.take(6.0, 3.0) == 7.0
    rng = np.random.default_rng(0)
    for moment, seconds in zip(rng.uniform(0, 20, 50), rng.uniform(0, 3, 50), strict=True):
        begin = cable.take(moment, seconds)
        assert begin >= moment
    spans = sorted(cable.busy)
    assert len(spans) == 55
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


LATENCY, BANDWIDTH = 0.02, 1e6  # 1 kB takes 21 ms


def times(rank, ranks):
    """When each message was sent and received, with and without emulated links."""
    import torch
    import torch.distributed as dist

    x = torch.full((250,), float(rank))
    y = torch.empty(250)
    found = {}
    with emulated_link(LATENCY, BANDWIDTH):
        for name in ("gather", "around"):
            dist.barrier()
            with recorded() as messages:
                if name == "around":
                    exchange(x, (rank + 1) % ranks, y, (rank - 1) % ranks)
                elif rank > 0:
                    send(x, 0)
                else:
                    for source in range(1, ranks):
                        receive(y, source)
                        assert bool((y == source).all())
            found[name] = messages
    return found, float(y[0])


@pytest.fixture(scope="module")
def run():
    return launch(times, 3, timeout=ENOUGH)


def test_no_message_is_faster_than_its_cable(run):
    """Only lower limits: a busy machine may be slower."""
    each = LATENCY + 1000 / BANDWIDTH
    for found, _ in run:
        for message in (m for messages in found.values() for m in messages if m.sent):
            assert message.bytes == 1000, "the moment that travels ahead is not counted"
            assert message.end - message.begin >= each
    sent = min(m.begin for found, _ in run for m in found["gather"] if m.sent)
    first, second = (m.end for m in run[0][0]["gather"])
    assert first - sent >= each
    assert second - sent >= 2 * each, "both come over the same cable"


def test_around_in_a_circle_everybody_gets_a_message(run):
    assert [last for _, last in run] == [2.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("latency", "bandwidth", "told"),
    [(-1, 1e6, "latency"), (float("nan"), 1e6, "latency"), (0, 0, "bandwidth"), (0, -1, "band")],
)
def test_links_that_cannot_be(latency, bandwidth, told):
    with pytest.raises(ValueError, match=told):
        emulated_link(latency, bandwidth)


def test_the_room_is_light_and_has_its_names():
    code = "import sys, labkit.distributed as d; print('torch' in sys.modules, callable(d.launch))"
    code += "; from labkit.distributed.launch import TIMEOUT; print(callable(d.launch))"
    code += "; from labkit.distributed import *; print(ring_all_reduce.__name__, send.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True", "ring_all_reduce", "send"]
