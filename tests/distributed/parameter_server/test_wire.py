"""Frames: what is sent comes back, and nothing else is taken for a frame."""

import pickle
import socket
import threading
from contextlib import suppress

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save

from labkit.distributed.parameter_server import WireError, wire

ENOUGH = 60.0  # seconds: only ends a hang
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
FIELDS = st.dictionaries(st.text(), VALUES | st.lists(VALUES, max_size=3), max_size=4)
TENSORS = st.dictionaries(
    st.text("abc ", min_size=1),
    st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3)),
    max_size=3,
)


def pair():
    ours, theirs = socket.socketpair()
    ours.settimeout(ENOUGH)
    theirs.settimeout(ENOUGH)
    return ours, theirs


def received(data):
    """What is received where these bytes come and then the connection ends."""
    ours, theirs = pair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.close()
        return wire.receive_frame(ours)


@settings(max_examples=40)
@given(FIELDS, TENSORS)
def test_what_is_sent_comes_back(fields, shapes):
    tensors = {
        name: torch.arange(torch.Size(shape).numel()).view(shape).to(dtype)
        for name, (dtype, shape) in shapes.items()
    }
    ours, theirs = pair()
    with ours, theirs:
        wire.send_frame(theirs, fields, tensors)
        said, values = wire.receive_frame(ours)
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
    ours, theirs = pair()
    frames = [wire.packed({"number": n}, {"x": torch.full((3,), float(n))}) for n in range(2)]
    stream = b"".join(len(data).to_bytes(8, "big") + data for data in frames)

    def trickle():
        for place in range(len(stream)):
            theirs.sendall(stream[place : place + 1])

    thread = threading.Thread(target=trickle)
    thread.start()
    for n in range(2):
        said, tensors = wire.receive_frame(ours)
        assert said == {"number": n} and tensors["x"].tolist() == [n] * 3
    thread.join(ENOUGH)
    theirs.close()
    with pytest.raises(EOFError):
        wire.receive_frame(ours)
    ours.close()


def test_a_peer_that_trickles_does_not_outlive_the_limit():
    ours, theirs = pair()
    over = threading.Event()

    def trickle():
        theirs.sendall((1 << 20).to_bytes(8, "big"))
        while not over.wait(0.01):
            theirs.sendall(b"x")

    thread = threading.Thread(target=trickle)
    thread.start()
    with ours, pytest.raises(TimeoutError):
        wire.receive_frame(ours, seconds=0.2)
    over.set()
    thread.join(ENOUGH)
    theirs.close()


def test_what_nobody_reads_is_not_sent_for_ever():
    ours, theirs = pair()
    with ours, theirs, pytest.raises(TimeoutError):
        wire.send_frame(ours, {}, {"x": torch.zeros(1 << 20)}, seconds=0.1)


@given(st.data())
def test_a_frame_that_is_cut_off_is_none(data):
    frame = wire.packed({"step": 3}, {"x": torch.ones(5)})
    whole = len(frame).to_bytes(8, "big") + frame
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
    with pytest.raises(WireError, match=r"with b'GET / HT', .* Is another program"):
        received(b"GET / HTTP/1.1\r\n\r\n")


def test_what_would_be_too_long_is_not_sent(monkeypatch):
    monkeypatch.setattr(wire, "MOST_BYTES", 100)
    ours, theirs = pair()
    with ours, theirs, pytest.raises(WireError, match="is to be sent; 100 are allowed"):
        wire.send_frame(theirs, {}, {"x": torch.ones(100)})


class Bomb:
    went_off = False

    def __reduce__(self):
        return setattr, (Bomb, "went_off", True)


def test_a_pickle_does_not_run():
    data = pickle.dumps(Bomb())
    with pytest.raises(WireError):
        received(len(data).to_bytes(8, "big") + data)
    assert not Bomb.went_off
    pickle.loads(data)
    assert Bomb.went_off  # as it would have


@pytest.mark.parametrize("metadata", [None, {}, {"fields": "no JSON"}, {"fields": "[1]"}])
def test_a_file_of_safetensors_without_our_fields(metadata):
    with pytest.raises(WireError):
        wire.unpacked(save({"x": torch.ones(2)}, metadata=metadata))
