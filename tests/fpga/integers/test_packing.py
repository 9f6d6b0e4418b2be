"""Values of ports: what goes in comes out, for every width and sign; what does not fit is named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import from_limbs, pack, to_limbs, unpack
from labkit.fpga.ports import Port


@st.composite
def port_and_values(draw):
    port = Port("p", True, draw(st.integers(1, 200)), draw(st.booleans()))
    low = -(1 << port.width - 1) if port.signed else 0
    high = (1 << port.width - port.signed) - 1
    return port, draw(st.lists(st.integers(low, high) | st.sampled_from([low, high]), max_size=5))


@given(port_and_values())
def test_limbs_and_back(drawn):
    port, values = drawn
    limbs = to_limbs(values, port, "x")
    assert limbs.dtype == np.uint32 and limbs.shape == (len(values), (port.width + 31) // 32)
    assert from_limbs(limbs, port).tolist() == values
    for row, value in zip(limbs, values, strict=True):
        whole = sum(int(limb) << 32 * place for place, limb in enumerate(row))
        assert whole == value % (1 << port.width)


@given(st.integers(1, 6), st.integers(1, 40), st.data())
def test_pack_and_unpack(lanes, bits, data):
    lane = st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    row = st.lists(lane, min_size=lanes, max_size=lanes)
    values = np.array(data.draw(st.lists(row, max_size=4)), np.int64).reshape(-1, lanes)
    words = pack(values, bits)
    assert np.array_equal(unpack(words, lanes, bits), values)
    assert np.array_equal(unpack(words, lanes, bits, signed=False), values % (1 << bits))
    for word, row in zip(words, values.tolist(), strict=True):
        assert int(word) == sum(v % (1 << bits) << bits * i for i, v in enumerate(row))


def test_lanes_of_a_numpy_type_are_packed():
    values = np.array([[1, -1, -128], [127, 0, 5]], np.int8)
    port = Port("p", True, 24, False)
    assert from_limbs(to_limbs(values, port, "x"), port).tolist() == pack(values, 8).tolist()
    halves = np.array([[-2, 3]], np.int16)
    assert from_limbs(to_limbs(halves, Port("p", True, 32, False), "x"), port)[0] == 0x3FFFE


@pytest.mark.parametrize(
    "values, port, said",
    [
        ([1, 128], Port("x_data", True, 8, True), "value 1 is 128, and x_data carries -128 to 127"),
        ([-1], Port("a", True, 70, False), "value 0 is -1, and a carries 0 to"),
        (np.array([256]), Port("a", True, 8, False), "a carries 0 to 255 (8 bits)"),
        ([0.5], Port("a", True, 8, False), "0.5, which is no whole number"),
        (np.array([0.5]), Port("a", True, 8, False), "float64: a port carries whole numbers"),
        (
            np.zeros((2, 3), np.int8),
            Port("a", True, 16, False),
            "3 lanes of int8, 24 bits together",
        ),
    ],
)
def test_what_does_not_fit(values, port, said):
    with pytest.raises(RTLError, match="The stream x") as error:
        to_limbs(values, port, "The stream x")
    assert said in str(error.value)


def test_a_lane_that_overflows():
    with pytest.raises(RTLError, match="300 does not fit in a lane of 8 bits"):
        pack(np.array([[1, 300]]), 8)
