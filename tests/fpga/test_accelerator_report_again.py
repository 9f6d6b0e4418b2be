"""The accelerator synthesised anew: a minute or two."""

from labkit.fpga.accelerator_report import FOLDINGS, differences, fresh


def test_a_fresh_report_is_the_stored_one():
    assert differences(fresh(FOLDINGS[0])) == []
