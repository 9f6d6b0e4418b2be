"""Frames: what is sent comes back, and nothing else is taken for a frame."""

import pickle
import socket
import threading
from contextlib import contextmanager, suppress

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save

from labkit.distributed.connections.seals import ForgedError, Seals
from labkit.distributed.parameter_server import WireError
from labkit.distributed.parameter_server.protocol import wire

ENOUGH = 60.0  # seconds: only ends a hang
KEY = b"the key of a connection"
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
FIELDS = st.dictionaries(st.text(), VALUES | st.lists(VALUES, max_size=3), max_size=4)
TENSORS = st.dictionaries(
    st.text("abc ", min_size=1),
    st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3)),
    max_size=3,
)


@contextmanager
def pair():
    """Both ends of a connection after its handshake."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(ENOUGH)
        theirs.settimeout(ENOUGH)
        yield wire.Wire(ours, Seals(KEY, calls=False)), wire.Wire(theirs, Seals(KEY, calls=True))


def framed(*data):
    """The bytes of these frames, as the caller seals them."""
    seals = Seals(KEY, calls=True)
    return [len(one).to_bytes(8, "big") + one + seals.seal(one) for one in data]


def received(data):
    """What is received where these bytes come and then the connection ends."""
    with pair() as (ours, theirs):
        theirs.connection.sendall(data)
        theirs.connection.close()
        return ours.receive()


@settings(max_examples=40)
@given(FIELDS, TENSORS)
def test_what_is_sent_comes_back(fields, shapes):
    tensors = {
        name: torch.arange(torch.Size(shape).numel()).view(shape).to(dtype)
        for name, (dtype, shape) in shapes.items()
    }
    with pair() as (ours, theirs):
        theirs.send(fields, tensors)
        said, values = ours.receive()
    assert said == fields and values.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert values[name].dtype == tensor.dtype and torch.equal(values[name], tensor)


def test_losses_that_are_no_numbers():
    said, _ = wire.unpacked(wire.packed({"loss": float("nan"), "most": float("inf")}))
    assert said["loss"] != said["loss"] and said["most"] == float("inf")


def test_the_rest_is_a_file_of_safetensors():
    data = wire.packed({"step": 3}, {"x": torch.ones(2)})
    assert torch.equal(load(data)["x"], torch.ones(2))


def test_frames_that_come_byte_by_byte_and_one_behind_the_other():
    frames = [wire.packed({"number": n}, {"x": torch.full((3,), float(n))}) for n in range(2)]
    stream = b"".join(framed(*frames))
    with pair() as (ours, theirs):

        def trickle():
            for place in range(len(stream)):
                theirs.connection.sendall(stream[place : place + 1])

        thread = threading.Thread(target=trickle)
        thread.start()
        for n in range(2):
            said, tensors = ours.receive()
            assert said == {"number": n} and tensors["x"].tolist() == [n] * 3
        thread.join(ENOUGH)
        theirs.connection.close()
        with pytest.raises(EOFError):
            ours.receive()


def test_a_peer_that_trickles_does_not_outlive_the_limit():
    over = threading.Event()
    with pair() as (ours, theirs):

        def trickle():
            theirs.connection.sendall((1 << 20).to_bytes(8, "big"))
            while not over.wait(0.01):
                theirs.connection.sendall(b"x")

        thread = threading.Thread(target=trickle)
        thread.start()
        with pytest.raises(TimeoutError):
            ours.receive(seconds=0.2)
        over.set()
        thread.join(ENOUGH)


def test_what_nobody_reads_is_not_sent_for_ever():
    with pair() as (ours, _), pytest.raises(TimeoutError):
        ours.send({}, {"x": torch.zeros(1 << 20)}, seconds=0.1)


def forged(frames):
    """How many frames are taken of what comes, until one is none of those that were sent."""
    with pair() as (ours, theirs):
        theirs.connection.sendall(b"".join(frames))
        theirs.connection.shutdown(socket.SHUT_WR)
        for count in range(len(frames)):
            try:
                ours.receive()
            except ForgedError:
                return count
        return None


def test_who_stands_in_between_changes_nothing(monkeypatch):
    frames = framed(*[wire.packed({"number": n}) for n in range(3)])
    assert forged(frames) is None
    first, second, third = frames
    assert forged([first, first]) == 1, "repeated"
    assert forged([second]) == 0, "moved"
    assert forged([first, third]) == 1, "left out"
    assert forged([second, first]) == 0, "exchanged"
    monkeypatch.setattr(wire, "unpacked", pytest.fail)  # nothing is unpacked before its seal
    of_another = Seals(b"k" * 32, calls=True)
    data = wire.packed({"number": 0})
    assert forged([first[:8] + data + of_another.seal(data)]) == 0, "written with another key"
    assert forged([first[:8] + data + bytes(32)]) == 0, "written without a key"


@settings(max_examples=60)
@given(st.data())
def test_a_changed_bit_is_noticed(data):
    (frame,) = framed(wire.packed({"step": 3}, {"x": torch.ones(5)}))
    place = data.draw(st.integers(8, len(frame) - 1))  # what a changed length does is tested below
    changed = bytearray(frame)
    changed[place] ^= 1 << data.draw(st.integers(0, 7))
    assert forged([bytes(changed)]) == 0


def test_a_frame_is_not_turned_back():
    with pair() as (ours, theirs):
        ours.send({"kind": "push"})
        theirs.connection.sendall(theirs.connection.recv(1 << 16))
        with pytest.raises(ForgedError):
            ours.receive()


@pytest.mark.parametrize("change", [-1, 1], ids=["shorter", "longer"])
def test_a_changed_length_is_no_other_frame(change):
    data = wire.packed({"step": 3})
    whole = b"".join(framed(data, data))
    with pytest.raises(ForgedError):
        received((len(data) + change).to_bytes(8, "big") + whole[8:])


@given(st.data())
def test_a_frame_that_is_cut_off_is_none(data):
    (whole,) = framed(wire.packed({"step": 3}, {"x": torch.ones(5)}))
    end = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(WireError, match="connection ended after"):
        received(whole[:end])


@given(st.binary(max_size=60))
def test_a_stranger_s_bytes_are_no_frame(data):
    with pytest.raises(WireError, match="are no safetensors file with fields"):
        wire.unpacked(data)


@given(st.data())
def test_a_damaged_head_is_a_sentence_or_another_frame(data):
    frame = bytearray(wire.packed({"step": 3}, {"x": torch.ones(2)}))
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] ^= data.draw(st.integers(1, 255))
    with suppress(WireError):  # and nothing else
        wire.unpacked(bytes(frame))


def test_a_length_that_nobody_means_is_refused_before_anything_is_read():
    with pytest.raises(ForgedError, match="is announced, which nobody of us sends"):
        received(b"GET / HTTP/1.1\r\n\r\n")


def test_what_would_be_too_long_is_not_sent(monkeypatch):
    monkeypatch.setattr(wire, "MOST_BYTES", 100)
    with pair() as (ours, theirs):
        with pytest.raises(WireError, match="is to be sent; 100 are allowed"):
            theirs.send({}, {"x": torch.ones(100)})
        theirs.send({"number": 1})
        monkeypatch.undo()
        assert ours.receive()[0] == {"number": 1}


class Bomb:
    went_off = False

    def __reduce__(self):
        return setattr, (Bomb, "went_off", True)


def test_a_pickle_does_not_run():
    data = pickle.dumps(Bomb())
    with pytest.raises(WireError):
        received(*framed(data))
    assert not Bomb.went_off
    pickle.loads(data)
    assert Bomb.went_off  # as it would have


def test_fields_that_are_nested_without_end():
    with pytest.raises(WireError, match="RecursionError"):
        wire.unpacked(save({}, metadata={"fields": "[" * 100_000}))


@pytest.mark.parametrize("metadata", [None, {}, {"fields": "no JSON"}, {"fields": "[1]"}])
def test_a_file_of_safetensors_without_our_fields(metadata):
    with pytest.raises(WireError):
        wire.unpacked(save({"x": torch.ones(2)}, metadata=metadata))
