"""Frames: what a box shows, by another way to average, and what is drawn on a frame."""

import numpy as np
import pytest
from PIL import Image

from labkit_lessons.fpga.video_in_video_out.video_frame import MARK, Box, crop_and_resize, labelled


def picture(height: int, width: int) -> np.ndarray:
    """uint8[H,W,3] of noise."""
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("scale", [1, 2, 3, 7])
def test_an_enlarged_photograph_comes_back(scale):
    small = picture(32, 32)
    frame = picture(300, 320)
    side = 32 * scale
    frame[10 : 10 + side, 20 : 20 + side] = small.repeat(scale, axis=0).repeat(scale, axis=1)
    back = crop_and_resize(frame, Box(20, 10, side, side))
    assert back.dtype == np.uint8 and np.array_equal(back, small.transpose(2, 0, 1))


@pytest.mark.parametrize(("width", "height", "side"), [(64, 96, 32), (100, 33, 32), (7, 5, 3)])
def test_it_agrees_with_pillow(width, height, side):
    frame = picture(120, 130)
    box = Box(11, 9, width, height)
    cut = Image.fromarray(frame[9 : 9 + height, 11 : 11 + width])
    theirs = np.asarray(cut.resize((side, side), Image.Resampling.BOX)).astype(int)
    ours = crop_and_resize(frame, box, side).transpose(1, 2, 0).astype(int)
    if height % side == width % side == 0:
        assert np.abs(ours - theirs).max() <= 1
    assert ours.shape == (side, side, 3)
    assert abs(ours.mean() - frame[9 : 9 + height, 11 : 11 + width].mean()) < 0.5


def test_parts_of_pixels_count_in_part():
    frame = np.zeros((3, 3, 3), np.uint8)
    frame[:, 1] = 90
    assert crop_and_resize(frame, (0, 0, 3, 3), 2)[0].tolist() == [[30, 30], [30, 30]]
    assert crop_and_resize(frame, (0, 0, 3, 3), 1)[:, 0, 0].tolist() == [30, 30, 30]
    assert crop_and_resize(frame, (1, 0, 1, 1), 4).tolist() == np.full((3, 4, 4), 90).tolist()


def test_a_label_is_drawn_on_a_copy():
    frame = np.zeros((120, 160, 3), np.uint8)
    for box in (Box(40, 50, 60, 40), Box(0, 0, 160, 120)):
        drawn = labelled(frame, box, "frog  0.9\n")
        assert drawn.shape == frame.shape and drawn.dtype == np.uint8 and not frame.any()
        assert tuple(drawn[box.top + box.height - 1, box.left]) == MARK
        assert not np.array_equal(drawn, labelled(frame, box, "ship"))
    inside = labelled(frame, Box(40, 50, 60, 40), "")[53:87, 43:97]
    assert not inside.any()


@pytest.mark.parametrize(
    ("frame", "box", "words"),
    [
        (np.zeros((9, 9, 3)), (0, 0, 9, 9), "uint8"),
        (np.zeros((9, 9), np.uint8), (0, 0, 9, 9), r"\[H, W, 3\]"),
        (np.zeros((0, 9, 3), np.uint8), (0, 0, 9, 9), r"\[0, 9, 3\]"),
        (np.zeros((9, 9, 3), np.uint8), (1, 0, 9, 9), "not within the frame of 9 x 9"),
        (np.zeros((9, 9, 3), np.uint8), (0, -1, 9, 9), "not within"),
        (np.zeros((9, 9, 3), np.uint8), (0, 0, 0, 9), "not within"),
        (np.zeros((9, 9, 3), np.uint8), (0, 0, 9), "whole pixels"),
        (np.zeros((9, 9, 3), np.uint8), (0, 0, 8.5, 9), "whole pixels"),
        (np.zeros((9, 9, 3), np.uint8), None, "whole pixels"),
    ],
)
def test_what_is_no_frame_or_no_box(frame, box, words):
    with pytest.raises(ValueError, match=words):
        crop_and_resize(frame, box)
    with pytest.raises(ValueError, match=words):
        labelled(frame, box, "frog")


@pytest.mark.parametrize("side", [0, -1, 2.5, None])
def test_what_is_no_side(side):
    with pytest.raises(ValueError, match="side is"):
        crop_and_resize(picture(9, 9), (0, 0, 9, 9), side)
