"""The scripts for Vivado, which is not here: do they name what the virtual board has?"""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import labkit.fpga.board
from labkit.fpga.board import designs
from labkit.fpga.convnet import accelerator
from labkit.fpga.library import library
from labkit.fpga.sources import RTL, read_sources, without_comments
from labkit.fpga.toolchain.lint import lint
from labkit.fpga.toolchain.models import compiled

FOLDER = Path(labkit.fpga.board.__file__).parent / "vivado"
TCL = ("build", "package_ip", "block_design")


def text(name: str) -> str:
    """A file of the folder."""
    return (FOLDER / name).read_text("utf-8")


def values(module: ElementTree.Element) -> dict[str, str]:
    """The parameters of a module in a .hwh."""
    return {p.get("NAME"): p.get("VALUE") for p in module.iter("PARAMETER")}


@pytest.fixture(scope="module")
def hwh() -> ElementTree.Element:
    """What the virtual board says of the accelerator's design."""
    return ElementTree.fromstring(designs.convnet().hwh)


def test_each_file_says_that_it_was_never_built():
    files = sorted(FOLDER.iterdir())
    assert len(files) == 7
    for path in files:
        assert "Never built here" in "\n".join(path.read_text("utf-8").splitlines()[:3]), path.name


def test_the_readme_names_each_file():
    for path in FOLDER.iterdir():
        assert f"`{path.name}`" in text("README.md") or path.name == "README.md"


def test_every_file_of_the_rtl_is_packaged():
    named = re.findall(r"^  (\w+\.sv) \\$", text("package_ip.tcl"), re.MULTILINE)
    assert named == [path.name for path in library("accelerator")]
    assert all((RTL / name).is_file() for name in named)
    assert "file normalize $here/../../rtl" in text("build.tcl")
    assert (FOLDER / "../../rtl").resolve() == RTL.resolve()


def test_the_registers_are_the_accelerators():
    found = re.findall(r"^  (\w+) (0x\w\w) ([\w-]+) \\$", text("package_ip.tcl"), re.MULTILINE)
    wanted = [(r.name, f"0x{r.offset:02X}", r.access) for r in designs.convnet().registers]
    assert found == wanted
    bits = re.findall(r"^  ([A-Z_]+) (\d) \\$", text("package_ip.tcl"), re.MULTILINE)
    assert bits == [(name, str(place)) for place, name in enumerate(accelerator.STATUS)]


def test_the_addresses_are_those_of_the_virtual_board(hwh):
    found = re.findall(r"^  (\w+)/\w+ (0x4\w{7}) \\$", text("block_design.tcl"), re.MULTILINE)
    wanted = {r.get("INSTANCE"): r.get("BASEVALUE") for r in hwh.iter("MEMRANGE")}
    assert dict(found) == wanted
    sizes = {
        int(r.get("HIGHVALUE"), 16) - int(r.get("BASEVALUE"), 16) + 1 for r in hwh.iter("MEMRANGE")
    }
    assert sizes == {0x10000} and "-range 0x10000" in text("block_design.tcl")


def test_the_ips_and_their_parameters_are_those_of_the_virtual_board(hwh):
    script = text("block_design.tcl")
    cells = dict(reversed(pair) for pair in re.findall(r"-vlnv (\S+) (\w+)", script))
    for module in hwh.iter("MODULE"):
        assert cells[module.get("INSTANCE")] == module.get("VLNV")
    dma = next(m for m in hwh.iter("MODULE") if m.get("INSTANCE") == "axi_dma_0")
    for name, value in values(dma).items():
        assert f"CONFIG.{name} {{{value}}}" in script
    clock = values(next(m for m in hwh.iter("MODULE") if m.get("MODTYPE") == "processing_system7"))
    megahertz = float(clock["PCW_ACT_FPGA0_PERIPHERAL_FREQMHZ"])
    assert f"CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ {{{megahertz:.0f}}}" in script
    assert script.count("CONFIG.C_GPIO_WIDTH {4}") == 2


def test_every_port_of_the_accelerator_is_wired():
    model = compiled(read_sources(library("accelerator"), "accelerator"), "verilator", {})
    buses = {port.name.partition("_t")[0] for port in model.ports.all if "axis" in port.name}
    assert buses == {"s_axis", "m_axis"}
    script = text("block_design.tcl")
    for pin in ("s_axi", "s_axis", "m_axis", "aclk", "aresetn"):
        assert f"accelerator_0/{pin} " in script


@pytest.mark.parametrize("board", ["pynq_z1", "pynq_z2"])
def test_each_pin_is_constrained_once(board):
    lines = re.findall(
        r"PACKAGE_PIN (\w+) IOSTANDARD LVCMOS33.*\{(\w+\[\d\])\}", text(f"{board}.xdc")
    )
    assert [port for _, port in lines] == [f"{p}[{i}]" for p in ("leds", "btns") for i in range(4)]
    assert len({pin for pin, _ in lines}) == 8


def test_the_verilog_around_the_accelerator_is_sound():
    wrapper = text("accelerator_ip.v")
    sources = read_sources([*library("accelerator"), wrapper], "accelerator_ip")
    lint(sources, {"CONV1_LANES": 2, "RESIDENT": 1})


def test_it_has_the_accelerators_ports_and_parameters():
    own = without_comments(text("accelerator_ip.v"))
    theirs = without_comments((RTL / "accelerator.sv").read_text("utf-8"))
    port = re.compile(r"(input|output) +(?:wire|logic) +(\[\d+:0\])? *(\w+)[,\n]")
    assert port.findall(own) == port.findall(theirs)
    value = re.compile(r"parameter (?:int|bit)? *(\w+) += (?:1'b)?(\d+)")
    defaults = dict(value.findall(theirs))
    assert dict(value.findall(own)).items() <= defaults.items()
    design = designs.convnet()
    assert set(design.parameters) == set(dict(value.findall(own)))
    for name, given in re.findall(r"(\w+_LANES|RESIDENT) (\d+)", text("build.tcl")):
        assert given == defaults[name]


@pytest.mark.parametrize("name", TCL)
def test_brackets_close(name):
    code = re.sub(r"\\[\[\]]|^\s*#.*$", "", text(f"{name}.tcl"), flags=re.MULTILINE)
    for opening, closing in ("{}", "[]"):
        assert code.count(opening) == code.count(closing)
    assert re.sub(r'[^"]', "", code).count('"') % 2 == 0
