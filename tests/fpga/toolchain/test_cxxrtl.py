"""What all designs share is compiled once, and nothing of a design is lost when it is shortened."""

import numpy as np
import pytest

from labkit.fpga.errors import RTLError, ToolError
from labkit.fpga.library import library
from labkit.fpga.simulate import simulate
from labkit.fpga.sources import RTL, modules, read_sources
from labkit.fpga.toolchain import cxxrtl
from labkit.fpga.toolchain.elaborate import elaborated
from labkit.fpga.toolchain.models import compiled

DOUBLE = """
module double (input logic [7:0] x, output logic [8:0] y);
  assign y = {factor} * x;
endmodule
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fpga"


def times(factor):
    run = simulate(DOUBLE.format(factor=factor), "double", {"x": [1, 2, 3]})
    return run.outputs["y"].tolist() == [factor, 2 * factor, 3 * factor]


@pytest.mark.night(
    instead="tests/fpga/toolchain/test_cxxrtl.py::test_a_header_that_the_compiler_cannot_take_is_left"
)
def test_the_header_is_compiled_when_a_second_design_comes(cache):
    assert times(2) and not list(cache.glob("*.gch"))
    assert times(3) and len(list(cache.glob("*.gch"))) == 1
    assert len(list(cache.glob("cxxrtl_model-*.o"))) == 1


LEFT = "tests/fpga/toolchain/test_cxxrtl.py::test_a_header_that_the_compiler_cannot_take_is_left"
OTHERS = pytest.mark.night(instead=LEFT)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda whole: whole[:4] + whole[4:64][::-1] + whole[64:], id="older"),
        pytest.param(lambda whole: whole[:30], id="beginning", marks=OTHERS),
        pytest.param(lambda whole: whole[: len(whole) // 2], id="half", marks=OTHERS),
        pytest.param(lambda whole: b"", id="empty", marks=OTHERS),
    ],
)
def test_a_header_that_the_compiler_cannot_take_is_left(cache, spoil):
    """Its name holds the compiler's version; here another's, or a damaged one, lies there."""
    cxxrtl.prepare()
    (header,) = cache.glob("*.gch")
    header.write_bytes(spoil(header.read_bytes()))
    assert times(5)


@pytest.mark.night(
    instead="tests/fpga/toolchain/test_cxxrtl.py::test_a_header_that_the_compiler_cannot_take_is_left"
)
def test_what_no_compiler_takes_is_an_error_with_a_good_header_too(cache, monkeypatch):
    cxxrtl.prepare()
    monkeypatch.setattr(cxxrtl, "shortened", lambda cpp: "not C++;")
    with pytest.raises(RTLError, match=r"could not compile the model: .*error"):
        times(2)
    assert not list(cache.glob("double-*"))


@pytest.mark.night(
    instead="tests/fpga/toolchain/test_cxxrtl.py::test_a_header_that_the_compiler_cannot_take_is_left"
)
def test_a_compiler_that_keeps_no_headers_goes_without(cache, monkeypatch):
    monkeypatch.setattr(cxxrtl, "compiler_version", lambda path: "Apple clang version 15.0.0")
    cxxrtl.prepare()
    assert times(2) and times(3) and not list(cache.glob("*.gch"))


@pytest.mark.night(
    instead="tests/fpga/toolchain/test_cxxrtl.py::test_a_header_that_the_compiler_cannot_take_is_left"
)
def test_without_room_for_the_header_it_goes_without(cache, monkeypatch):
    def full(path):
        path.write_bytes(b"half")
        raise ToolError("The disk is full.")

    monkeypatch.setattr(cxxrtl, "_compile_header", full)
    cxxrtl.prepare()
    assert times(2) and times(3) and not list(cache.glob("*.gch"))


@pytest.mark.night(instead="tests/fpga/toolchain/test_cxxrtl.py::test_yosys_writes_what_we_shorten")
def test_a_design_is_shortened_without_a_loss(cache, monkeypatch):
    """The same trace of the same signals, inside too, as of what Yosys has written."""
    sources = library("window_3x3")
    watched = ["u_raster col", "u_control room", "u_rows top", "u_rows u_row_above now"]
    options = {"parameters": {"HEIGHT": 3, "WIDTH": 4, "PIXEL_BITS": 8}, "watch": watched}
    x = {"x": np.arange(1, 25, dtype=np.uint8)}
    short = simulate(sources, "window_3x3", x, **options)
    for path in cache.glob("window_3x3-*.so"):
        path.unlink()
    monkeypatch.setattr(cxxrtl, "shortened", lambda cpp: cpp)
    whole = simulate(sources, "window_3x3", x, **options)
    assert short.trace == whole.trace and {*watched} <= {*short.trace}
    assert len(list(cache.glob("window_3x3-*.so"))) == 1


def test_a_memory_is_still_not_watched():
    model = compiled(read_sources(library("line_buffer"), "line_buffer"), "cxxrtl")
    assert model.width("now") > 0
    with pytest.raises(RTLError, match="There is no signal 'words'"):
        model.width("words")


@pytest.mark.parametrize("top", ["window_3x3", "mac_array", "requantize"])
def test_yosys_writes_what_we_shorten(top):
    """A later Yosys that writes otherwise would be right, and slow again."""
    assert any(top in modules(path.read_text("utf-8")) for path in RTL.glob("*.sv"))
    cpp = elaborated(read_sources(library(top), top), {}, cpp=True).cpp
    short = cxxrtl.shortened(cpp)
    assert "items->add(" in cpp and "items->add(" not in short
    assert "scopes->add(" in cpp and "scopes->add(" not in short
    assert short.count("note(*items") == cpp.count("items->add(")
