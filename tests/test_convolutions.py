"""labkit.convolutions: windows and rows are those that PyTorch's unfold takes."""

import numpy as np
import pytest
import torch
from torch.nn.functional import unfold

from labkit.convolutions import (
    SAME_SHAPES,
    TELLING_SIZES,
    first_geometry,
    framed,
    im2col,
    output_size,
    windows,
)


@pytest.mark.parametrize("name", TELLING_SIZES)
def test_im2col_is_torch_unfold(name):
    sizes = TELLING_SIZES[name]
    R, S = sizes.w[2:]
    x = np.random.default_rng(0).standard_normal(sizes.x)
    columns = unfold(torch.tensor(x), (R, S), padding=sizes.padding, stride=sizes.stride)
    rows = columns.transpose(1, 2).reshape(-1, sizes.x[1] * R * S)  # [N P Q, C R S]
    np.testing.assert_array_equal(im2col(x, R, S, sizes.stride, sizes.padding), rows)


@pytest.mark.parametrize("name", TELLING_SIZES)
def test_the_sizes_of_the_output_are_torchs(name):
    sizes = TELLING_SIZES[name]
    y = torch.conv2d(
        torch.zeros(sizes.x), torch.zeros(sizes.w), stride=sizes.stride, padding=sizes.padding
    )
    assert tuple(y.shape) == sizes.y
    P, Q = output_size(sizes.x, *sizes.w[2:], sizes.stride, sizes.padding)
    assert sizes.y[2:] == (P, Q)


def test_windows_are_a_view_of_the_framed_image():
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    seen = windows(x, 2, 3, stride=2, padding=1)  # [N,C,P,Q,R,S]
    assert seen.shape == (1, 1, 2, 2, 2, 3)
    np.testing.assert_array_equal(seen[0, 0, 1, 1], framed(x, 1)[0, 0, 2:4, 2:5])
    assert framed(x, 1).shape == (1, 1, 5, 6) and framed(x, 1).sum() == x.sum()


def test_each_of_the_letters_is_told_from_the_others_somewhere():
    outputs = [sizes.y for sizes in TELLING_SIZES.values()]
    kernels = [sizes.w for sizes in TELLING_SIZES.values()]
    assert any(P != Q for _, _, P, Q in outputs)
    assert any(R != S for _, _, R, S in kernels)
    assert {sizes.stride for sizes in TELLING_SIZES.values()} == {1, 2, 3}
    assert {sizes.padding for sizes in TELLING_SIZES.values()} == {0, 1, 2, 3}


def test_the_same_shapes_come_with_another_stride_and_padding():
    """So an answer shows that remembers, by the shapes alone, where its windows lie."""
    first = TELLING_SIZES["ragged with stride and padding"]
    later = SAME_SHAPES["the same shapes, another stride and padding"]
    assert (later.x, later.w, later.y) == (first.x, first.w, first.y)
    assert first_geometry(later.x, *later.w[2:]) == (first.stride, first.padding)
    assert first.stride < later.stride and first.padding != later.padding
    with pytest.raises(ValueError, match=r"No case of TELLING_SIZES has x \(9,\)"):
        first_geometry((9,), 1, 1)
