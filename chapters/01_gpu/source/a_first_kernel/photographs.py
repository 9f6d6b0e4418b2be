"""Test photographs as a matrix with a row for each colour channel, and the way back to pictures."""

import numpy as np

from labkit import convnet, figures
from labkit.datasets import cifar10

CHANNELS = 3
SIDE = 32  # pixels


def as_rows(count: int) -> np.ndarray:
    """[3 count, 1024], float32 from 0 to 255: red, green and blue of the first photographs.
    (Lesson a_first_kernel.)
    """
    images = cifar10("sample").test.images[:count]  # [count, 3, 32, 32]
    return images.reshape(CHANNELS * count, -1).astype(np.float32)


def to_normalise(count: int) -> tuple[np.ndarray, np.ndarray]:
    """scale and shift of each row, float32 [3 count]: with them, each colour of the course's
    photographs has the mean 0 and the standard deviation 1.
    (Lesson a_first_kernel.)
    """
    mean = np.tile(convnet.MEAN, count)
    deviation = np.tile(convnet.STD, count)
    scale = 1 / (255 * deviation)
    shift = -mean / deviation
    return scale.astype(np.float32), shift.astype(np.float32)


def show(before: np.ndarray, after: np.ndarray, count: int) -> None:
    """The first `count` photographs of two matrices [3 n, 1024], those of one behind the other's.
    (Lesson a_first_kernel.)
    """
    shown = np.concatenate([before[: CHANNELS * count], after[: CHANNELS * count]])
    images = shown.reshape(2 * count, CHANNELS, SIDE, SIDE).clip(0, 255).astype(np.uint8)
    captions = count * ["before"] + count * ["after"]
    framed = 2 * count * [False]
    alt = f"The first {count} test photographs, and beside them what the kernel made of each."
    figures.image_grid(images, captions, framed, alt)
