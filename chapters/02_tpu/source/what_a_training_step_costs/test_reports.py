"""reports.py: the tables say what the compiler said, and leave nothing out unnamed."""

from dataclasses import replace

import pytest

from labkit.tpu.compiler import Compiled
from labkit.tpu.hlo import Array, Collective, Op
from labkit_lessons.tpu.what_a_training_step_costs import reports

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
    half = reports.share_of_cycles(made, "convolution", "matmul")
    assert float(half) == 50 and half.word == "compiled" and half.unit == "%"
    assert float(reports.share_of_cycles(made, "copy-start")) == 0


def test_what_the_shares_leave_out_is_named(made):
    assert reports.left_out(made).startswith("Of the 5 operations, 2 have no estimate")
    assert reports.missing(made) == "2 of 5"


def test_programs_side_by_side_name_their_operations_in_order(made, capsys):
    reports.side_by_side({"f": made, "g": replace(made, ops=OPS[1:2])})
    f, g = capsys.readouterr().out.splitlines()[2:4]
    assert f.split()[1:7] == ["convolution", "300,", "reduce", "500,", "matmul", "200"]
    assert f.split()[7:] == ["1,000"]
    assert g.split() == ["g", "convolution", "300", "300"]


def test_nearly_all_flop_of_the_network_are_products():
    of_flop = reports.products_of_flop(256)
    assert of_flop.word == "counted" and 99 < float(of_flop) < 100


def test_what_fits_and_what_does_not(capsys):
    reports.memory("ResNet-50 step of {} images", [256, 1024], "v5e:1x1")
    said = capsys.readouterr().out
    fits, too_large = said.splitlines()[2:4]
    assert fits.startswith("256 images") and fits.split()[2:] == ["0.263", "8.34", "yes"]
    assert "1,024 images" in too_large and "no: it needs 15.96 GiB, and there are" in too_large


def test_what_a_ring_of_chips_sends(made, capsys):
    """Three quarters to build the sums, as much to pass them on, over half of the links."""
    sent = Collective("all-reduce", "bf16[1000000]", 2_000_000, 4)
    reports.exchange(replace(made, collectives=[sent]))
    said = capsys.readouterr().out
    assert "all-reduce" in said and "3 MB" in said and "30 µs" in said and "400 GB/s" in said
