"""The `.hwh` file of a design: what pynq reads to know which IP is at which address.

It has what Vivado writes, as far as pynq 4.0 reads it. One entry is not Vivado's for this chip:
`PSU__..._FREQMHZ`, without which pynq 4.0.0 fails (`pynq_package/foreign_hwh.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Protocol
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from labkit.fpga.board.hardware import addresses, dma
from labkit.fpga.board.hardware.registers import Register
from labkit.fpga.board.hardware.wires import Wires

PROCESSOR = "processing_system7_0"
MASTER = "M_AXI_GP0"
PORT = "S_AXI"
FCLK0_MHZ = 100.0
_CONTROL = {"RS": (0, 1), "Reset": (2, 1), "IOC_IrqEn": (12, 1)}
_STATUS = {
    "Halted": (0, 1),
    "Idle": (1, 1),
    "DMAIntErr": (4, 1),
    "DMASlvErr": (5, 1),
    "DMADecErr": (6, 1),
    "IOC_Irq": (12, 1),
    "Err_Irq": (14, 1),
}
_DMA = (
    Register("MM2S_DMACR", 0x00, fields=_CONTROL),
    Register("MM2S_DMASR", 0x04, fields=_STATUS),
    Register("MM2S_SA", 0x18),
    Register("MM2S_LENGTH", 0x28),
    Register("S2MM_DMACR", 0x30, fields=_CONTROL),
    Register("S2MM_DMASR", 0x34, fields=_STATUS),
    Register("S2MM_DA", 0x48),
    Register("S2MM_LENGTH", 0x58),
)
_GPIO = (Register("GPIO_DATA", 0x0), Register("GPIO_TRI", 0x4))


class Described(Protocol):
    """What the file needs of a design: `labkit.fpga.board.design.Design` has it."""

    top: str
    instance: str
    parameters: Mapping[str, int]
    registers: Sequence[Register]
    wires: Wires
    has_dma: bool
    leds: int
    buttons: int
    length_bits: int


def handoff(design: Described) -> str:
    """The text of the file."""
    root = Element("EDKSYSTEM", EDWVERSION="1.2", TIMESTAMP="labkit", VIVADOVERSION="2022.1")
    SubElement(root, "SYSTEMINFO", ARCH="zynq", DEVICE="7z020", NAME=design.top, PACKAGE="clg400")
    SubElement(root, "EXTERNALPORTS")
    SubElement(root, "EXTERNALINTERFACES")
    modules = SubElement(root, "MODULES")
    processor = _module(modules, PROCESSOR, "xilinx.com:ip:processing_system7:5.5", _clocks())
    _interface(processor, MASTER, "MASTER")
    ranges = SubElement(processor, "MEMORYMAP")
    _gpio(modules, ranges, "leds_gpio", addresses.LEDS, design.leds, inputs=False)
    _gpio(modules, ranges, "btns_gpio", addresses.BUTTONS, design.buttons, inputs=True)
    if design.has_dma:
        _dma(modules, ranges, design)
    if design.wires.address_bits:
        vlnv = f"labkit:rtl:{design.top}:1.0"
        block = _module(modules, design.instance, vlnv, dict(design.parameters))
        _mapped(block, ranges, design.instance, addresses.RTL, design.registers)
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def _dma(modules: Element, ranges: Element, design: Described) -> None:
    wires = design.wires
    parameters = {
        "c_include_sg": 0,
        "c_micro_dma": 0,
        "c_sg_length_width": design.length_bits,
        "c_include_mm2s": int(wires.in_bytes > 0),
        "c_include_mm2s_dre": 0,
        "c_m_axi_mm2s_data_width": 8 * dma.memory_word(wires.in_bytes),
        "c_include_s2mm": int(wires.out_bytes > 0),
        "c_include_s2mm_dre": 0,
        "c_m_axi_s2mm_data_width": 8 * dma.memory_word(wires.out_bytes),
    }
    name = dma.AxiDma.name
    block = _module(modules, name, "xilinx.com:ip:axi_dma:7.1", parameters)
    _mapped(block, ranges, name, addresses.DMA, _DMA)


def _gpio(
    modules: Element, ranges: Element, name: str, base: int, width: int, inputs: bool
) -> None:
    parameters = {
        "C_GPIO_WIDTH": width,
        "C_ALL_INPUTS": int(inputs),
        "C_ALL_OUTPUTS": int(not inputs),
        "C_IS_DUAL": 0,
    }
    block = _module(modules, name, "xilinx.com:ip:axi_gpio:2.0", parameters)
    _mapped(block, ranges, name, base, _GPIO)


def _clocks() -> dict[str, object]:
    """Four clocks for the programmable logic, of which the first is on."""
    found: dict[str, object] = {}
    for clock in range(4):
        found[f"PCW_FCLK{clock}_PERIPHERAL_DIVISOR0"] = 5
        found[f"PCW_FCLK{clock}_PERIPHERAL_DIVISOR1"] = 2
        found[f"PCW_FCLK{clock}_PERIPHERAL_CLKSRC"] = "IO PLL"
        found[f"PCW_FPGA_FCLK{clock}_ENABLE"] = int(clock == 0)
        found[f"PCW_ACT_FPGA{clock}_PERIPHERAL_FREQMHZ"] = FCLK0_MHZ
        found[f"PSU__CRL_APB__PL{clock}_REF_CTRL__ACT_FREQMHZ"] = FCLK0_MHZ
    return found


def _module(modules: Element, name: str, vlnv: str, parameters: dict[str, object]) -> Element:
    kind = vlnv.split(":")[2]
    module = SubElement(
        modules, "MODULE", FULLNAME=f"/{name}", INSTANCE=name, MODTYPE=kind, VLNV=vlnv, IS_PL="TRUE"
    )
    listed = SubElement(module, "PARAMETERS")
    for key, value in parameters.items():
        SubElement(listed, "PARAMETER", NAME=key, VALUE=str(value))
    return module


def _interface(module: Element, name: str, kind: str) -> None:
    interfaces = SubElement(module, "BUSINTERFACES")
    vlnv = "xilinx.com:interface:aximm:1.0"
    SubElement(interfaces, "BUSINTERFACE", NAME=name, TYPE=kind, VLNV=vlnv)


def _mapped(
    module: Element, ranges: Element, name: str, base: int, registers: Sequence[Register]
) -> None:
    """Puts an IP at its addresses, and lists its registers."""
    _interface(module, PORT, "SLAVE")
    SubElement(
        ranges,
        "MEMRANGE",
        ADDRESSBLOCK="Reg",
        BASEVALUE=f"0x{base:08X}",
        HIGHVALUE=f"0x{base + addresses.SIZE - 1:08X}",
        INSTANCE=name,
        MASTERBUSINTERFACE=MASTER,
        MEMTYPE="REGISTER",
        SLAVEBUSINTERFACE=PORT,
    )
    blocks = SubElement(module, "ADDRESSBLOCKS")
    block = SubElement(blocks, "ADDRESSBLOCK", INTERFACE=PORT, NAME="Reg", USAGE="register")
    listed = SubElement(block, "REGISTERS")
    for register in registers:
        _register(listed, register)


def _register(listed: Element, register: Register) -> None:
    entry = SubElement(listed, "REGISTER", NAME=register.name)
    _properties(
        entry,
        DESCRIPTION=register.description or register.name,
        ADDRESS_OFFSET=f"0x{register.offset:X}",
        SIZE="32",
        ACCESS=register.access,
        IS_ENABLED="true",
    )
    fields = SubElement(entry, "FIELDS")
    for name, (lowest, bits) in register.fields.items():
        field = SubElement(fields, "FIELD", NAME=name)
        _properties(
            field,
            DESCRIPTION=name,
            BIT_OFFSET=str(lowest),
            BIT_WIDTH=str(bits),
            ACCESS=register.access,
        )


def _properties(entry: Element, **values: str) -> None:
    for name, value in values.items():
        SubElement(entry, "PROPERTY", NAME=name, VALUE=value)
