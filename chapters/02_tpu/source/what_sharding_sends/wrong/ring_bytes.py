"""Wrong ideas of exercise tpu.ring_bytes: kind, result[n], devices[n] -> bytes[n].

Dense: each wrong idea is the formula of a ring with one letter changed.
"""


def _whole(kind, result, devices):
    return result * devices if kind == "reduce-scatter" else result


def _around(kind):
    return 2 if kind == "all-reduce" else 1


def result_for_whole(kind, result, devices):
    return _around(kind) * (devices - 1) * result / devices


def once_around(kind, result, devices):
    return (devices - 1) * _whole(kind, result, devices) / devices


def all_twice(kind, result, devices):
    return 2 * once_around(kind, result, devices)


def own_part_not_left_out(kind, result, devices):
    return 1.0 * _around(kind) * _whole(kind, result, devices)


def to_each_other(kind, result, devices):
    return 1.0 * (devices - 1) * _whole(kind, result, devices)


def one_part(kind, result, devices):
    return _around(kind) * _whole(kind, result, devices) / devices


def parts_for_all_kinds(kind, result, devices):
    return 1.0 * _around(kind) * (devices - 1) * result


def gathered_part(kind, result, devices):
    once = result if kind == "all-gather" else _whole(kind, result, devices) / devices
    return 1.0 * _around(kind) * (devices - 1) * once


def the_result_alone(kind, result, devices):
    return 1.0 * result


def scattered_like_gathered_twice(kind, result, devices):
    twice = 1 if kind == "all-gather" else 2
    return twice * (devices - 1) * _whole(kind, result, devices) / devices


def all_devices(kind, result, devices):
    return 1.0 * _around(kind) * (devices - 1) * _whole(kind, result, devices)


def one_more_step(kind, result, devices):
    return _around(kind) * (devices + 1) * _whole(kind, result, devices) / devices


def whole_parts(kind, result, devices):
    parts = result if kind == "reduce-scatter" else result // devices
    return 1.0 * _around(kind) * (devices - 1) * parts


def four_devices(kind, result, devices):
    whole = result * 4 if kind == "reduce-scatter" else result
    return _around(kind) * 0.75 * whole
