"""Clients that begin calls and do not go on: the board answers the others."""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")

SLOW = """
import os, threading
os.environ["PYNQ_REMOTE_DEVICES"] = "127.0.0.77"
import grpc
from pynq.remote import buffer_pb2, remote_device_pb2

over = threading.Event()

def then_silent(*messages):
    yield from messages
    over.wait()

part = remote_device_pb2.WriteFileRequest(file_path="/tmp/x", data=b"x").SerializeToString()
UNARY, STREAM = "/mmio.Mmio/read", "/remote_device.RemoteDevice/writefile"

with VirtualBoard(address="127.0.0.77") as board:
    from pynq import Overlay, allocate
    buffer = allocate(2**26, "u1")
    everything = buffer_pb2.BufferReadRequest(buffer_id=buffer.buffer_id).SerializeToString()
    channels = [grpc.insecure_channel(f"{board.address}:{board.port}") for _ in range(3)]
    slow = []
    for _ in range(20):
        slow.append(channels[0].stream_unary(UNARY).future(then_silent()))
        slow.append(channels[1].stream_unary(STREAM).future(then_silent(part)))
        slow.append(channels[2].unary_stream("/buffer.RemoteBuffer/read")(everything))
    dma = Overlay(board.bitstream).axi_dma_0
    sent, got = allocate(100, "u4"), allocate(100, "u4")
    sent[:] = range(100)
    dma.recvchannel.transfer(got)
    dma.sendchannel.transfer(sent)
    dma.sendchannel.wait()
    dma.recvchannel.wait()
    print("alive", bool((sent == got).all()))
    print("left", *[call.code().name for call in slow[:2]])
    over.set()
    for call in slow:
        call.cancel()
"""


def test_slow_calls_keep_nobody_out():
    lines = run_python(SLOW).splitlines()
    assert lines == ["alive True", "left CANCELLED CANCELLED"]
