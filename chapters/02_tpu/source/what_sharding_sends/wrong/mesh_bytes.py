"""Wrong ideas of exercise tpu.mesh_bytes: B, D, F, data[k], model[k] -> bytes[k].

Dense: each wrong idea is the sum of two rings with one letter changed.
"""


def _ring(bytes_, devices):
    return 2 * (devices - 1) * bytes_ / devices


def gradients_alone(B, D, F, data, model):
    return _ring(4 * D * F / model, data)


def results_alone(B, D, F, data, model):
    return _ring(2 * B * D / data, model)


def one_layer(B, D, F, data, model):
    return _ring(2 * D * F / model, data) + _ring(2 * B * D / data, model)


def weights_whole(B, D, F, data, model):
    return _ring(4 * D * F, data) + _ring(2 * B * D / data, model)


def batch_whole(B, D, F, data, model):
    return _ring(4 * D * F / model, data) + _ring(2 * B * D, model)


def nothing_cut(B, D, F, data, model):
    return _ring(4 * D * F, data) + _ring(2 * B * D, model)


def axes_exchanged(B, D, F, data, model):
    return _ring(4 * D * F / data, model) + _ring(2 * B * D / model, data)


def hidden_for_results(B, D, F, data, model):
    return _ring(4 * D * F / model, data) + _ring(2 * B * F / data, model)


def half(B, D, F, data, model):
    return (_ring(4 * D * F / model, data) + _ring(2 * B * D / data, model)) / 2


def four_bytes(B, D, F, data, model):
    return (_ring(4 * D * F / model, data) + _ring(2 * B * D / data, model)) * 2


def whole_bytes(B, D, F, data, model):
    return _ring(4 * D * F // model, data) + _ring(2 * B * D // data, model)


def rings_exchanged(B, D, F, data, model):
    return _ring(4 * D * F / model, model) + _ring(2 * B * D / data, data)


def two_in_each_ring(B, D, F, data, model):
    return 4 * D * F / model * (data > 1) + 2 * B * D / data * (model > 1)


def own_part_not_left_out(B, D, F, data, model):
    return 2.0 * (4 * D * F / model) * (data > 1) + 2.0 * (2 * B * D / data) * (model > 1)


def all_devices_in_one_ring(B, D, F, data, model):
    return _ring(4 * D * F / model + 2 * B * D / data, data * model)


def both_ways(B, D, F, data, model):
    return _ring(4 * D * F / model, data) + 2 * _ring(2 * B * D / data, model)
