"""Starting, stopping and loading: ports in use, foreign files, interrupted programs."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from labkit.fpga.board.services import server
from tests.fpga.board.pynq_process import BEGINNING, ROOT, run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")


def test_addresses_and_ports():
    printed = run_python("""
        import os, socket, tempfile
        said = tempfile.TemporaryFile()
        os.dup2(said.fileno(), 2)  # where gRPC writes what it thinks of a port in use
        for address in ("0.0.0.0", "192.168.2.99", "localhost", "::", "8.8.8.8", "x"):
            print(told(VirtualBoard(address=address).start))
        with VirtualBoard(address="127.0.0.79") as board:
            print(board.address, board.port, told(board.start))
            print(told(VirtualBoard(address="127.0.0.79").start))
            with VirtualBoard(address="127.0.0.79", port=0) as other:
                print(other.port not in (0, 7967))
        print(told(lambda: board.address), told(lambda: board.add(designs.loopback())))
        board.stop()
        with socket.socket() as taken:
            taken.bind(("127.0.0.79", 0))
            taken.listen()
            port = taken.getsockname()[1]
            print(told(VirtualBoard(address="127.0.0.79", port=port).start))
        said.seek(0)
        print(b"in use" in said.read())
    """)
    lines = printed.splitlines()
    assert all("is not this computer's own" in line for line in lines[:6])
    assert lines[6].startswith("127.0.0.79 7967 This board is running already")
    assert "Port 7967 of 127.0.0.79 is in use" in lines[7]
    assert lines[8] == "True"
    assert lines[9].count("The board is not running") == 2
    assert "is in use" in lines[10]
    assert lines[11] == "False"


def test_bitstreams_that_are_loaded_and_refused():
    printed = run_python("""
        import shutil
        from pathlib import Path

        other = Design(designs.loopback().source, "loopback", {"WIDTH": 64})
        with VirtualBoard() as board:
            from pynq import Overlay, allocate
            path = board.add(other)
            strange = Design(designs.loopback().source, "loopback", {"DEPTH": 4})
            strange = strange.write(Path(board.bitstream).parent)
            print(told(lambda: Overlay(str(strange))))
            vivado = Path(board.bitstream).with_name("vivado.bit")
            content = Path(board.bitstream).read_bytes()
            vivado.write_bytes(content.replace(b"labkit virtual", b"some other one"))
            shutil.copy(Path(board.bitstream).with_suffix(".hwh"), vivado.with_suffix(".hwh"))
            print(told(lambda: Overlay(str(vivado))))
            print(told(lambda: Overlay(board.bitstream).leds_gpio.channel1.write(1, 15)))
            # The .hwh of a design with an IP at another address
            wrong = path.with_suffix(".hwh")
            wrong.write_text(wrong.read_text().replace("0x4040", "0x4060"))
            overlay = Overlay(str(path))
            print(told(lambda: overlay.axi_dma_0))
            board.add(other)
            dma = Overlay(str(path)).axi_dma_0
            print(board.leds)
            sent, got = allocate(10, "u8"), allocate(10, "u8")
            sent[:] = np.arange(10) << 40
            dma.recvchannel.transfer(got)
            dma.sendchannel.transfer(sent)
            dma.sendchannel.wait()
            dma.recvchannel.wait()
            print(bool((sent == got).all()), board.cycle)
    """)
    one = printed.replace("\n\t", " ")
    assert "is of a design that this board does not know" in one
    assert "are no bitstream of the virtual board" in one
    assert "Nothing is at 0x40600000 (DECERR)" in one
    assert "it was made for another bitstream" in one
    assert one.splitlines()[-2:] == ["0", "True 11"]


def test_a_board_that_is_stopped_in_the_middle_of_a_transfer():
    printed = run_python("""
        board = VirtualBoard(address="127.0.0.80").start()
        from pynq import allocate
        dma = dma_of(board)
        sent, got = allocate(1000, "u4"), allocate(1000, "u4")
        dma.sendchannel.transfer(sent)
        board.machine.stop()
        print(told(dma.sendchannel.wait))
        board.stop()
        print(told(dma.sendchannel.wait)[:30])
        board.stop()
        with VirtualBoard() as board:  # where the other one was
            dma = dma_of(board)
            print(told(lambda: dma.sendchannel.transfer(sent)))
            again = allocate(8, "u4")
            back = allocate(8, "u4")
            dma.recvchannel.transfer(back)
            dma.sendchannel.transfer(again)
            dma.recvchannel.wait()
            print(dma.recvchannel.transferred)
    """)
    assert "The board was stopped" in printed
    assert "it belongs to a board that was stopped" in printed
    assert printed.splitlines()[-1] == "32"


def test_pynq_comes_after_the_board():
    printed = run_python("""
        import pynq
        print(told(VirtualBoard().start))
    """)
    assert "pynq was imported before the board was started" in printed


@pytest.mark.parametrize("ending", ["", "raise SystemExit(3)", "raise KeyboardInterrupt"])
def test_a_program_that_never_stops_its_board_ends(ending, tmp_path):
    code = f"""
import tempfile
tempfile.tempdir = {str(tmp_path)!r}
board = VirtualBoard(port=0).start()
from pynq.pl_server.remote_device import RemoteDevice
device = RemoteDevice(0, board.address, board.port)
buffer = device.allocate(10, "u4")
print("started", flush=True)
{ending}
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BEGINNING + code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout == "started\n"
    assert not list(tmp_path.iterdir())


def test_an_interrupt_ends_a_wait_and_the_program(tmp_path):
    code = """
board = VirtualBoard(port=0).start()
from pynq.pl_server.remote_device import RemoteDevice
device = RemoteDevice(0, board.address, board.port)
print("waits", flush=True)
while True:
    device.exists_file("/proc/version")
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BEGINNING + code]
    with subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert process.returncode in (1, -signal.SIGINT) and "KeyboardInterrupt" in errors


def test_a_cell_that_makes_a_board_may_run_twice():
    printed = run_python("""
        lines = (
            "board = VirtualBoard(designs.loopback_of_bytes())",
            "board.start()",
            "from pynq import Overlay",
            "Overlay(board.bitstream).leds_gpio.channel1.write(5, 15)",
            "print(board.leds, board.address)",
        )
        cell = chr(10).join(lines)
        exec(cell)
        exec(cell)
        print(told(lambda: dma_of(board).write(0x28, 0)), board.accesses > 0)
    """)
    first, again, rest = printed.splitlines()
    assert first == again and first.startswith("5 ")
    assert rest == "nothing True"


def test_an_amount_in_a_register_and_transfers_of_14_bits():
    printed = run_python("""
        with VirtualBoard(designs.brighten()) as board:
            from pynq import MMIO, Overlay, allocate
            overlay = Overlay(board.bitstream)
            print(overlay.axi_dma_0.buffer_max_size)
            print(told(lambda: overlay.axi_dma_0.write(0x28, 1 << 14)))
            unit = overlay.brighten_unit_0
            unit.register_map.AMOUNT = 255
            print(unit.read(0x10), MMIO(0x43C0_0010).read())
            for offset, value in ((0x00, 1), (0x10, 256)):
                print(told(lambda: unit.write(offset, value)))
            print(told(lambda: unit.read(0x14)), unit.read(0x10))
    """)
    size, long, amount, wrong_place, too_large, unknown = printed.splitlines()
    assert size == "16383" and "LENGTH has 14 bits, too few for 16,384" in long
    assert amount == "255 255"
    assert "SLVERR" in wrong_place and "SLVERR" in too_large
    assert "SLVERR" in unknown and unknown.endswith("255")


@pytest.mark.skipif(sys.platform == "win32", reason="it is a port there")
def test_no_other_user_reaches_a_board():
    """A port would be open to all of them; the folder of a socket file is not."""
    printed = run_python("""
        import os, stat
        import psutil

        with VirtualBoard() as board, VirtualBoard(port=0) as other:
            for one in (board, other):
                file = f"{one.address.removeprefix('unix:')}:{one.port}"
                folder = os.path.dirname(file)
                print(stat.S_ISSOCK(os.stat(file).st_mode), oct(os.stat(folder).st_mode & 0o777))
            open_ports = psutil.Process().net_connections("inet")
            print([port.laddr for port in open_ports if port.status == psutil.CONN_LISTEN])
            print(board.address in os.environ["PYNQ_REMOTE_DEVICES"], bool(dma_of(board)))
        print(os.listdir(folder))
    """)
    assert printed.splitlines() == ["True 0o700", "True 0o700", "[]", "True True", "[]"]


def test_a_port_in_use_is_found_without_asking_grpc():
    """gRPC would write a line to stderr, which a notebook shows."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert server._bind(None, "127.0.0.1", taken.getsockname()[1]) == 0
    assert server._bind(None, "127.0.0.300", 0) == 0
