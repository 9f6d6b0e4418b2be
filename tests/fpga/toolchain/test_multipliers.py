"""labkit.fpga.toolchain.multipliers: what counts as left, and when a report is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.fpga.errors import RTLError
from labkit.fpga.toolchain.multipliers import Multiplier, Multipliers, from_netlists, refuse
from labkit.provenance import counted

X = list(range(2, 10))
Y = list(range(10, 18))
THREE = ["1", "1", "0", "0"]


def cell(kind="$mul", a=X, b=Y, line=7):
    source = f"m.sv:{line}.3-{line}.9|/share/mul2dsp.v:2.2-3.3"
    return {"type": kind, "attributes": {"src": source}, "connections": {"A": a, "B": b}}


def some(written, left, constant=0):
    one = Multiplier("m.sv, line 7", 8, 8, False)
    return Multipliers((one,) * written, (one,) * left, (one,) * constant)


@given(st.integers(0, 20), st.floats(0, 30))
def test_refused_exactly_when_more_was_seen_than_is_left(left, rate):
    multipliers = some(20, left)
    if rate <= left:
        assert refuse(multipliers, rate) is None
    else:
        with pytest.raises(RTLError, match=f"left {left} that"):
            refuse(multipliers, rate)


def test_a_rate_may_be_a_quantity():
    refuse(some(4, 4), counted(3.97, "MAC", "a simulation"))
    with pytest.raises(RTLError, match=r"3.97 multiply-adds per cycle"):
        refuse(some(4, 3), counted(3.97, "MAC", "a simulation"))


def test_multipliers_by_a_constant_do_not_count():
    with pytest.raises(RTLError, match=r"left 0 that .* 4 take a constant, and 1 are gone"):
        refuse(some(5, 0, 4), 1)


def test_no_star_at_all_is_said():
    with pytest.raises(RTLError, match="no product is written as"):
        refuse(some(0, 0), 1)


def test_the_parts_of_a_wide_one_are_one_multiplier():
    left = {
        "$mul$m.sv:9$4.genblk1.sliceA[0].mul": cell("DSP48E1", line=9),
        "$mul$m.sv:9$4.genblk1.sliceA.last": cell("DSP48E1", a=X[:3], line=9),
        "$mul$m.sv:9$41": cell(line=9),
        "$flatten\\lane.$mul$m.sv:9$4": cell("DSP48E1", line=9),
    }
    found = from_netlists({}, left)
    assert len(found.left) == 3
    assert (found.in_dsp, found.in_lut) == (2, 1)
    assert found.left[0] == Multiplier("m.sv, line 9", 8, 8, False, True)


def test_a_constant_operand_is_seen_on_either_side():
    left = {"$mul$m.sv:1$1": cell(a=THREE), "$mul$m.sv:2$2": cell(b=THREE)}
    found = from_netlists(left, left)
    assert len(found.by_constant) == 2 and not found.left
    assert found.by_constant[0].a_bits == found.by_constant[1].b_bits == 2


@pytest.mark.parametrize(
    ("bits", "width"), [([2, 3, 3, 3], 2), ([2, 3, "0", "0"], 2), ([5], 1), (["0"], 1)]
)
def test_widths_leave_out_what_fills_up(bits, width):
    found = from_netlists({"$mul$m.sv:1$1": cell(a=bits)}, {})
    assert found.written[0].a_bits == width
