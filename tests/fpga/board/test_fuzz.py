"""Thousands of calls that are malformed, enormous, replayed or in the wrong order: it lives on."""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import run_python
from tests.night import others_by_night

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")

FUZZ = """
import logging, os, random, resource, threading
os.environ["PYNQ_REMOTE_DEVICES"] = "127.0.0.78"
import grpc
from pynq.remote import buffer_pb2, gpio_pb2, mmio_pb2, remote_device_pb2

logging.disable(logging.CRITICAL)  # gRPC logs what it cannot decode
FILES = (buffer_pb2, gpio_pb2, mmio_pb2, remote_device_pb2)
NUMBERS = (0, 1, 2, 3, 4, 8, 40, 64, 100, 0x1001, 2**16, 2**26, 2**31 - 1, 2**32 - 1, 2**64 - 1,
           -1, -(2**31), 0x40400000, 0x40400030, 0x43C00000, 0x41200000, 0xF8000000, 0x18000000,
           0x18000FFF, 0x1FFFFFFF)
DMA = (0x00, 0x04, 0x18, 0x1C, 0x28, 0x30, 0x34, 0x48, 0x4C, 0x58)
PATHS = ("/etc/passwd", "/proc/version", "../../etc/passwd", "/lib/firmware/x.bin", "", "\\0", "/",
         "/sys/class/fpga_manager/fpga0/firmware", "/sys/class/fpga_manager/fpga0/flags",
         "/tmp/" + "x" * 5000, "/lib/firmware/../../etc/shadow", "relative")

def methods():
    for file in FILES:
        for service in file.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                yield service.full_name, method, file

class Fuzzer:
    def __init__(self, board, seed):
        self.random = random.Random(seed)
        self.channel = grpc.insecure_channel(f"{board.address}:{board.port}")
        self.methods = list(methods())
        self.ids = ["", "x", "window-0-4", "window-40400000-10000", "window-zz-1", "buffer-1",
                    "pin-906", "x" * 1000, "window-f8000000-1000", "window-18000000-100"]
        self.sent = []
        self.endings = {}

    def text(self, name):
        if name == "file_path":
            return self.random.choice(PATHS)
        if name == "direction":
            return self.random.choice(("in", "out", "sideways"))
        return self.random.choice(self.ids[-40:] + self.ids[:10])

    def message(self, kind):
        message = kind()
        for field in kind.DESCRIPTOR.fields:
            if self.random.random() < 0.1:
                continue
            if field.type == field.TYPE_STRING:
                value = self.text(field.name)
            elif field.type == field.TYPE_BYTES:
                size = self.random.choice((0, 1, 3, 4, 4, 4, 8, 400, 70000))
                value = self.random.randbytes(size)
            elif field.type == field.TYPE_BOOL:
                value = self.random.random() < 0.2
            else:
                value = self.random.choice(NUMBERS + DMA + tuple(range(0, 64, 4)))
            try:
                setattr(message, field.name, value)
            except ValueError:  # a number that the field cannot hold
                pass
        return message.SerializeToString()

    def request(self, kind):
        chance = self.random.random()
        if chance < 0.15:
            return self.random.randbytes(self.random.choice((0, 1, 7, 100, 3000)))
        if chance < 0.152:
            return bytes(5 * 2**20)
        if chance < 0.25 and self.sent:
            return self.random.choice(self.sent)
        request = self.message(kind)
        self.sent = [*self.sent, request][-50:]
        return request

    def call(self):
        service, method, file = self.random.choice(self.methods)
        path = f"/{service}/{method.name}"
        if self.random.random() < 0.01:
            path += "_of_nobody"
        kind = getattr(file, method.input_type.name)
        answer = getattr(file, method.output_type.name)
        streams = method.name in ("writefile", "write") and service != "mmio.Mmio"
        streams = streams and service != "gpio.Gpio"
        try:
            if streams:
                parts = [self.request(kind) for _ in range(self.random.choice((0, 1, 2, 5)))]
                done = self.channel.stream_unary(path)(iter(parts), timeout=60)
            elif path in ("/remote_device.RemoteDevice/readfile", "/buffer.RemoteBuffer/read"):
                done = b"".join(self.channel.unary_stream(path)(self.request(kind), timeout=60))
                answer = None
            else:
                done = self.channel.unary_unary(path)(self.request(kind), timeout=60)
            ending = "OK"
            if answer:
                told = answer.FromString(done)
                for name in ("mmio_id", "buffer_id", "gpio_id"):
                    if getattr(told, name, ""):
                        self.ids.append(getattr(told, name))
        except grpc.RpcError as error:
            ending = error.code().name
            if ending == "UNKNOWN":
                print("a fault of the server:", path, error.details())
        self.endings[ending] = self.endings.get(ending, 0) + 1
"""


CALLS = others_by_night([300, 9_500], "tests/fpga/board/test_fuzz.py::test_thousands_of_calls")


@pytest.mark.parametrize("calls", CALLS)
def test_thousands_of_calls(calls):
    printed = run_python(
        FUZZ
        + f"CALLS = {calls}\n"
        + """
with VirtualBoard(address="127.0.0.78") as board:
    from pynq import Overlay, allocate
    overlay = Overlay(board.bitstream)
    fuzzer = Fuzzer(board, seed=1)
    for _ in range(500):
        fuzzer.call()
    threads = threading.active_count()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(CALLS):
        fuzzer.call()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print("endings", sorted(fuzzer.endings), sum(fuzzer.endings.values()))
    print("memory", grown < 400 * 1024, grown)
    print("threads", threading.active_count() <= threads + 2)
    machine = board.machine
    print("files", len(machine.files._contents) <= 66, len(machine.memory._freed) <= 1024)
    for buffer in [*machine.memory._buffers]:
        machine.free(buffer)
    board.machine.pins.unexport("pin-906")
    overlay = Overlay(board.bitstream)
    dma = overlay.axi_dma_0
    sent, got = allocate(100, "u4"), allocate(100, "u4")
    sent[:] = range(100)
    dma.recvchannel.transfer(got)
    dma.sendchannel.transfer(sent)
    dma.sendchannel.wait()
    dma.recvchannel.wait()
    print("alive", bool((sent == got).all()))
"""
    )
    assert "a fault of the server" not in printed, printed
    lines = dict(line.split(" ", 1) for line in printed.splitlines())
    assert lines["endings"].endswith(f" {500 + calls}")
    assert "OK" in lines["endings"] and "DEADLINE_EXCEEDED" not in lines["endings"]
    assert lines["memory"].startswith("True"), printed
    assert lines["threads"] == "True" and lines["files"] == "True True"
    assert lines["alive"] == "True"
