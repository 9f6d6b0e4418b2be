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
    data = cifar10("sample")
    images = data.test.images[:count]  # [count, 3, 32, 32]
    rows = images.reshape(CHANNELS * count, -1)
    return rows.astype(np.float32)


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
    rows = CHANNELS * count
    both = np.concatenate([before[:rows], after[:rows]])
    pictures = both.reshape(-1, CHANNELS, SIDE, SIDE)
    images = pictures.clip(0, 255).astype(np.uint8)
    captions = count * ["before"] + count * ["after"]
    framed = [False] * len(images)
    alt = f"The first {count} test photographs, and beside them what the kernel made of each."
    figures.image_grid(images, captions, framed, alt)
