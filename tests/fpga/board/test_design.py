"""Designs: their names, their files, and what of a change makes another design."""

from xml.etree import ElementTree

import pytest

from labkit.fpga.board import designs
from labkit.fpga.board.design import Design
from labkit.fpga.board.hardware.registers import Register
from labkit.fpga.errors import RTLError
from labkit.fpga.library import library


def test_equal_designs_make_equal_files(tmp_path):
    one, other = designs.loopback().write(tmp_path), designs.loopback().write(tmp_path)
    assert one == other
    assert one.name.startswith("loopback_") and one.suffix == ".bit"
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".bit", ".hwh"]


def test_other_parameters_registers_or_pins_make_another_one():
    source = library("loopback")
    made = [
        Design(source, "loopback"),
        Design(source, "loopback", {"DEPTH": 32}),
        Design(source, "loopback", leds=6),
        Design(source, "loopback", engine="cxxrtl"),
    ]
    assert len({design.digest for design in made}) == len(made)
    assert len({design.name for design in made}) == len(made)


def test_a_handoff_lists_what_is_where():
    design = Design(library("loopback"), "loopback", {"WIDTH": 64})
    root = ElementTree.fromstring(design.hwh)
    ranges = {r.get("INSTANCE"): r.get("BASEVALUE") for r in root.iter("MEMRANGE")}
    assert ranges == {
        "leds_gpio": "0x41200000",
        "btns_gpio": "0x41210000",
        "axi_dma_0": "0x40400000",
    }
    dma = next(m for m in root.iter("MODULE") if m.get("INSTANCE") == "axi_dma_0")
    values = {p.get("NAME"): p.get("VALUE") for p in dma.iter("PARAMETER")}
    assert values["c_m_axi_mm2s_data_width"] == "64"
    assert values["c_include_sg"] == "0"
    names = [r.get("NAME") for r in dma.iter("REGISTER")]
    assert names[:2] == ["MM2S_DMACR", "MM2S_DMASR"] and len(names) == 8


def test_registers_with_fields():
    registers = [Register("GO", 4, fields={"START": (3, 2)})]
    slave, module = library("control_registers")
    text = module.read_text("utf-8").replace("control_registers", "regs")
    text = text.replace("  clk,", "  aclk,").replace("  rst,", "  aresetn,")
    text = text.replace("(posedge clk)", "(posedge aclk)").replace("if (rst)", "if (!aresetn)")
    text = text.replace("(clk)", "(aclk)").replace("(rst)", "(!aresetn)")
    root = ElementTree.fromstring(Design([slave, text], "regs", registers=registers).hwh)
    found = next(r for r in root.iter("REGISTER") if r.get("NAME") == "GO")
    assert [p.get("VALUE") for p in found.findall("PROPERTY")] == [
        "GO",
        "0x4",
        "32",
        "read-write",
        "true",
    ]
    field = found.find("FIELDS/FIELD")
    assert field.get("NAME") == "START"
    assert [p.get("VALUE") for p in field][1:3] == ["3", "2"]
    assert not any(m.get("INSTANCE") == "axi_dma_0" for m in root.iter("MODULE"))


def test_a_module_without_a_use_for_a_board():
    with pytest.raises(RTLError, match="nothing that a board can be wired to"):
        text = "module m (input logic clk, input logic rst, output logic y);\n"
        _ = Design(text + "  assign y = clk ^ rst;\nendmodule\n", "m").hwh


def test_the_accelerator_has_its_registers():
    names = [register.name for register in designs.convnet().registers]
    assert names[:3] == ["CONTROL", "STATUS", "IMAGES"]
    assert designs.convnet().registers[1].fields["TOO_LONG"] == (6, 1)
