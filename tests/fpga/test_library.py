"""Which files a module is made of."""

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.library import library


def names(*tops):
    return [path.stem for path in library(*tops)]


def test_a_module_comes_with_all_below_it():
    assert names("mac") == ["mac"]
    assert names("mac_array") == ["adder_tree", "delay_line", "dot_products", "mac_array"]
    parts = ["line_buffer", "raster", "window_3x3", "window_control", "window_rows"]
    assert names("window_3x3") == parts
    assert "adder_tree" in names("conv_layer")


def test_several_modules_share_their_files():
    assert names("mac_array", "mac") == sorted({*names("mac"), *names("mac_array")})


def test_an_unknown_module_is_refused_with_those_there_are():
    with pytest.raises(RTLError, match=r"no module 'conv5x5' .* conv3x3"):
        library("conv5x5")


def test_a_module_of_ones_own_stands_in_for_the_courses():
    text = "module line_buffer; endmodule"
    found = library("window_rows", own={"line_buffer": text, "mac": "not needed here"})
    assert found[0] == text and [path.stem for path in found[1:]] == ["window_rows"]
