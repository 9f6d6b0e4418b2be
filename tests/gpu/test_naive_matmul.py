"""labkit.gpu.naive_matmul: right, and as wasteful as the lesson says."""

import numpy as np

from labkit.gpu import profile
from labkit.gpu.naive_matmul import matmul_naive


def test_it_is_right_and_not_coalesced():
    random = np.random.default_rng(0)
    a = random.standard_normal((64, 40), dtype=np.float32)
    b = random.standard_normal((40, 9), dtype=np.float32)
    c = np.zeros((64, 9), np.float32)
    p = profile(matmul_naive, (2, 2), (32, 8), a, b, c)
    assert not p.hazards
    assert np.allclose(c, a @ b, atol=1e-4)
    assert p.counters["global_load_sectors_per_request"] > 15
    assert p.counters["float64"] == 0
