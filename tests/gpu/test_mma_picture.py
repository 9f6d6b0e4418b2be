"""labkit.gpu.mma_picture: what a lane holds is what the instruction takes from it."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from labkit.figures import style
from labkit.gpu import mma_picture, profile
from labkit.gpu.kernels.tensor_core import one_product


def test_32_lanes_hold_every_number_once():
    for name, numbers in {"a": 256, "b": 128, "c": 128}.items():
        cells = [cell for lane in range(32) for cell in mma_picture.held(lane)[name]]
        assert len(cells) == len(set(cells)) == numbers


@pytest.mark.parametrize("lane", [0, 5, 31])
def test_a_lane_writes_the_results_that_it_holds(lane):
    """The kernel's stores, by their addresses, against the cells of the picture."""
    a = np.ones((16, 16), np.float16)
    b = np.ones((8, 16), np.float16)
    c = np.zeros((16, 8), np.float32)
    seen = profile(one_product, 1, 32, a.view(np.uint32), b.view(np.uint32), c)
    assert (c == 16).all()
    stores = [access for access in seen.accesses if access.kind == "store"]
    first = min(int(access.addresses.min()) for access in stores)
    written = {divmod((int(access.addresses[lane]) - first) // 4, 8) for access in stores}
    assert written == set(mma_picture.held(lane)["c"])


def test_the_picture_shows_one_lane(monkeypatch):
    shown = []
    monkeypatch.setattr(mma_picture, "show", lambda *given: shown.append(given))
    mma_picture.mma_parts(5)
    figure, alt = shown[0]
    assert "Lane 5 holds 8 of the 256 numbers of a, 4 of the 128 numbers of b and 4" in alt
    orange = [
        sum(to_rgb(c.get_facecolor()[0]) == to_rgb(style.ORANGE) for c in axes.collections)
        for axes in figure.axes
    ]
    assert orange == [8, 4, 4] and style.png(figure)


def test_a_lane_that_no_warp_has_is_refused():
    with pytest.raises(ValueError, match="no lane 32"):
        mma_picture.held(32)
