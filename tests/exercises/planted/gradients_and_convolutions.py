"""Wrong solutions of lesson 01_gpu/1, written as a learner would, and what each must be told.

Every one is right somewhere: on one of the exercise's own shapes, on all-ones data, or everywhere
(those that change their input or call the library). RIGHT_ON gives inputs where the cases do not.
"""

import numpy as np


def _pad(x, padding):
    return np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))


def _sizes(x, R, S, stride, padding):
    P = (x.shape[2] + 2 * padding - R) // stride + 1
    Q = (x.shape[3] + 2 * padding - S) // stride + 1
    return P, Q


def _im2col(x, R, S, stride, padding):
    x, (P, Q) = _pad(x, padding), _sizes(x, R, S, stride, padding)
    rows = [
        x[n, :, p * stride : p * stride + R, q * stride : q * stride + S].reshape(-1)
        for n in range(len(x))
        for p in range(P)
        for q in range(Q)
    ]
    return np.array(rows)


# --- gpu.linear_backward


def dw_not_turned(dy, x, w):
    return dy @ w, x.T @ dy, dy.sum(axis=0)


def averages_over_the_batch(dy, x, w):
    n = dy.shape[0]
    return dy @ w / n, dy.T @ x / n, dy.sum(axis=0) / n


def outer_product_of_sums(dy, x, w):
    return dy @ w, np.outer(dy.sum(axis=0), x.mean(axis=0)), dy.sum(axis=0)


def bias_from_one_image(dy, x, w):
    return dy @ w, dy.T @ x, dy[0]


def bias_averaged(dy, x, w):
    return dy @ w, dy.T @ x, dy.mean(axis=0)


def linear_scales_dy_in_place(dy, x, w):
    dx = dy @ w
    dy *= 1.0 + 1e-12
    return dx, dy.T @ x, dy.sum(axis=0)


def linear_by_library(dy, x, w):
    from labkit.reference import linear_backward as borrowed

    return borrowed(dy, x, w)


def w_turned_as_well(dy, x, w):
    return dy @ w.T, dy.T @ x, dy.sum(axis=0)


def dy_left_as_it_lies(dy, x, w):
    return dy @ w, dy @ x, dy.sum(axis=0)


def bias_along_the_wrong_axis(dy, x, w):
    return dy @ w, dy.T @ x, dy.sum(axis=1)


def linear_in_half_the_digits(dy, x, w):
    dy, x, w = (a.astype("float32") for a in (dy, x, w))
    return dy @ w, dy.T @ x, dy.sum(axis=0)


_KEPT_DW = {}


def linear_keeps_dw(dy, x, w):
    sizes = dy.shape, w.shape
    if sizes not in _KEPT_DW:
        _KEPT_DW[sizes] = dy.T @ x
    return dy @ w, _KEPT_DW[sizes], dy.sum(axis=0)


# --- gpu.conv2d_direct


def _direct(x, w, b, stride, padding, cell, skip_bias=False):
    padded, (K, _, R, S) = _pad(x, padding), w.shape
    P, Q = _sizes(x, R, S, stride, padding)
    y = np.zeros((len(x), K, P, Q))
    for n, k, p, q in np.ndindex(y.shape):
        window = padded[n, :, p * stride : p * stride + R, q * stride : q * stride + S]
        y[n, k, p, q] = cell(window, w[k]) + (0 if skip_bias else b[k])
    return y


def kernel_flipped(x, w, b, stride=1, padding=0):
    return _direct(x, w, b, stride, padding, lambda v, k: np.sum(v * k[:, ::-1, ::-1]))


def stride_forgotten(x, w, b, stride=1, padding=0):
    padded, (K, _, R, S) = _pad(x, padding), w.shape
    P, Q = _sizes(x, R, S, stride, padding)
    y = np.zeros((len(x), K, P, Q))
    for n, k, p, q in np.ndindex(y.shape):
        y[n, k, p, q] = np.sum(padded[n, :, p : p + R, q : q + S] * w[k]) + b[k]
    return y


def cuts_the_unpadded_image(x, w, b, stride=1, padding=0):
    (K, _, R, S), (P, Q) = w.shape, _sizes(x, *w.shape[2:], stride, padding)
    y = np.zeros((len(x), K, P, Q))
    for n, k, p, q in np.ndindex(y.shape):
        y[n, k, p, q] = np.sum(x[n, :, p * stride :, q * stride :][:, :R, :S] * w[k]) + b[k]
    return y


def only_the_first_channel(x, w, b, stride=1, padding=0):
    return _direct(x, w, b, stride, padding, lambda v, k: np.sum(v[0] * k[0]))


def bias_in_the_sum(x, w, b, stride=1, padding=0):
    y = _direct(x, w, b, stride, padding, lambda v, k: np.sum(v * k), skip_bias=True)
    return y + w[0].size * b[:, None, None]


def bias_forgotten(x, w, b, stride=1, padding=0):
    return _direct(x, w, b, stride, padding, lambda v, k: np.sum(v * k), skip_bias=True)


def window_summed_first(x, w, b, stride=1, padding=0):
    return _direct(x, w, b, stride, padding, lambda v, k: np.sum(v) * np.mean(k))


def direct_clears_x(x, w, b, stride=1, padding=0):
    y = _direct(x, w, b, stride, padding, lambda v, k: np.sum(v * k))
    x[...] = 0
    return y


def direct_by_library(x, w, b, stride=1, padding=0):
    import torch

    x, w, b = (torch.from_numpy(a) for a in (x, w, b))
    return torch.nn.functional.conv2d(x, w, b, stride, padding).numpy()


def _direct_of(padded, x, w, b, stride, padding, cell):
    y = np.zeros((len(x), len(w), *_sizes(x, *w.shape[2:], stride, padding)))
    for n, k, p, q in np.ndindex(y.shape):
        y[n, k, p, q] = cell(padded, w, n, k, p, q) + b[k]
    return y


def subtracts_the_padding_again(x, w, b, stride=1, padding=0):
    R, S = w.shape[2:]

    def cell(padded, w, n, k, p, q):
        h, v = p * stride - padding, q * stride - padding
        return np.sum(padded[n, :, h : h + R, v : v + S] * w[k])

    return _direct_of(_pad(x, padding), x, w, b, stride, padding, cell)


def adds_the_padding_to_the_place(x, w, b, stride=1, padding=0):
    R, S = w.shape[2:]

    def cell(padded, w, n, k, p, q):
        h, v = p * stride + padding, q * stride + padding
        return np.sum(padded[n, :, h : h + R, v : v + S] * w[k])

    return _direct_of(_pad(x, padding), x, w, b, stride, padding, cell)


def goes_right_with_p(x, w, b, stride=1, padding=0):
    R, S = w.shape[2:]

    def cell(padded, w, n, k, p, q):
        h, v = q * stride, p * stride
        return np.sum(padded[n, :, h : h + R, v : v + S] * w[k])

    return _direct_of(_pad(x, padding), x, w, b, stride, padding, cell)


def stride_between_the_pixels(x, w, b, stride=1, padding=0):
    R, S = w.shape[2:]

    def cell(padded, w, n, k, p, q):
        rows = slice(p * stride, p * stride + R * stride, stride)
        columns = slice(q * stride, q * stride + S * stride, stride)
        return np.sum(padded[n, :, rows, columns] * w[k])

    return _direct_of(_pad(x, padding), x, w, b, stride, padding, cell)


def multiplies_matrices(x, w, b, stride=1, padding=0):
    return _direct(x, w, b, stride, padding, lambda v, k: np.sum(v @ k))


def takes_the_mean(x, w, b, stride=1, padding=0):
    return _direct(x, w, b, stride, padding, lambda v, k: np.mean(v * k))


def always_the_first_filter(x, w, b, stride=1, padding=0):
    return _direct(x, w, b, stride, padding, lambda v, k: np.sum(v * w[0]))


def always_the_first_image(x, w, b, stride=1, padding=0):
    first = np.repeat(x[:1], len(x), axis=0)
    return _direct(first, w, b, stride, padding, lambda v, k: np.sum(v * k))


_KEPT_Y = {}


def direct_adds_to_what_it_keeps(x, w, b, stride=1, padding=0):
    key = x.shape, w.shape, stride, padding
    y = _direct(x, w, b, stride, padding, lambda v, k: np.sum(v * k))
    _KEPT_Y[key] = _KEPT_Y.get(key, 0) + y
    return _KEPT_Y[key]


# --- gpu.im2col


def _gather(x, R, S, stride, padding, axes):
    N, C = x.shape[:2]
    padded, (P, Q) = _pad(x, padding), _sizes(x, R, S, stride, padding)
    cols = np.zeros((N, C, P, Q, R, S), dtype=x.dtype)
    for r, s in np.ndindex(R, S):
        cols[..., r, s] = padded[:, :, r : r + stride * P : stride, s : s + stride * Q : stride]
    return cols.transpose(axes).reshape(N * P * Q, C * R * S)


def row_order_rsc(x, R, S, stride=1, padding=0):
    return _gather(x, R, S, stride, padding, (0, 2, 3, 4, 5, 1))


def row_order_csr(x, R, S, stride=1, padding=0):
    return _gather(x, R, S, stride, padding, (0, 2, 3, 1, 5, 4))


def reshaped_without_transpose(x, R, S, stride=1, padding=0):
    return _gather(x, R, S, stride, padding, (0, 1, 2, 3, 4, 5))


def windows_by_column(x, R, S, stride=1, padding=0):
    return _gather(x, R, S, stride, padding, (0, 3, 2, 1, 4, 5))


def im2col_clears_x(x, R, S, stride=1, padding=0):
    cols = _gather(x, R, S, stride, padding, (0, 2, 3, 1, 4, 5))
    x.fill(0)
    return cols


def im2col_by_library(x, R, S, stride=1, padding=0):
    windows = np.lib.stride_tricks.sliding_window_view(_pad(x, padding), (R, S), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)
    return windows.reshape(-1, x.shape[1] * R * S)


def _by_tap(x, R, S, stride, padding, put, image=None, dtype=None):
    P, Q = _sizes(x, R, S, stride, padding)
    image = _pad(x, padding) if image is None else image
    cols = np.zeros((len(x), P, Q, x.shape[1], R, S), dtype=dtype or x.dtype)
    for r, s in np.ndindex(R, S):
        down, right = slice(r, r + stride * P, stride), slice(s, s + stride * Q, stride)
        cols[..., r, s] = put(image, down, right)
    return cols.reshape(len(x) * P * Q, -1)


def slice_as_it_is(x, R, S, stride=1, padding=0):
    return _by_tap(x, R, S, stride, padding, lambda a, down, right: a[:, :, down, right])


def axes_the_other_way(x, R, S, stride=1, padding=0):
    def put(a, down, right):
        return a[:, :, down, right].transpose(0, 3, 1, 2)

    return _by_tap(x, R, S, stride, padding, put)


def axes_reversed(x, R, S, stride=1, padding=0):
    def put(a, down, right):
        return a[:, :, down, right].transpose(0, 3, 2, 1)

    return _by_tap(x, R, S, stride, padding, put)


def right_before_down(x, R, S, stride=1, padding=0):
    def put(a, down, right):
        return a[:, :, right, down].transpose(0, 2, 3, 1)

    return _by_tap(x, R, S, stride, padding, put)


def _put(a, down, right):
    return a[:, :, down, right].transpose(0, 2, 3, 1)


def last_tap_first(x, R, S, stride=1, padding=0):
    rows = _by_tap(x, R, S, stride, padding, _put)
    return np.flip(rows.reshape(-1, x.shape[1], R, S), (2, 3)).reshape(rows.shape)


def slices_of_x(x, R, S, stride=1, padding=0):
    return _by_tap(x, R, S, stride, padding, _put, image=x)


def rows_of_float32(x, R, S, stride=1, padding=0):
    return _by_tap(x, R, S, stride, padding, _put, dtype="float32")


_KEPT_COLS = {}


def im2col_keeps_its_rows(x, R, S, stride=1, padding=0):
    key = x.shape, x.dtype, R, S, stride, padding
    if key not in _KEPT_COLS:
        _KEPT_COLS[key] = _by_tap(x, R, S, stride, padding, _put)
    return _KEPT_COLS[key]


# --- gpu.conv2d_backward_weights


def _weights(dy, x, R, S, stride, padding):
    dy_rows = dy.transpose(0, 2, 3, 1).reshape(-1, dy.shape[1])
    dw = (dy_rows.T @ _im2col(x, R, S, stride, padding)).reshape(dy.shape[1], x.shape[1], R, S)
    return dw, dy_rows.sum(axis=0)


def dy_reshaped_only(dy, x, R, S, stride=1, padding=0):
    dy_rows = dy.reshape(-1, dy.shape[1])
    dw = (dy_rows.T @ _im2col(x, R, S, stride, padding)).reshape(dy.shape[1], x.shape[1], R, S)
    return dw, dy.sum(axis=(0, 2, 3))


def weights_flipped(dy, x, R, S, stride=1, padding=0):
    dw, db = _weights(dy, x, R, S, stride, padding)
    return np.flip(dw, (2, 3)), db


def weights_averaged(dy, x, R, S, stride=1, padding=0):
    dw, db = _weights(dy, x, R, S, stride, padding)
    return dw / len(x), db / len(x)


def product_the_other_way(dy, x, R, S, stride=1, padding=0):
    dy_rows = dy.transpose(0, 2, 3, 1).reshape(-1, dy.shape[1])
    dw = (_im2col(x, R, S, stride, padding).T @ dy_rows).reshape(dy.shape[1], x.shape[1], R, S)
    return dw, dy_rows.sum(axis=0)


def bias_is_a_mean(dy, x, R, S, stride=1, padding=0):
    return _weights(dy, x, R, S, stride, padding)[0], dy.mean(axis=(0, 2, 3))


def first_image_only(dy, x, R, S, stride=1, padding=0):
    return _weights(dy[:1], x[:1], R, S, stride, padding)


def weights_change_dy(dy, x, R, S, stride=1, padding=0):
    result = _weights(dy, x, R, S, stride, padding)
    dy[0, 0, 0, 0] += 1
    return result


def weights_by_library(dy, x, R, S, stride=1, padding=0):
    from labkit import reference

    w = np.zeros((dy.shape[1], x.shape[1], R, S))
    return reference.conv2d_backward(dy, x, w, stride, padding)[1:]


def rows_not_turned(dy, x, R, S, stride=1, padding=0):
    dy_rows = dy.transpose(0, 2, 3, 1).reshape(-1, dy.shape[1])
    dw = dy_rows @ _im2col(x, R, S, stride, padding)
    return dw.reshape(dy.shape[1], x.shape[1], R, S), dy_rows.sum(axis=0)


def weights_channels_last(dy, x, R, S, stride=1, padding=0):
    dw, db = _weights(dy, x, R, S, stride, padding)
    K, C = dw.shape[:2]
    return np.moveaxis(dw, 1, 3).reshape(K, C, R, S), db


def bias_of_the_first_row(dy, x, R, S, stride=1, padding=0):
    return _weights(dy, x, R, S, stride, padding)[0], dy[0, :, 0, 0]


def bias_of_each_row(dy, x, R, S, stride=1, padding=0):
    dw, _ = _weights(dy, x, R, S, stride, padding)
    return dw, dy.transpose(0, 2, 3, 1).reshape(-1, dy.shape[1]).sum(axis=1)


_KEPT_DB = {}


def weights_keep_db(dy, x, R, S, stride=1, padding=0):
    dw, db = _weights(dy, x, R, S, stride, padding)
    return dw, _KEPT_DB.setdefault((dy.shape, x.shape, R, S, stride, padding), db)


# --- gpu.conv2d_backward_input


def _input(dy, w, x_shape, stride, padding, add=True, crop=None, w_used=None):
    (N, C, H, W), (K, _, R, S), (P, Q) = x_shape, w.shape, dy.shape[2:]
    w = w if w_used is None else w_used
    dcols = (dy.transpose(0, 2, 3, 1).reshape(-1, K) @ w.reshape(K, -1)).reshape(N, P, Q, C, R, S)
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for r, s in np.ndindex(R, S):
        part = dcols[..., r, s].transpose(0, 3, 1, 2)
        at = dx[:, :, r : r + stride * P : stride, s : s + stride * Q : stride]
        at[...] = at + part if add else part
    start = padding if crop is None else crop
    return dx[:, :, start : start + H, start : start + W]


def overwrites(dy, w, x_shape, stride=1, padding=0):
    return _input(dy, w, x_shape, stride, padding, add=False)


def crops_at_zero(dy, w, x_shape, stride=1, padding=0):
    return _input(dy, w, x_shape, stride, padding, crop=0)


def flips_the_kernel(dy, w, x_shape, stride=1, padding=0):
    return _input(dy, w, x_shape, stride, padding, w_used=np.flip(w, (2, 3)))


def one_output_channel(dy, w, x_shape, stride=1, padding=0):
    return _input(dy[:, :1], w[:1], x_shape, stride, padding)


def input_changes_dy(dy, w, x_shape, stride=1, padding=0):
    dx = _input(dy, w, x_shape, stride, padding)
    dy -= 1
    return dx


def input_by_library(dy, w, x_shape, stride=1, padding=0):
    import labkit.reference as ours

    return ours.conv2d_backward(dy, np.zeros(x_shape), w, stride, padding)[0]


def _scatter(dy, w, x_shape, stride, padding, share):
    (N, C, H, W), (K, _, R, S), (P, Q) = x_shape, w.shape, dy.shape[2:]
    rows = dy.transpose(0, 2, 3, 1).reshape(-1, K)
    dcols = (rows @ w.reshape(K, -1)).reshape(N, P, Q, C, R, S)
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for r, s in np.ndindex(R, S):
        dx[:, :, r : r + stride * P : stride, s : s + stride * Q : stride] += share(dcols, r, s)
    return dx[:, :, padding : padding + H, padding : padding + W]


def share_as_it_is(dy, w, x_shape, stride=1, padding=0):
    return _scatter(dy, w, x_shape, stride, padding, lambda d, r, s: d[..., r, s])


def axes_as_on_the_way_there(dy, w, x_shape, stride=1, padding=0):
    def share(dcols, r, s):
        return dcols[..., r, s].transpose(0, 2, 3, 1)

    return _scatter(dy, w, x_shape, stride, padding, share)


def column_before_row(dy, w, x_shape, stride=1, padding=0):
    def share(dcols, r, s):
        return dcols[..., s, r].transpose(0, 3, 1, 2)

    return _scatter(dy, w, x_shape, stride, padding, share)


def share_with_rows_and_columns_turned(dy, w, x_shape, stride=1, padding=0):
    def share(dcols, r, s):
        return dcols[..., r, s].transpose(0, 3, 2, 1)

    return _scatter(dy, w, x_shape, stride, padding, share)


def columns_before_rows(dy, w, x_shape, stride=1, padding=0):
    (N, C, H, W), (R, S), (P, Q) = x_shape, w.shape[2:], dy.shape[2:]
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for r, s in np.ndindex(R, S):
        down, right = slice(r, r + stride * P, stride), slice(s, s + stride * Q, stride)
        dx[:, :, right, down] += np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s])
    return dx[:, :, padding : padding + H, padding : padding + W]


def steps_of_one(dy, w, x_shape, stride=1, padding=0):
    (N, C, H, W), (R, S), (P, Q) = x_shape, w.shape[2:], dy.shape[2:]
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding))
    for r, s in np.ndindex(R, S):
        dx[:, :, r : r + P, s : s + Q] += np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s])
    return dx[:, :, padding : padding + H, padding : padding + W]


_KEPT_DX = {}


def input_adds_to_what_it_keeps(dy, w, x_shape, stride=1, padding=0):
    key = dy.shape, w.shape, x_shape, stride, padding
    _KEPT_DX[key] = _KEPT_DX.get(key, 0) + _input(dy, w, x_shape, stride, padding)
    return _KEPT_DX[key]


PLANTED = {
    "gpu.linear_backward": [
        (dw_not_turned, "dw is transposed"),
        (averages_over_the_batch, "divided by N once more"),
        (outer_product_of_sums, "dw multiplies two sums"),
        (bias_from_one_image, "db holds the first image only"),
        (bias_averaged, "db is a mean over the images"),
        (w_turned_as_well, "sums over two letters that are not the same"),
        (dy_left_as_it_lies, "the letters in the middle are k and n"),
        (bias_along_the_wrong_axis, "db adds up the outputs of each image"),
        (linear_in_half_the_digits, "has dtype float32"),
        (linear_keeps_dw, "kept from one call to the next"),
        (linear_scales_dy_in_place, "changes its input dy"),
        (linear_by_library, "labkit.reference"),
    ],
    "gpu.conv2d_direct": [
        (kernel_flipped, "The kernel is flipped"),
        (stride_forgotten, "The windows move by one pixel"),
        (only_the_first_channel, "Only channel 0 is read"),
        (bias_in_the_sum, "The bias is added once per tap"),
        (cuts_the_unpadded_image, "Cut it out of padded"),
        (bias_forgotten, "The bias b[k] is missing"),
        (window_summed_first, "The window is summed before it is multiplied"),
        (subtracts_the_padding_again, "The padding is subtracted once more"),
        (adds_the_padding_to_the_place, "The padding is added to the place of the window"),
        (goes_right_with_p, "p and q have changed places"),
        (stride_between_the_pixels, "The stride is used inside the window"),
        (multiplies_matrices, "are multiplied as matrices"),
        (takes_the_mean, "The products of a window are averaged"),
        (always_the_first_filter, "Every output channel uses the first filter"),
        (always_the_first_image, "gives the result of the first one"),
        (direct_adds_to_what_it_keeps, "the results of earlier calls are added"),
        (direct_clears_x, "changes its input x"),
        (direct_by_library, "torch"),
    ],
    "gpu.im2col": [
        (row_order_rsc, "A row is in the order R, S, C"),
        (row_order_csr, "The taps r and s are swapped"),
        (reshaped_without_transpose, "reshaped without being moved"),
        (windows_by_column, "The windows run down the columns first"),
        (slice_as_it_is, "The axes of the slice stay as they are"),
        (axes_the_other_way, "The axes are moved the wrong way"),
        (axes_reversed, "P and Q change places as well"),
        (right_before_down, "The two slices have changed places"),
        (slices_of_x, "The slices are cut out of x"),
        (last_tap_first, "The taps of a row run backwards"),
        (rows_of_float32, "The rows are made as float32"),
        (im2col_keeps_its_rows, "kept from one call to the next"),
        (im2col_clears_x, "changes its input x"),
        (im2col_by_library, "sliding_window_view"),
    ],
    "gpu.conv2d_backward_weights": [
        (dy_reshaped_only, "without moving K to the end"),
        (product_the_other_way, "transposed before the reshape"),
        (weights_flipped, "dw is flipped"),
        (weights_averaged, "divided by N once more"),
        (bias_is_a_mean, "db is a mean"),
        (first_image_only, "Only image 0 counts"),
        (rows_not_turned, "dy_rows stands as it lies"),
        (weights_channels_last, "dw was reshaped as K, R, S, C"),
        (bias_of_the_first_row, "db holds one position of one image only"),
        (bias_of_each_row, "db adds up the channels of each position"),
        (weights_keep_db, "kept from one call to the next"),
        (weights_change_dy, "changes its input dy"),
        (weights_by_library, "labkit.reference"),
    ],
    "gpu.conv2d_backward_input": [
        (overwrites, "Later taps overwrite earlier ones"),
        (crops_at_zero, "cut off in the wrong place"),
        (flips_the_kernel, "The kernel is flipped on top"),
        (one_output_channel, "Only output channel 0"),
        (share_as_it_is, "The axes of a tap's share stay as they are"),
        (axes_as_on_the_way_there, "The axes are moved as in im2col"),
        (column_before_row, "The taps r and s are swapped"),
        (share_with_rows_and_columns_turned, "P and Q change places on the way"),
        (columns_before_rows, "The two slices have changed places"),
        (steps_of_one, "The stride is missing"),
        (input_adds_to_what_it_keeps, "the results of earlier calls are added"),
        (input_changes_dy, "changes its input dy"),
        (input_by_library, "labkit.reference"),
    ],
}

# A bias of zero hides a forgotten bias, sizes of 1 a wrong order of axes, and the first call of all
# what is kept.
_X, _W, _DY = np.ones((1, 1, 3, 3)), np.ones((2, 1, 2, 2)), np.ones((1, 2, 2, 2))
_ONE = np.ones((1, 1, 1, 1))
RIGHT_ON = {
    w_turned_as_well: (np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2))),
    dy_left_as_it_lies: (np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2))),
    linear_keeps_dw: (np.ones((3, 2)), np.ones((3, 7)), np.ones((2, 7))),
    bias_forgotten: (_X, _W, np.zeros(2), 1, 0),
    goes_right_with_p: (np.ones((1, 1, 3, 3)), _W, np.ones(2), 1, 0),
    direct_adds_to_what_it_keeps: (_X, _W, np.ones(2), 1, 0),
    slice_as_it_is: (_ONE, 1, 1, 1, 0),
    axes_the_other_way: (_ONE, 1, 1, 1, 0),
    axes_reversed: (_X, 2, 2, 1, 0),
    right_before_down: (_X, 2, 2, 1, 0),
    im2col_keeps_its_rows: (_X, 2, 2, 1, 0),
    rows_not_turned: (_ONE, _ONE, 1, 1, 1, 0),
    weights_keep_db: (_DY, _X, 2, 2, 1, 0),
    share_as_it_is: (_ONE, _ONE, _ONE.shape, 1, 0),
    axes_as_on_the_way_there: (_ONE, _ONE, _ONE.shape, 1, 0),
    column_before_row: (_DY, _W, _X.shape, 1, 0),
    share_with_rows_and_columns_turned: (_DY, _W, _X.shape, 1, 0),
    columns_before_rows: (_DY, _W, _X.shape, 1, 0),
    input_adds_to_what_it_keeps: (_DY, _W, _X.shape, 1, 0),
}

SOLVED = {
    "gpu.linear_backward": lambda dy, x, w: (dy @ w, dy.T @ x, dy.sum(axis=0)),
    "gpu.conv2d_direct": lambda x, w, b, stride=1, padding=0: _direct(
        x, w, b, stride, padding, lambda v, k: np.sum(v * k)
    ),
    "gpu.im2col": lambda x, R, S, stride=1, padding=0: _im2col(x, R, S, stride, padding),
    "gpu.conv2d_backward_weights": lambda dy, x, R, S, stride=1, padding=0: _weights(
        dy, x, R, S, stride, padding
    ),
    "gpu.conv2d_backward_input": lambda dy, w, x_shape, stride=1, padding=0: _input(
        dy, w, x_shape, stride, padding
    ),
}
