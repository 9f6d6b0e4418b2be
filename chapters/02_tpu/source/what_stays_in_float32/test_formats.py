"""Number formats of 16 and 8 bits: their ends, their rounding, and what is refused."""

import numpy as np
import pytest
import torch

from labkit_lessons.tpu.what_stays_in_float32 import formats

BY_TORCH = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}


@pytest.mark.parametrize("name", BY_TORCH)
def test_ends_and_rounding_are_those_of_torch(name):
    kind = BY_TORCH[name]
    limits, ends = torch.finfo(kind), formats.ends(name)
    assert (ends.largest, ends.normal) == (limits.max, limits.smallest_normal)
    assert ends.smallest == pytest.approx(limits.smallest_normal * limits.eps)
    random = np.random.default_rng(0)
    x = np.float32(random.standard_normal(1000) * 10.0 ** random.uniform(-6, 2, 1000))
    ours = formats.rounded(x, name)
    assert ours.dtype == np.float32 and np.array_equal(ours, torch.tensor(x).to(kind).float())


def test_beyond_the_largest():
    beyond = np.float32([464, 464.1, -500, 1e6])
    np.testing.assert_array_equal(formats.to_e4m3(beyond), np.float32([448, *[np.nan] * 3]))
    assert formats.rounded(beyond, "e5m2").tolist() == [448, 448, -512, np.inf]
    with pytest.raises(ValueError, match="There is no format 'e3m4' here: use one of float16"):
        formats.rounded(beyond, "e3m4")
    with pytest.raises(ValueError, match="There is no format 'fp8'"):
        formats.ends("fp8")
