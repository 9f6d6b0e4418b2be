"""Whatever a member of the cluster asks for: it is answered, or refused with a sentence."""

import re
import socket
from collections import Counter
from copy import deepcopy
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.distributed.connections.handshake import new_secret, prove
from labkit.distributed.parameter_server import Asynchronous, Bounded, Server, Shard, Synchronous
from labkit.distributed.parameter_server.protocol.wire import Wire

ENOUGH = 60.0  # seconds: only ends a hang
MODEL = "version 1: weight[4]"
SECRET = new_secret()

HELLO = {"kind": "hello", "worker": 0, "fingerprint": MODEL}
PULL = {"kind": "pull", "step": 0, "patience": 0.01}
OF_PUSH = {"step": 0, "version": 0, "loss": 0.5, "samples": 4, "patience": 0.01}
FOLLOW = {"worker": 0, "step": 0, "pulled": 0, "lead": 0, "loss": 0.5, "samples": 4}
REQUESTS = {
    "hello": HELLO,
    "pull": PULL,
    "push": {"kind": "push", **OF_PUSH},
    "follow": {"kind": "follow", "push": FOLLOW},
    "begin": {"kind": "begin", "of": 0},
    **{kind: {"kind": kind} for kind in ("log", "count", "save", "load", "stop")},
}
TENSORS = {"gradient": torch.ones(4)}
JUNK = [None, True, -1, 1.5, 1e300, float("nan"), float("inf"), 10**30, 1 << 53, "", "x" * 5000]
JUNK += [[], [0], {}, {"worker": 0}, "one", MODEL]
GRADIENTS = [
    torch.ones(4),
    torch.full((4,), 1e38),
    torch.full((4,), -3e38),
    torch.tensor([1.0, 3e38, 1.0, 1.0]),
    torch.tensor([1.0, float("nan"), 0, 0]),
    torch.tensor([1.0, float("inf"), 0, 0]),
    torch.ones(3),
    torch.ones(2, 2),
    torch.ones(0),
    torch.tensor(1.0),
    torch.ones(4).double(),
    torch.ones(4).bool(),
    torch.ones(4, dtype=torch.complex64),
]


class Served:
    """A server, and a member's connection to it."""

    def __init__(self, rule, checkpoint=None, is_copy=False):
        self.shard = Shard(torch.zeros(4), rule, 2, 10.0)
        self.server = Server(SECRET, checkpoint=checkpoint, is_copy=is_copy)
        self.server.serve(self.shard, MODEL)
        host, port = self.server.address.split(":")
        connection = socket.create_connection((host, int(port)), ENOUGH)
        name = "copy 0" if is_copy else "server 0"
        self.wire = Wire(connection, prove(connection, SECRET, name, ENOUGH))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.wire.connection.close()
        self.server.close()

    def asked(self, fields, tensors=None):
        self.wire.send(fields, tensors)
        return self.wire.receive()[0]


def refused(said):
    """The sentence, where it is one of ours."""
    sentence = said["error"]
    assert sentence[-1] in ".?" and "The server failed" not in sentence and len(sentence) < 1500
    return sentence


class Member:
    """Asks for what comes into its mind; half of its requests are right in all fields."""

    def __init__(self, seed, most):
        self.random, self.most = Random(seed), most

    def request(self, shard):
        kind = self.random.choice([*self.most * 5, "hello", "hello", *REQUESTS])
        fields = dict(REQUESTS[kind])
        worker = self.random.randrange(2)
        if "step" in fields:
            fields |= {"step": shard.finished[worker], "version": shard.version}
        if kind == "hello":
            fields["worker"] = worker
        if kind == "follow":
            fields["push"] = {**FOLLOW, "worker": worker, "step": shard.finished[worker]}
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.spoil(fields)
        gradient = self.random.choice([None, *[torch.ones(4)] * 9, *GRADIENTS])
        return fields, {} if gradient is None else {"gradient": gradient}

    def spoil(self, fields):
        """A field that is missing, or something else."""
        name = self.random.choice(sorted(fields) or ["kind"])
        if isinstance(fields.get(name), dict) and self.random.random() < 0.8:
            self.spoil(fields[name])
        elif self.random.random() < 0.3:
            fields.pop(name, None)
        else:
            fields[name] = deepcopy(self.random.choice(JUNK))


@pytest.mark.parametrize("is_copy", [False, True], ids=["server", "copy"])
@pytest.mark.parametrize("rule", [Asynchronous(), Bounded(1), Synchronous()], ids=str)
def test_every_request_is_answered_or_refused(tmp_path, rule, is_copy):
    taken = "follow" if is_copy else "push"
    member, endings, updates = Member(1, ["pull", taken]), Counter(), 0
    with Served(rule, tmp_path / "checkpoint.safetensors", is_copy) as served:
        served.asked({**HELLO, "worker": None, "leads": True} if is_copy else HELLO)
        for _ in range(500):
            fields, tensors = member.request(served.shard)
            if is_copy and fields.get("kind") == "hello":
                continue  # with a worker's, a copy takes over
            before = served.shard.log()
            said = served.asked(fields, tensors)
            notes, _, values = served.shard.log()
            assert values.isfinite().all()
            kind, updates = fields.get("kind"), max(updates, served.shard.version)
            endings[kind if kind in list(REQUESTS) else "unknown", "error" in said] += 1
            if "error" in said:
                refused(said)
                assert torch.equal(values, before[2]) and notes == before[0]
        assert served.asked({"kind": "count"}) == {"applied": len(served.shard.notes)}
    assert endings[taken, False] > 5 < endings[taken, True] and updates > 1
    assert endings["load", False] and endings["unknown", True]


WRONG = {
    "a missing step": ("pull", {"step": ...}, "has step, patience; step is missing"),
    "a negative step": ("pull", {"step": -1}, "step is a whole number from 0 to"),
    "a step of another type": ("push", {"step": "0"}, "step is a whole .*, not '0'"),
    "true as a count": ("push", {"version": True}, "version is a whole .*, not True"),
    "a huge count": ("push", {"samples": 10**30}, "samples is a whole number from 0 to"),
    "no seconds": ("pull", {"patience": float("nan")}, "patience is a number from 0 to 86400"),
    "endless patience": ("pull", {"patience": float("inf")}, "patience is a number from 0 to"),
    "a loss that is none": ("push", {"loss": None}, "loss is a number, not None"),
    "a push that is none": ("follow", {"push": 7}, "push is an object with fields, not 7"),
    "a push without fields": ("follow", {"push": {}}, "follow's push has .*; worker is missing"),
    "a worker of a follow": ("follow", {"push": {**FOLLOW, "worker": 2}}, "There is no worker 2"),
    "a worker that is none": ("begin", {"of": "x"}, "of is a whole number from 0 to .*, not 'x'"),
    "another model": ("hello", {"fingerprint": "v2"}, "brings another version of the model, v2"),
    "a long name": ("hello", {"fingerprint": "x" * 5000}, "fingerprint is a text of 1000 letters"),
    "no worker": ("hello", {"worker": 2}, "There is no worker 2"),
    "an unknown kind": ("pull", {"kind": "dance"}, "A server answers hello, .*, not 'dance'"),
    "a kind that is none": ("pull", {"kind": ["pull"]}, "A server answers hello, .*, not"),
    "no checkpoint": ("load", {}, "There is no checkpoint"),
}


@pytest.mark.parametrize(("kind", "change", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said(tmp_path, kind, change, sentence):
    fields = {name: x for name, x in {**REQUESTS[kind], **change}.items() if x is not ...}
    is_copy = kind in ("follow", "begin")
    with Served(Asynchronous(), tmp_path / "checkpoint", is_copy) as served:
        served.asked({**HELLO, "worker": None, "leads": True} if is_copy else HELLO)
        said = refused(served.asked(fields, TENSORS))
        assert re.search(sentence, said), said
        assert served.asked({"kind": "count"}) == {"applied": 0}
        if not is_copy:
            assert served.asked(PULL)["version"] == 0, "the worker is who it was"


@pytest.mark.parametrize("kind", ["push", "follow"])
def test_a_missing_gradient_is_said(kind):
    with Served(Asynchronous(), is_copy=kind == "follow") as served:
        served.asked({**HELLO, "worker": None, "leads": True} if kind == "follow" else HELLO)
        said = refused(served.asked(REQUESTS[kind]))
        assert "brings a tensor named gradient; it is missing" in said


def test_a_worker_that_does_not_exist_wakes_no_copy():
    with Served(Asynchronous(), is_copy=True) as served:
        served.server.replica_state.hears()
        assert "There is no worker 9" in refused(served.asked({**HELLO, "worker": 9}))
        assert served.server.replica_state.state == "follows"


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200))
def test_a_sealed_frame_of_any_bytes_is_told(data):
    with Served(Asynchronous()) as served:
        wire = served.wire
        wire.connection.sendall(len(data).to_bytes(8, "big") + data + wire.seals.seal(data))
        assert "no safetensors file" in refused(wire.receive()[0])
