"""Wrong ideas of `fpga.crop_and_resize`: frame [H,W,C], box, side -> [C,side,side] uint8.

Dense: each wrong idea is a cut of a frame, with its four sides or two axes in one line.
"""

from collections.abc import Callable

import numpy as np


def cut(frame, left, top, width, height):
    """What the box shows; where the frame ends, its last pixels again."""
    rows = np.clip(np.arange(top, top + height), 0, frame.shape[0] - 1)
    columns = np.clip(np.arange(left, left + width), 0, frame.shape[1] - 1)
    return frame[np.ix_(rows, columns)]


def areas_of(frame, box, side):
    """[side, rows of an area, side, columns of an area, C]"""
    picture = cut(frame, *box)
    height, width, colours = picture.shape
    return picture.reshape(side, height // side, side, width // side, colours)


def means_of(frame, box, side):
    """[side, side, C]"""
    return areas_of(frame, box, side).mean(axis=(1, 3))


def photograph(small):
    """Colours first, rounded to bytes."""
    return np.rint(small).transpose(2, 0, 1).astype(np.uint8)


def truncated(frame, box, side):
    """The means are cut off."""
    means = means_of(frame, box, side)
    return np.floor(means).transpose(2, 0, 1).astype(np.uint8)


def rounded_up(frame, box, side):
    """The next whole number above each mean."""
    means = means_of(frame, box, side)
    return photograph(np.ceil(means))


def rounded_twice(frame, box, side):
    """The means over rows are rounded before those over columns are taken."""
    down = np.rint(areas_of(frame, box, side).mean(axis=1))
    return photograph(down.mean(axis=2))


def by(one_number: Callable) -> Callable:
    """An area becomes one_number(area)."""

    def idea(frame, box, side):
        return photograph(one_number(areas_of(frame, box, side), axis=(1, 3)))

    return idea


def grey(frame, box, side):
    """One mean for all colours."""
    small = areas_of(frame, box, side).mean(axis=(1, 3, 4))
    return np.repeat(np.rint(small)[None], frame.shape[2], axis=0).astype(np.uint8)


def axes_side_by_side(frame, box, side):
    """Both numbers of areas first, then the sides of an area: rows and columns are mixed."""
    picture = cut(frame, *box)
    height, width, colours = picture.shape
    mixed = picture.reshape(side, side, height // side, width // side, colours)
    return photograph(mixed.mean(axis=(2, 3)))


def corner_first(frame, box, side):
    """Left and top are taken for each other."""
    left, top, width, height = box
    return photograph(means_of(frame, (top, left, width, height), side))


def sides_swapped(frame, box, side):
    """Width and height are taken for each other."""
    left, top, width, height = box
    return photograph(means_of(frame, (left, top, height, width), side))


def two_corners(frame, box, side):
    """The box is taken for its upper left and its lower right corner."""
    left, top, right, bottom = box
    picture = cut(frame, left, top, max(right - left, 1), max(bottom - top, 1))
    rows = np.arange(side) * picture.shape[0] // side
    columns = np.arange(side) * picture.shape[1] // side
    return photograph(picture[np.ix_(rows, columns)])


def one_pixel(frame, box, side):
    """The first pixel of each area."""
    return photograph(areas_of(frame, box, side)[:, 0, :, 0])


def middle_pixel(frame, box, side):
    """The pixel in the middle of each area."""
    parts = areas_of(frame, box, side)
    return photograph(parts[:, parts.shape[1] // 2, :, parts.shape[3] // 2])


def upper_corner(frame, box, side):
    """The frame's corner instead of the box."""
    _, _, width, height = box
    return photograph(means_of(frame, (0, 0, width, height), side))


def not_shrunk(frame, box, side):
    """The first pixels of the box, and no means."""
    return photograph(cut(frame, *box)[:side, :side])


def overflowed(frame, box, side):
    """The sum of an area is kept in a byte."""
    parts = areas_of(frame, box, side)
    sums = parts.sum(axis=(1, 3), dtype=np.uint8)
    return photograph(sums / (parts.shape[1] * parts.shape[3]))


def transposed(frame, box, side):
    """Rows and columns of the result are swapped."""
    return photograph(means_of(frame, box, side)).transpose(0, 2, 1)


def interleaved(frame, box, side):
    """An area is every side-th pixel, and not a block of neighbours."""
    picture = cut(frame, *box)
    height, width, colours = picture.shape
    parts = picture.reshape(height // side, side, width // side, side, colours)
    return photograph(parts.mean(axis=(0, 2)))


def colours_last(frame, box, side):
    """[side, side, C] in memory, called [C, side, side]."""
    means = np.rint(means_of(frame, box, side)).astype(np.uint8)
    return means.reshape(-1, side, side)


def blue_first(frame, box, side):
    """Blue, green and red, as OpenCV has them."""
    return photograph(means_of(frame, box, side))[::-1]


def cut_twice(frame, box, side):
    """The means over rows are cut off before those over columns are, too."""
    down = np.floor(areas_of(frame, box, side).mean(axis=1))
    return np.floor(down.mean(axis=2)).transpose(2, 0, 1).astype(np.uint8)


def square_areas(frame, box, side):
    """An area is as high as it is wide; what lies outside of the frame does not count."""
    left, top, width, _ = box
    wide = width // side
    small = np.zeros((frame.shape[2], side, side), np.uint8)
    for row, column in np.ndindex(side, side):
        area = frame[top + row * wide :, left + column * wide :][:wide, :wide]
        if area.size:
            small[:, row, column] = np.rint(area.mean(axis=(0, 1)))
    return small


def short_areas(frame, box, side):
    """The last row and the last column of each area are left out, where it has several."""
    parts = areas_of(frame, box, side)
    high, wide = (max(parts.shape[axis] - 1, 1) for axis in (1, 3))
    return photograph(parts[:, :high, :, :wide].mean(axis=(1, 3)))


def between_ends(frame, box, side):
    """The middle between the darkest and the brightest pixel of an area."""
    parts = areas_of(frame, box, side).astype(float)
    return photograph((parts.min(axis=(1, 3)) + parts.max(axis=(1, 3))) / 2)


def centred(frame, box, side):
    """Left and top are taken for the middle of the box."""
    left, top, width, height = box
    corner = max(left - width // 2, 0), max(top - height // 2, 0)
    return photograph(means_of(frame, (*corner, width, height), side))


def one_further(frame, box, side):
    """The box begins a pixel further on; at the frame's end, its last pixels again."""
    left, top, width, height = box
    return photograph(means_of(frame, (left + 1, top + 1, width, height), side))


def sides_of_areas_swapped(frame, box, side):
    """The rows and the columns of an area are taken for each other in the reshape."""
    picture = cut(frame, *box)
    height, width, colours = picture.shape
    mixed = picture.reshape(side, width // side, side, height // side, colours)
    return photograph(mixed.mean(axis=(1, 3)))


def last_pixel(frame, box, side):
    """The last pixel of each area."""
    return photograph(areas_of(frame, box, side)[:, -1, :, -1])


def rows_alone(frame, box, side):
    """The mean of the first column of each area."""
    return photograph(areas_of(frame, box, side).mean(axis=1)[:, :, 0])
