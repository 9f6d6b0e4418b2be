"""The scene: the same from the same seed, its labels, and that a photograph comes back."""

from itertools import pairwise

import numpy as np
import pytest

from labkit.datasets import cifar10
from labkit_lessons.fpga.video_in_video_out.video_frame import crop_and_resize
from labkit_lessons.fpga.video_in_video_out.video_scene import scene


def test_the_same_seed_gives_the_same_scene():
    for one, other in zip(scene(25, seed=3), scene(25, seed=3), strict=True):
        assert np.array_equal(one.pixels, other.pixels)
        assert (one.box, one.label) == (other.box, other.label)
    assert [f.box for f in scene(5, seed=3)] != [f.box for f in scene(5, seed=4)]


def test_each_frame_shows_its_photograph():
    test = cifar10("sample").test
    found = list(scene(40, stay=4, seed=1))
    assert len(found) == 40
    for frame in found:
        assert frame.pixels.shape == (480, 640, 3) and frame.pixels.dtype == np.uint8
        assert np.array_equal(crop_and_resize(frame.pixels, frame.box), frame.photograph)
        (place,) = np.flatnonzero((test.images == frame.photograph).all(axis=(1, 2, 3)))
        assert test.labels[place] == frame.label
    assert len({frame.photograph.tobytes() for frame in found}) == 10


def test_it_moves_and_stays_inside():
    boxes = [frame.box for frame in scene(200, height=100, width=130, scale=3, stay=200)]
    assert len(set(boxes)) > 20
    for box in boxes:
        assert 0 <= box.left <= 130 - 96 and 0 <= box.top <= 100 - 96
    steps = [(b.left - a.left, b.top - a.top) for a, b in pairwise(boxes)]
    assert max(abs(step) for pair in steps for step in pair) <= 9


def test_a_photograph_that_fills_the_frame():
    (frame,) = scene(1, height=64, width=64, scale=2)
    assert frame.box == (0, 0, 64, 64)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"count": 0}, "count is 0"),
        ({"stay": 0}, "stay is 0"),
        ({"scale": 1.5}, "scale is 1.5"),
        ({"height": True}, "height is True"),
        ({"scale": 20}, "too large for a frame of 480 x 640"),
    ],
)
def test_what_cannot_be_drawn(options, words):
    with pytest.raises(ValueError, match=words):
        scene(**({"count": 1} | options))
