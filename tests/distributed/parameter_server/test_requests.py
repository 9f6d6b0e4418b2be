"""Whatever a member of the cluster asks for: it is answered, or refused with a sentence."""

import re
import socket

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.distributed.handshake import new_secret, prove
from labkit.distributed.parameter_server import Asynchronous, Bounded, Server, Shard, Synchronous
from labkit.distributed.parameter_server.requests import PUSH
from labkit.distributed.parameter_server.wire import Wire

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


def of_a_kind(kind):
    """A request in which some fields are missing, and others are something else."""
    right = REQUESTS[kind]

    @st.composite
    def drawn(draw):
        fields = dict(right)
        names = [name for name in fields if name != "kind"]
        for name in draw(st.lists(st.sampled_from(names), max_size=2)) if names else []:
            if draw(st.booleans()):
                fields.pop(name, None)
            else:
                fields[name] = draw(st.sampled_from(JUNK))
        if isinstance(fields.get("push"), dict) and draw(st.booleans()):
            name = draw(st.sampled_from(list(PUSH)))
            fields["push"] = {**fields["push"], name: draw(st.sampled_from(JUNK))}
        if fields.get("patience") == 1 << 53 or fields.get("patience") is True:
            fields["patience"] = -1
        gradient = draw(st.sampled_from([None, *GRADIENTS]))
        return fields, {} if gradient is None else {"gradient": gradient}

    return drawn()


KINDS = st.sampled_from(["pull", "push", "push", *REQUESTS]).flatmap(of_a_kind)
UNKNOWN = st.sampled_from(JUNK).map(lambda kind: ({"kind": kind}, {}))
RULES = st.sampled_from([Asynchronous(), Bounded(1), Synchronous()])


@settings(max_examples=60, deadline=None)
@given(
    RULES, st.sampled_from([False, False, True]), st.lists(KINDS | UNKNOWN, min_size=4, max_size=16)
)
def test_every_request_is_answered_or_refused(tmp_path_factory, rule, is_copy, requests):
    file = tmp_path_factory.mktemp("server") / "checkpoint.safetensors"
    with Served(rule, file, is_copy) as served:
        served.asked({**HELLO, "worker": None, "leads": True} if is_copy else HELLO)
        served.asked(PULL)
        for fields, tensors in requests:
            if is_copy and fields["kind"] == "hello":
                continue  # with a worker's, a copy that waits ends the connection
            if fields.get("step") == 0 and fields["step"] is not False:
                fields["step"] = served.shard.finished[0]
            before = served.shard.log()
            said = served.asked(fields, tensors)
            notes, _, values = served.shard.log()
            assert values.isfinite().all()
            if "error" in said:
                refused(said)
                assert torch.equal(values, before[2]) and notes == before[0]
        assert served.asked({"kind": "count"}) == {"applied": len(served.shard.notes)}


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
        served.server.standing.hears()
        assert "There is no worker 9" in refused(served.asked({**HELLO, "worker": 9}))
        assert served.server.standing.state == "follows"


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200))
def test_a_sealed_frame_of_any_bytes_is_told(data):
    with Served(Asynchronous()) as served:
        wire = served.wire
        wire.connection.sendall(len(data).to_bytes(8, "big") + data + wire.seals.seal(data))
        assert "no safetensors file" in refused(wire.receive()[0])
