"""Wrong ideas of exercise tpu.block: a[R, C], spec, mesh, place -> the block of a device.

Dense: each wrong idea is one line, to be compared with those around it.
"""

import numpy as np

AXES = ("data", "model")


def _taken(a, spec, mesh, place, part):
    """part(values, parts, number) of each dimension that is cut."""
    for dimension, axis in enumerate(spec):
        if axis is not None:
            rows = np.moveaxis(a, dimension, 0)
            a = np.moveaxis(part(rows, mesh[axis], place[axis]), 0, dimension)
    return a


def _equal(rows, parts, number):
    size = len(rows) // parts
    return rows[number * size : (number + 1) * size]


def whole(a, spec, mesh, place):
    return a


def dimensions_swapped(a, spec, mesh, place):
    return _taken(a, spec[::-1], mesh, place, _equal)


def in_the_order_of_the_mesh(a, spec, mesh, place):
    by_position = [own and axis for own, axis in zip(spec, AXES, strict=True)]
    return _taken(a, by_position, mesh, place, _equal)


def cut_by_all_axes(a, spec, mesh, place):
    return _taken(a, AXES, mesh, place, _equal)


def rows_alone(a, spec, mesh, place):
    return _taken(a, spec[:1], mesh, place, _equal)


def columns_alone(a, spec, mesh, place):
    return _taken(a, (None, spec[1]), mesh, place, _equal)


def first_part(a, spec, mesh, place):
    return _taken(a, spec, mesh, place, lambda rows, parts, number: _equal(rows, parts, 0))


def last_part(a, spec, mesh, place):
    return _taken(a, spec, mesh, place, lambda rows, parts, number: _equal(rows, parts, -1))


def place_of_the_other_axis(a, spec, mesh, place):
    other = dict(zip(AXES, [place[axis] for axis in AXES[::-1]], strict=True))
    return _taken(a, spec, mesh, other, _equal)


def every_other(a, spec, mesh, place):
    return _taken(a, spec, mesh, place, lambda rows, parts, number: rows[number::parts])


def place_as_start(a, spec, mesh, place):
    def part(rows, parts, number):
        return rows[number : number + len(rows) // parts]

    return _taken(a, spec, mesh, place, part)


def parts_as_size(a, spec, mesh, place):
    def part(rows, parts, number):
        return rows[number * parts : (number + 1) * parts]

    return _taken(a, spec, mesh, place, part)


def one_number_short(a, spec, mesh, place):
    return _taken(a, spec, mesh, place, lambda *given: _equal(*given)[:-1])


def from_the_end(a, spec, mesh, place):
    def part(rows, parts, number):
        return _equal(rows, parts, parts - 1 - number)

    return _taken(a, spec, mesh, place, part)


def two_parts(a, spec, mesh, place):
    def part(rows, parts, number):
        size = len(rows) // 2
        return rows[number * size : (number + 1) * size]

    return _taken(a, spec, mesh, place, part)
