"""labkit.gpu.profile: what numba_simt counts, as quantities."""

import numpy as np
import pytest

from labkit.gpu import profile
from numba_simt import cuda


@cuda.jit
def every_other(x, y):
    i = cuda.grid(1)
    y[i] = 2 * x[2 * i]


def test_a_quantity_carries_unit_and_provenance():
    x, y = np.zeros(64, np.float32), np.zeros(32, np.float32)
    p = profile(every_other, 1, 32, x, y, steps=1000)
    assert str(p.quantity("traffic_bytes")) == "384 B (counted by the SIMT machine)"
    assert str(p.quantity("global_load_sectors_per_request")).startswith("8 sectors/request")
    with pytest.raises(ValueError, match=r"no counter 'sectors'\. Near it: .*_sectors"):
        p.quantity("sectors")
