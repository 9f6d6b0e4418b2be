"""An `.hwh` in Vivado's own form: pynq 4.0.0 fails over it, and the board says why."""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from labkit.fpga.board.pynq_package.foreign_hwh import CURE, refuse_clock_without_rate
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")


def test_the_error_names_the_defect_and_the_file_and_its_cure_works():
    printed = run_python("""
        from pathlib import Path

        with VirtualBoard() as board:
            from pynq import Clocks, Overlay
            hwh = Path(board.bitstream).with_suffix(".hwh")
            lines = hwh.read_text().splitlines()
            hwh.write_text("\\n".join(line for line in lines if "PSU__" not in line))

            said = told(lambda: Overlay(board.bitstream)).splitlines()
            print(str(hwh) in said[0], len(said))
            print(said[0])
            print(board.machine.fabric, Clocks.fclk0_mhz)
            exec("\\n".join(said[1:]))  # what it tells the learner to do
            print(sorted(Overlay(board.bitstream).ip_dict), Clocks.fclk0_mhz)
    """)
    first, sentence, before, after = printed.splitlines()
    assert first == f"True {1 + len(CURE.splitlines())}"
    assert "TypeError (float / NoneType)" in sentence
    assert "PSU__CRL_APB__PL0_REF_CTRL__ACT_FREQMHZ" in sentence
    assert before == "None 100.0"  # nothing was loaded; and whoever only reads a clock may do so
    assert "axi_dma_0" in after and after.endswith("100.0")


def test_a_process_without_such_a_client_hears_nothing():
    refuse_clock_without_rate()
