"""labkit.tpu.reports: the tables say what the compiler said, and leave nothing out unnamed."""

from dataclasses import replace

import pytest

from labkit.tpu import reports
from labkit.tpu.compiler import Compiled
from labkit.tpu.hlo import Array, Op

OPS = [
    Op("copy-start", "copy-start", None, "", 2),
    Op("fusion", "convolution", 300, "conv1/conv"),
    Op("fusion.1", "reduce", 500, ""),
    Op("fusion.2", "matmul", 200, "fc1/dot"),
]


@pytest.fixture
def made():
    small = Array("b", (4,), "bf16", "0", "T(256)", "HBM", 8, 512)
    large = Array("y", (256, 1024), "bf16", "1,0", "T(8,128)(2,1)", "VMEM", 524288, 524288)
    return Compiled(
        title="f",
        topology="v5e:1x1",
        source="by hand",
        ops=OPS,
        padding=[small, large],
        collectives=[],
        flops=1.0,
        bytes_accessed=1.0,
        memory={},
    )


def test_cycles_of_the_operations_that_have_an_estimate(made):
    assert reports.cycles_of(made).tolist() == [300, 500, 200]
    assert reports.share_of_cycles(made, "convolution", "matmul") == 0.5
    assert reports.share_of_cycles(made, "copy-start") == 0


def test_the_longest_operations_come_first_and_the_rest_is_named(made, capsys):
    reports.operations(made, most=2)
    said = capsys.readouterr().out
    assert said.index("fusion.1") < said.index("conv1/conv") and "fc1/dot" not in said
    assert "3 of 5 operations have an estimate, together 1,000 cycles;" in said
    assert "Without one: copy-start." in said


def test_a_step_says_which_pass_is_which(made, capsys):
    ops = [*OPS, Op("fusion.3", "reduce", 9, "transpose(jvp(conv1))/sum")]
    reports.operations(replace(made, ops=[*ops, Op("s", "select-and-scatter", None, "")]))
    said = " ".join(capsys.readouterr().out.split())
    assert "transpose(jvp(conv1)) its backward pass" in said
    assert "select-and-scatter (the backward pass of a pool)" in said


def test_programs_side_by_side_name_their_operations_in_order(made, capsys):
    reports.side_by_side({"f": made, "g": replace(made, ops=OPS[1:2])})
    f, g = capsys.readouterr().out.splitlines()[2:4]
    assert f.split() == ["f", "convolution,", "reduce,", "matmul", "1,000", "copy-start"]
    assert g.split() == ["g", "convolution", "300", "-"]


def test_the_shares_of_products_carry_their_words(made):
    of_flop, of_cycles = reports.shares_of_products(made, 256)
    assert of_flop.word == "counted" and 99 < float(of_flop) < 100
    assert of_cycles.word == "compiled" and float(of_cycles) == 50


def test_large_arrays_and_where_they_lie(made, capsys):
    reports.places(made)
    said = capsys.readouterr().out
    assert "VMEM" in said and "HBM" not in said


def test_nearly_all_flop_of_the_network_are_products():
    assert 0.99 < reports.share_of_flops(256) < 1
