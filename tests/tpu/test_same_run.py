"""same_run.py: the run that two lessons make, and the losses that stand in its source."""

import numpy as np
import pytest

from labkit.tpu import same_run


def test_batches_are_filled_up_with_the_first_row():
    assert same_run.filled(range(3, 6), 4).tolist() == [3, 4, 5, 0]
    assert same_run.filled(range(8), 4).tolist() == [*range(8)]
    assert {len(same_run.filled(rows)) for rows in same_run.BATCHES} == {same_run.SIZE}
    assert [len(rows) for rows in same_run.BATCHES] == [50, *10 * [64]]


def test_photographs_are_normalised():
    images, labels = same_run.photographs()
    assert images.shape == (2000, 3, 32, 32) and images.dtype == np.float32
    assert labels.shape == (2000,) and labels.dtype == np.int32
    assert abs(images.mean()) < 0.1 and abs(images.std() - 1) < 0.1


def test_the_first_stored_loss_is_computed_again():
    assert same_run.in_numpy(1) == pytest.approx(same_run.IN_NUMPY[:1], rel=1e-9)
    np.testing.assert_allclose(same_run.ON_REPLICAS, same_run.IN_NUMPY, rtol=1e-6)


@pytest.mark.night(
    instead="tests/tpu/test_same_run.py::test_the_first_stored_loss_is_computed_again"
)
def test_all_stored_losses_are_computed_again():
    assert same_run.in_numpy() == pytest.approx(same_run.IN_NUMPY, rel=1e-9)
