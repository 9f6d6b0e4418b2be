"""Which ports of a module are wired to a board's bus and DMA.

Two families of names are known: AMD's (`aclk`, `aresetn`, `s_axi_*`, `s_axis_*`, `m_axis_*`) and
the course's own (`clk`, `rst`, `in_*`, `out_*`), which has streams only.
"""

from dataclasses import dataclass

from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Ports
from labkit.fpga.toolchain.axi_driver import LITE, AxiPorts, axi_ports, lite_ports

LARGEST = 64  # bits of a word of a stream


@dataclass(frozen=True)
class Wires:
    """What a module has of AXI: each part may be missing, but not all of them.

    ports          where each one is, for the driver
    address_bits   of its AXI4-Lite port; 0 without one
    in_bytes       of a word of the stream in; 0 without one
    out_bytes      of a word of the stream out; 0 without one
    has_last       whether the stream out says where a packet ends
    """

    ports: AxiPorts
    address_bits: int
    in_bytes: int
    out_bytes: int
    has_last: bool


def wires(ports: Ports) -> Wires:
    """The wires of a module; raises RTLError for one that a board has no use for."""
    if "aclk" in ports:
        streams, clock, reset, level = ("s_axis_t", "m_axis_t"), "aclk", "aresetn", 0
    else:
        streams, clock, reset, level = ("in_", "out_"), "clk", "rst", 1
    if clock not in ports or reset not in ports:
        raise RTLError(
            f"The module {ports.top} has no clock and reset that the board knows: call them aclk "
            "and aresetn (low resets), or clk and rst (high resets)."
        )
    taken, given = streams
    found = Wires(
        ports=axi_ports(ports, clock, reset, level, streams),
        address_bits=_address_bits(ports),
        in_bytes=_word_bytes(ports, f"{taken}data"),
        out_bytes=_word_bytes(ports, f"{given}data"),
        has_last=f"{given}last" in ports,
    )
    if not (found.address_bits or found.in_bytes or found.out_bytes):
        raise RTLError(
            f"The module {ports.top} has nothing that a board can be wired to. It needs registers "
            "(s_axi_*), or a stream: s_axis_* and m_axis_*, or in_* and out_*, each with its "
            "valid, ready and data."
        )
    return found


def _address_bits(ports: Ports) -> int:
    if "s_axi_awaddr" not in ports:
        return 0
    wanted = [port for channel in LITE for port in lite_ports(channel)]
    _refuse_missing(ports, [*wanted, "s_axi_rresp"])
    return ports["s_axi_awaddr"].width


def _word_bytes(ports: Ports, data: str) -> int:
    if data not in ports:
        return 0
    stream = data.removesuffix("data")
    _refuse_missing(ports, [f"{stream}valid", f"{stream}ready"])
    width = ports[data].width
    if width > LARGEST or width & (width - 1) or width < 8:
        raise RTLError(
            f"{data} of {ports.top} has {width} bits; a DMA moves words of 8, 16, 32 or 64. Widen "
            "it to the next of these."
        )
    return width // 8


def _refuse_missing(ports: Ports, names: list[str]) -> None:
    missing = [name for name in names if name not in ports]
    if missing:
        raise RTLError(
            f"The module {ports.top} has a part of an AXI port, but not {', '.join(missing)}."
        )
