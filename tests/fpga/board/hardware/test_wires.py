"""Which modules can be wired to a board, and what is said of the others."""

import pytest

from labkit.fpga.board.hardware.wires import wires
from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Port, Ports

STREAMS = "in_valid< in_ready> in_data<8 out_valid> out_ready< out_data>32 out_last>"


def ports(text: str) -> Ports:
    """Ports as "name<width" for inputs and "name>width" for outputs."""
    found = []
    for word in text.split():
        mark = "<" if "<" in word else ">"
        name, width = word.split(mark)
        found.append(Port(name, mark == "<", int(width or 1), False))
    return Ports("top", tuple(found))


def test_the_courses_names():
    found = wires(ports("clk< rst< " + STREAMS))
    assert (found.in_bytes, found.out_bytes, found.has_last, found.address_bits) == (1, 4, True, 0)
    assert (found.ports.clock, found.ports.reset, found.ports.reset_level) == (0, 1, 1)
    assert found.ports.stream_out.last == 8 and found.ports.stream_in.last == -1


def test_amds_names():
    text = "aclk< aresetn< s_axis_tvalid< s_axis_tready> s_axis_tdata<64 s_axis_tlast<"
    found = wires(ports(text + " m_axis_tvalid> m_axis_tready< m_axis_tdata>16 m_axis_tkeep>2"))
    assert (found.in_bytes, found.out_bytes, found.has_last) == (8, 2, False)
    assert found.ports.reset_level == 0 and found.ports.bytes_out == 9


def test_one_stream_is_enough():
    found = wires(ports("clk< rst< out_valid> out_ready< out_data>8"))
    assert (found.in_bytes, found.out_bytes, found.has_last) == (0, 1, False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x<", "no clock and reset that the board knows"),
        ("clk< " + STREAMS, "no clock and reset"),
        ("clk< rst< x< y>", "nothing that a board can be wired to"),
        ("clk< rst< in_data<8 in_valid<", "but not in_ready"),
        ("clk< rst< in_valid< in_ready> in_data<24", "has 24 bits; a DMA moves words of 8, 16"),
        ("clk< rst< in_valid< in_ready> in_data<128", "has 128 bits"),
        ("aclk< aresetn< s_axi_awaddr<4", "but not s_axi_awvalid, s_axi_awready"),
    ],
)
def test_what_cannot_be_wired(text, sentence):
    with pytest.raises(RTLError, match=sentence):
        wires(ports(text))
