"""The accelerator synthesised anew: a minute or two."""

import pytest

from labkit.fpga.convnet.accelerator_report import FOLDINGS, differences, fresh


@pytest.mark.night(instead="tests/fpga/convnet/test_accelerator_report.py")
def test_a_fresh_report_is_the_stored_one():
    assert differences(fresh(FOLDINGS[0])) == []
