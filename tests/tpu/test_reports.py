"""labkit.tpu.reports: the tables say what the compiler said, and leave nothing out unnamed."""

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
    assert "3 of 5 operations have an estimate, together 1,000 cycles." in said
    assert "Without one: copy-start." in said


def test_large_arrays_and_where_they_lie(made, capsys):
    reports.places(made)
    said = capsys.readouterr().out
    assert "VMEM" in said and "HBM" not in said


def test_nearly_all_flop_of_the_network_are_products():
    assert 0.99 < reports.share_of_flops(256) < 1
