"""`labkit board`: it says how to reach it, serves another process, and leaves nothing."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from labkit import cli
from labkit.fpga.board.command import OPEN, _how_to, serve
from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import ROOT, run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_board_for_another_process(ending, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "labkit", "board", "loopback", "--address", "127.0.0.81"]
    with subprocess.Popen(command, env=environment, stdout=-1, stderr=-2, text=True) as process:
        try:
            lines = [process.stdout.readline()]
            while lines[-1] and not lines[-1].startswith("loopback:"):
                lines.append(process.stdout.readline())
            call = lines[-1].split(":  ")[1].strip()
            printed = run_python(f"""
                import os
                os.environ["PYNQ_REMOTE_DEVICES"] = "127.0.0.81"
                from pynq import Overlay, allocate
                from labkit.fpga.board.pynq_package import compatibility
                compatibility.mend()
                dma = {call}.axi_dma_0
                sent, got = allocate(10, "u4"), allocate(10, "u4")
                sent[:] = range(10)
                dma.recvchannel.transfer(got)
                dma.sendchannel.transfer(sent)
                dma.recvchannel.wait()
                print(got.tolist())
            """)
        finally:
            process.send_signal(ending)
            rest, _ = process.communicate(timeout=300)
    assert printed == f"{list(range(10))}\n"
    assert any("A virtual board is at 127.0.0.81, port 7967" in line for line in lines)
    assert "Every user of this computer can read, change and fill this board.\n" in lines
    assert process.returncode == 130 and "labkit: stopped." in rest
    assert not list(tmp_path.iterdir())


def test_only_a_board_at_a_port_is_said_to_be_open():
    said = {}
    for address in ("unix:/tmp/labkit-board-x/1", "127.0.0.1"):
        board = SimpleNamespace(address=address, port=7967, bitstreams=["a.bit"])
        said[address[0]] = OPEN in _how_to(board, ["loopback"]).splitlines()
    assert said == {"u": False, "1": True}


def test_help_says_who_can_call_it(capsys):
    with pytest.raises(SystemExit):
        cli.main(["board", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "Every user of this computer can read, change and fill this board." in words


def test_an_unknown_design_and_a_foreign_address():
    with pytest.raises(ValueError, match="no design 'x'; there are loopback, filter_3x3, convnet"):
        serve(["x"], None)
    with pytest.raises(ValueError, match="not this computer's own"):
        serve(["loopback"], "8.8.8.8")
