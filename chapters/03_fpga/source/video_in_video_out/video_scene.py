"""A synthetic scene: enlarged test photographs that move, one after the other.

Everything is drawn from a seed and from the sample of CIFAR-10, so that a scene is the same on
every machine, ends by itself, and its labels are known.
"""

from collections.abc import Iterator

import numpy as np

from labkit.datasets import cifar10
from labkit_lessons.fpga.video_in_video_out.video_frame import Box, Frame

FASTEST = 9  # pixels from one frame to the next, in each direction


def scene(
    count: int,
    height: int = 480,
    width: int = 640,
    scale: int = 6,
    stay: int = 10,
    seed: int = 0,
) -> Iterator[Frame]:
    """`count` frames, each with its box, label and photograph.

    scale   how many pixels wide and high a pixel of the photograph is
    stay    for how many frames a photograph is there, before the next one comes

    Raises ValueError for a scene that cannot be drawn.
    """
    _refuse(count=count, height=height, width=width, scale=scale, stay=stay)
    if 32 * scale > min(height, width):
        raise ValueError(
            f"A photograph enlarged {scale} times has {32 * scale} x {32 * scale} pixels: too "
            f"large for a frame of {height} x {width}."
        )
    return _drawn(count, height, width, scale, stay, np.random.default_rng(seed))


def _drawn(
    count: int, height: int, width: int, scale: int, stay: int, rng: np.random.Generator
) -> Iterator[Frame]:
    test = cifar10("sample").test
    behind = _background(height, width)
    side = 32 * scale
    room = np.array([width - side, height - side])  # for the upper left corner
    order = rng.permutation(len(test))
    for number in range(count):
        if number % stay == 0:
            place = order[number // stay % len(order)]
            photograph = test.images[place]
            enlarged = photograph.transpose(1, 2, 0).repeat(scale, axis=0).repeat(scale, axis=1)
            corner = rng.integers(0, room + 1)
            step = rng.integers(1, FASTEST + 1, 2) * rng.choice([-1, 1], 2)
        left, top = (int(c) for c in _reflected(corner + number % stay * step, room))
        pixels = behind.copy()
        pixels[top : top + side, left : left + side] = enlarged
        yield Frame(
            pixels,
            Box(left, top, side, side),
            int(test.labels[place]),
            photograph,
        )


def _reflected(corner: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The corner, turned back at the edges of its room as often as it has to be."""
    period = np.maximum(2 * room, 1)
    there = corner % period
    return np.minimum(there, period - there) * (room > 0)


def _background(height: int, width: int) -> np.ndarray:
    """uint8[H,W,3]: soft stripes, so that a box in the wrong place shows."""
    rows, columns = np.mgrid[:height, :width]
    grey = 90 + (rows + columns) // 8 % 16 * 4
    return np.stack([grey, grey, grey + 20], axis=-1).astype(np.uint8)


def _refuse(**numbers: int) -> None:
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
            raise ValueError(f"scene: {name} is {number!r}; it has to be a whole number from 1 on.")
