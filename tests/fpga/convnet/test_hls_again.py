"""hls4ml builds and runs conv1 anew, and gives what is stored: a quarter of a minute."""

import shutil

import numpy as np
import pytest

from labkit.fpga.convnet import hls

pytest.importorskip("hls4ml")
pytest.importorskip("torch")


@pytest.mark.night(instead="tests/fpga/convnet/test_hls.py")
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")
def test_a_fresh_run_gives_what_is_stored():
    name = "hls4ml, 8 bits, rounded"
    steps = hls.run_again(name)
    assert hls.digest(steps) == hls.log()["outputs"][name]
    assert np.array_equal(steps * hls.FORMATS[name].step, hls.outputs()[name])
