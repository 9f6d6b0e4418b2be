"""The table of a few cycles that `check` prints beside a wrong word."""

import numpy as np

from labkit.fpga.judging.wave_table import Lane, wave_table
from labkit.fpga.ports import Port
from labkit.fpga.running.traces import Trace


def test_the_table_has_a_column_for_each_cycle():
    trace = {"clk": [0] * 9, "y_data": list(range(0, 900, 100))}
    lines = wave_table(trace, 5).splitlines()
    assert lines[0].split() == ["cycle", "2", "3", "4", "5", "6", "7"]
    assert lines[2].split() == ["y_data", "200", "300", "400", "500", "600", "700"]
    assert len({len(line) for line in lines}) == 1


def test_numbers_side_by_side_are_hexadecimal():
    ports = [
        Port("pair", True, 16, False),
        Port("wide", True, 128, False),
        Port("y", False, 8, True),
    ]
    limbs = np.array([[0x0203, 1, 0, 0, 0xF, 0xFF]], "<u4")
    lines = wave_table(Trace(ports, limbs, 0), 0).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["pair,", "hex", "0203"],
        ["wide,", "hex", "…00000001"],
        ["y", "-1"],
    ]


def test_a_lane_of_a_wide_port_has_a_row_of_its_own():
    trace = Trace([Port("y", False, 96, False)], np.array([[1, 0xFFFFFFFE, 3]], "<u4"), 0)
    lines = wave_table(trace, 0, lane=Lane("y", 1, 32)).splitlines()
    assert lines[1].split() == ["y,", "hex", "…00000001"]
    assert lines[2].split() == ["y,", "lane", "1", "-2"]
