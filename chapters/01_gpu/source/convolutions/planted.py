"""Wrong solutions of the lesson, written as a learner would, and what each must be told.

Every one is right somewhere: on one of the exercise's own shapes, on all-ones data, or everywhere
(those that change their input or call the library). RIGHT_ON gives inputs where the cases do not.
"""

from functools import partial

import numpy as np

from tests.exercises.edits import edit, solution

# --- gpu.conv2d_direct

direct = partial(edit, "gpu.conv2d_direct")
direct_one_inside = direct(
    "direct_one_inside",
    "(H - R) // stride + 1, (W - S) // stride + 1",
    "(H - R + 1) // stride, (W - S + 1) // stride",
)
direct_in_float64 = direct("direct_in_float64", ", dtype=x.dtype", "")
ROWS, COLUMNS = "p * stride : p * stride + R", "q * stride : q * stride + S"
kernel_flipped = direct("kernel_flipped", "window * w[k]", "window * w[k, :, ::-1, ::-1]")
stride_forgotten = direct("stride_forgotten", ROWS, "p : p + R", (COLUMNS, "q : q + S"))
cuts_the_unpadded_image = direct("cuts_the_unpadded_image", "padded[n, :,", "x[n, :,")
only_the_first_channel = direct("only_the_first_channel", "window * w[k]", "window[0] * w[k, 0]")
bias_in_the_sum = direct("bias_in_the_sum", "window * w[k]) + b[k]", "window * w[k] + b[k])")
bias_forgotten = direct("bias_forgotten", " + b[k]", "")
window_summed_first = direct(
    "window_summed_first", "np.sum(window * w[k])", "np.sum(window) * np.mean(w[k])"
)
direct_clears_x = direct("direct_clears_x", "return y", "x[...] = 0\n    return y")
subtracts_the_padding_again = direct(
    "subtracts_the_padding_again",
    ROWS,
    "p * stride - padding : p * stride - padding + R",
    (COLUMNS, "q * stride - padding : q * stride - padding + S"),
)
adds_the_padding_to_the_place = direct(
    "adds_the_padding_to_the_place",
    ROWS,
    "p * stride + padding : p * stride + padding + R",
    (COLUMNS, "q * stride + padding : q * stride + padding + S"),
)
goes_right_with_p = direct(
    "goes_right_with_p", "n, k, p, q in", "n, k, q, p in", ("[n, k, p, q]", "[n, k, q, p]")
)
stride_between_the_pixels = direct(
    "stride_between_the_pixels",
    ROWS,
    "p * stride : p * stride + R * stride : stride",
    (COLUMNS, "q * stride : q * stride + S * stride : stride"),
)
multiplies_matrices = direct("multiplies_matrices", "window * w[k]", "window @ w[k]")
takes_the_mean = direct("takes_the_mean", "np.sum(", "np.mean(")
always_the_first_filter = direct("always_the_first_filter", "window * w[k]", "window * w[0]")
always_the_first_image = direct("always_the_first_image", "padded[n, :,", "padded[0, :,")


def direct_by_library(x, w, b, stride=1, padding=0):
    import torch

    x, w, b = (torch.from_numpy(a) for a in (x, w, b))
    return torch.nn.functional.conv2d(x, w, b, stride, padding).numpy()


right_direct = solution("gpu.conv2d_direct")
_KEPT_Y = {}


def direct_adds_to_what_it_keeps(x, w, b, stride=1, padding=0):
    key = x.shape, w.shape, stride, padding
    _KEPT_Y[key] = _KEPT_Y.get(key, 0) + right_direct(x, w, b, stride, padding)
    return _KEPT_Y[key]


in_turn_of_two_images = direct("in_turn_of_two_images", "padded[n,", "padded[n % 2,")
direct_in_half_the_digits = direct("direct_in_half_the_digits", "dtype=x.dtype", 'dtype="float32"')
stride_downwards_alone = direct("stride_downwards_alone", COLUMNS, "q : q + S")
stride_to_the_right_alone = direct("stride_to_the_right_alone", ROWS, "p : p + R")
as_large_as_the_step = direct(
    "as_large_as_the_step",
    ROWS,
    "p * stride : (p + 1) * stride",
    (COLUMNS, "q * stride : (q + 1) * stride"),
)
as_wide_as_high = direct("as_wide_as_high", COLUMNS, "q * stride : q * stride + R")
_HOW = {}


def direct_remembers_stride_and_padding(x, w, b, stride=1, padding=0):
    return right_direct(x, w, b, *_HOW.setdefault((x.shape, w.shape), (stride, padding)))


def output_by_output(x, w, b, stride=1, padding=0):
    framed = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    K, _, R, S = w.shape
    P, Q = (framed.shape[2] - R) // stride + 1, (framed.shape[3] - S) // stride + 1
    y = np.empty((len(x), K, P, Q), x.dtype)
    for p, q in np.ndindex(P, Q):
        window = framed[:, :, p * stride :, q * stride :][:, :, :R, :S]
        y[:, :, p, q] = np.tensordot(window, w, axes=((1, 2, 3), (1, 2, 3))) + b
    return y


def all_windows_at_once(x, w, b, stride=1, padding=0):
    framed = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    seen = np.lib.stride_tricks.sliding_window_view(framed, w.shape[2:], axis=(2, 3))
    seen = seen[:, :, ::stride, ::stride]
    return np.einsum("ncpqrs,kcrs->nkpq", seen, w) + b[:, None, None]


# --- gpu.im2col

rows = partial(edit, "gpu.im2col")


def rows_as_many_across(x, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    N, C, H, _ = padded.shape
    P = Q = (H - R) // stride + 1
    cols = np.zeros((N, P, Q, C, R, S), dtype=x.dtype)
    for n, p, q in np.ndindex(N, P, Q):
        window = padded[n, :, p * stride : p * stride + R, q * stride : q * stride + S]
        cols[n, p, q, :, : window.shape[1], : window.shape[2]] = window
    return cols.reshape(N * P * Q, C * R * S)


rows_one_inside = rows(
    "rows_one_inside",
    "(H - R) // stride + 1, (W - S) // stride + 1",
    "(H - R + 1) // stride, (W - S + 1) // stride",
)
rows_in_float64 = rows("rows_in_float64", ", dtype=x.dtype", "")
row_order_rsc = rows("row_order_rsc", "cols.resh", "cols.transpose(0, 1, 2, 4, 5, 3).resh")
row_order_csr = rows("row_order_csr", "cols.resh", "cols.transpose(0, 1, 2, 3, 5, 4).resh")
reshaped_without_transpose = rows(
    "reshaped_without_transpose", "cols.resh", "cols.transpose(0, 3, 1, 2, 4, 5).resh"
)
windows_by_column = rows("windows_by_column", "cols.resh", "cols.transpose(0, 2, 1, 3, 4, 5).resh")
im2col_clears_x = rows("im2col_clears_x", "return cols", "x.fill(0)\n    return cols")
slice_as_it_is = rows("slice_as_it_is", ".transpose(0, 2, 3, 1)", "")
axes_the_other_way = rows("axes_the_other_way", "(0, 2, 3, 1)", "(0, 3, 1, 2)")
axes_reversed = rows("axes_reversed", "(0, 2, 3, 1)", "(0, 3, 2, 1)")
right_before_down = rows("right_before_down", "[:, :, down, right]", "[:, :, right, down]")
last_tap_first = rows("last_tap_first", "cols.resh", "cols[..., ::-1, ::-1].resh")
slices_of_x = rows("slices_of_x", "padded[:, :, down", "x[:, :, down")
rows_of_float32 = rows("rows_of_float32", "dtype=x.dtype", 'dtype="float32"')


def im2col_by_library(x, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (R, S), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)
    return windows.reshape(-1, x.shape[1] * R * S)


def window_by_window(x, R, S, stride=1, padding=0):
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    P = (padded.shape[2] - R) // stride + 1
    Q = (padded.shape[3] - S) // stride + 1
    rows = []
    for n, p, q in np.ndindex(len(x), P, Q):
        window = padded[n, :, p * stride : p * stride + R, q * stride : q * stride + S]
        rows.append(window.reshape(-1))
    return np.array(rows)


right_rows = solution("gpu.im2col")
_KEPT_COLS = {}


def im2col_keeps_its_rows(x, R, S, stride=1, padding=0):
    key = x.shape, x.dtype, R, S, stride, padding
    if key not in _KEPT_COLS:
        _KEPT_COLS[key] = right_rows(x, R, S, stride, padding)
    return _KEPT_COLS[key]


rows_of_stride_two = rows(
    "rows_of_stride_two", "    for r, s in", "    stride = min(stride, 2)\n    for r, s in"
)
rows_with_a_stride_down = rows("rows_with_a_stride_down", "s + stride * Q, stride", "s + Q")
rows_with_a_stride_right = rows("rows_with_a_stride_right", "r + stride * P, stride", "r + P")
_PLACES = {}


def places_of(x, R, S, stride):
    N, C, H, W = x.shape
    P, Q = (H - R) // stride + 1, (W - S) // stride + 1
    down = stride * np.arange(P)[:, None, None, None] + np.arange(R)[:, None]
    right = stride * np.arange(Q)[:, None, None] + np.arange(S)
    return (N, P, Q, C, R, S), (down, right)


def rows_by_index(x, R, S, stride=1, padding=0, places=None):
    framed = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    (N, P, Q, C, R, S), (down, right) = places or places_of(framed, R, S, stride)
    return framed[:, :, down, right].transpose(0, 2, 3, 1, 4, 5).reshape(N * P * Q, C * R * S)


def rows_by_remembered_places(x, R, S, stride=1, padding=0):
    framed = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    sizes, places = places_of(framed, R, S, stride)
    return rows_by_index(framed, R, S, 1, 0, (sizes, _PLACES.setdefault(sizes, places)))


def rows_of_remembered_windows(x, R, S, stride=1, padding=0):
    return right_rows(x, R, S, *_HOW.setdefault((x.shape, R, S), (stride, padding)))


# --- gpu.conv2d_backward_weights

weights = partial(edit, "gpu.conv2d_backward_weights")
dy_reshaped_only = weights(
    "dy_reshaped_only",
    "dy.transpose(0, 2, 3, 1)",
    "dy",
    ("dy_rows.sum(axis=0)", "dy.sum(axis=(0, 2, 3))"),
)
weights_flipped = weights("weights_flipped", "return dw", "return dw[:, :, ::-1, ::-1]")
weights_averaged = weights("weights_averaged", "return dw, db", "return dw / len(x), db / len(x)")
product_the_other_way = weights("product_the_other_way", "dy_rows.T @ cols", "cols.T @ dy_rows")
bias_is_a_mean = weights("bias_is_a_mean", "dy_rows.sum", "dy_rows.mean")
first_image_only = weights(
    "first_image_only", "    K, C =", "    dy, x = dy[:1], x[:1]\n    K, C ="
)
weights_change_dy = weights(
    "weights_change_dy", "    return", "    dy[0, 0, 0, 0] += 1\n    return"
)
rows_not_turned = weights("rows_not_turned", "dy_rows.T", "dy_rows")
weights_channels_last = weights(
    "weights_channels_last", "return dw", "return np.moveaxis(dw, 1, 3).reshape(K, C, R, S)"
)
bias_of_the_first_row = weights("bias_of_the_first_row", "dy_rows.sum(axis=0)", "dy_rows[0]")
bias_of_each_row = weights("bias_of_each_row", "axis=0", "axis=1")


def weights_by_library(dy, x, R, S, stride=1, padding=0):
    from labkit import reference

    w = np.zeros((dy.shape[1], x.shape[1], R, S))
    return reference.conv2d_backward(dy, x, w, stride, padding)[1:]


right_weights = solution("gpu.conv2d_backward_weights")
_KEPT_DB = {}


def weights_keep_db(dy, x, R, S, stride=1, padding=0):
    dw, db = right_weights(dy, x, R, S, stride, padding)
    return dw, _KEPT_DB.setdefault((dy.shape, x.shape, R, S, stride, padding), db)


weights_of_two_images = weights(
    "weights_of_two_images",
    "dw = (dy_rows.T @ cols).",
    "two = 2 * len(cols) // len(x)\n    dw = (dy_rows[:two].T @ cols[:two]).",
)
weights_in_half_the_digits = weights(
    "weights_in_half_the_digits", "return dw", 'return dw.astype("float32")'
)


def weights_of_remembered_windows(dy, x, R, S, stride=1, padding=0):
    return right_weights(dy, x, R, S, *_HOW.setdefault((dy.shape, x.shape), (stride, padding)))


def weights_tap_by_tap(dy, x, R, S, stride=1, padding=0):
    framed = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    K, P, Q = dy.shape[1:]
    dw = np.empty((K, x.shape[1], R, S), x.dtype)
    for r, s in np.ndindex(R, S):
        seen = framed[:, :, r : r + stride * P : stride, s : s + stride * Q : stride]
        dw[:, :, r, s] = np.einsum("nkpq,ncpq->kc", dy, seen)
    return dw, dy.sum(axis=(0, 2, 3))


# --- gpu.conv2d_backward_input

pixels = partial(edit, "gpu.conv2d_backward_input")


def pixels_by_convolution(dy, w, x_shape, stride=1, padding=0):
    (_, C, R, S), (N, _, P, Q) = w.shape, dy.shape
    taps, edge = w[:, :, ::-1, ::-1], R - 1 - padding
    around = np.pad(dy, ((0, 0), (0, 0), (edge, edge), (edge, edge)))
    H, W = P + 2 * edge - R + 1, Q + 2 * edge - S + 1
    dx = np.zeros((N, C, H, W), dtype=dy.dtype)
    for n, c, h, w_ in np.ndindex(N, C, H, W):
        dx[n, c, h, w_] = np.sum(around[n, :, h : h + R, w_ : w_ + S] * taps[:, c])
    return dx


pixels_read_rsc = pixels(
    "pixels_read_rsc",
    "reshape(N, P, Q, C, R, S)",
    "reshape(N, P, Q, R, S, C)",
    ("dcols[..., r, s]", "dcols[:, :, :, r, s]"),
)
pixels_in_float64 = pixels("pixels_in_float64", ", dtype=dy.dtype", "")
overwrites = pixels("overwrites", "+= dcols", "= dcols")
crops_at_zero = pixels("crops_at_zero", "padding : padding + H, padding : padding + W", ":H, :W")
flips_the_kernel = pixels("flips_the_kernel", "w.reshape", "w[:, :, ::-1, ::-1].reshape")
one_output_channel = pixels(
    "one_output_channel", "    N, C, H", "    dy, w = dy[:, :1], w[:1]\n    N, C, H"
)
input_changes_dy = pixels("input_changes_dy", "    return", "    dy -= 1\n    return")
share_as_it_is = pixels("share_as_it_is", ".transpose(0, 3, 1, 2)", "")
axes_as_on_the_way_there = pixels("axes_as_on_the_way_there", "(0, 3, 1, 2)", "(0, 2, 3, 1)")
column_before_row = pixels("column_before_row", "dcols[..., r, s]", "dcols[..., s, r]")
share_with_rows_and_columns_turned = pixels(
    "share_with_rows_and_columns_turned", "(0, 3, 1, 2)", "(0, 3, 2, 1)"
)
columns_before_rows = pixels(
    "columns_before_rows", "dx[:, :, down, right]", "dx[:, :, right, down]"
)
steps_of_one = pixels(
    "steps_of_one", "r + stride * P, stride", "r + P", ("s + stride * Q, stride", "s + Q")
)


def input_by_library(dy, w, x_shape, stride=1, padding=0):
    import labkit.reference as ours

    return ours.conv2d_backward(dy, np.zeros(x_shape), w, stride, padding)[0]


right_pixels = solution("gpu.conv2d_backward_input")
_KEPT_DX = {}


def input_adds_to_what_it_keeps(dy, w, x_shape, stride=1, padding=0):
    key = dy.shape, w.shape, x_shape, stride, padding
    _KEPT_DX[key] = _KEPT_DX.get(key, 0) + right_pixels(dy, w, x_shape, stride, padding)
    return _KEPT_DX[key]


shares_of_stride_two = pixels(
    "shares_of_stride_two", "    for r, s in", "    stride = min(stride, 2)\n    for r, s in"
)
shares_with_a_stride_down = pixels("shares_with_a_stride_down", "s + stride * Q, stride", "s + Q")
shares_with_a_stride_right = pixels("shares_with_a_stride_right", "r + stride * P, stride", "r + P")
shares_in_half_the_digits = pixels("shares_in_half_the_digits", "dtype=dy.dtype", 'dtype="float32"')
shares_reshaped = pixels(
    "shares_reshaped", "[..., r, s].transpose(0, 3, 1, 2)", "[..., r, s].reshape(N, C, P, Q)"
)


def shares_of_remembered_windows(dy, w, x_shape, stride=1, padding=0):
    how = _HOW.setdefault((dy.shape, w.shape, x_shape), (stride, padding))
    return right_pixels(dy, w, x_shape, *how)


def all_places(dy, w, x_shape, stride, padding):
    (N, C, H, W), (P, Q), (R, S) = x_shape, dy.shape[2:], w.shape[2:]
    dx = np.zeros((N, C, H + 2 * padding, W + 2 * padding), dy.dtype)
    _, (down, right) = places_of(
        dx[:, :, : stride * (P - 1) + R, : stride * (Q - 1) + S], R, S, stride
    )
    return dx, down, right, np.einsum("nkpq,kcrs->ncpqrs", dy, w)


def cropped(dx, x_shape, padding):
    return dx[:, :, padding : padding + x_shape[2], padding : padding + x_shape[3]]


def each_place_once(dy, w, x_shape, stride=1, padding=0):
    dx, down, right, shares = all_places(dy, w, x_shape, stride, padding)
    dx[:, :, down, right] += shares
    return cropped(dx, x_shape, padding)


def added_at_all_places(dy, w, x_shape, stride=1, padding=0):
    dx, down, right, shares = all_places(dy, w, x_shape, stride, padding)
    np.add.at(dx, (slice(None), slice(None), down, right), shares)
    return cropped(dx, x_shape, padding)


def window_by_window_back(dy, w, x_shape, stride=1, padding=0):
    dx = np.zeros(x_shape, dy.dtype)
    for p, q, r, s in np.ndindex(*dy.shape[2:], *w.shape[2:]):
        h, v = p * stride + r - padding, q * stride + s - padding
        if 0 <= h < x_shape[2] and 0 <= v < x_shape[3]:
            dx[:, :, h, v] += dy[:, :, p, q] @ w[:, :, r, s]
    return dx


PLANTED = {
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
        (in_turn_of_two_images, "180 of 540 elements are wrong"),
        (direct_in_half_the_digits, "y is made as float32"),
        (stride_downwards_alone, "The stride is used for the rows alone"),
        (stride_to_the_right_alone, "The stride is used for the columns alone"),
        (as_large_as_the_step, "The window is stride pixels high and wide"),
        (as_wide_as_high, "The window has as many rows as columns"),
        (direct_remembers_stride_and_padding, "Stride and padding are those of an earlier call"),
        (direct_adds_to_what_it_keeps, "the results of earlier calls are added"),
        (direct_clears_x, "changes its input x"),
        (direct_by_library, "torch"),
        (direct_in_float64, "has dtype float64; it should be float32"),
        (direct_one_inside, "The 1 is added before the division"),
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
        (rows_of_stride_two, "Every stride above 1 is taken for 2"),
        (rows_with_a_stride_down, "The stride is used for the rows alone"),
        (rows_with_a_stride_right, "The stride is used for the columns alone"),
        (rows_by_remembered_places, "The stride is that of an earlier call"),
        (rows_of_remembered_windows, "Stride and padding are those of an earlier call"),
        (im2col_keeps_its_rows, "kept from one call to the next"),
        (im2col_clears_x, "changes its input x"),
        (im2col_by_library, "sliding_window_view"),
        (rows_in_float64, "has dtype float64; it should be float32"),
        (rows_one_inside, "The 1 is added before the division"),
        (rows_as_many_across, "Q is computed as P is"),
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
        (weights_of_two_images, "dy counts up to the first 2 entries along axis 0"),
        (weights_in_half_the_digits, "dw is made as float32"),
        (weights_of_remembered_windows, "Stride and padding are those of an earlier call"),
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
        (shares_of_stride_two, "Every stride above 1 is taken for 2"),
        (shares_with_a_stride_down, "The stride is used for the rows alone"),
        (shares_with_a_stride_right, "The stride is used for the columns alone"),
        (shares_in_half_the_digits, "dx is added up in float32"),
        (shares_reshaped, "reshaped to N, C, P, Q without being transposed"),
        (each_place_once, "Where windows overlap, only one share arrives"),
        (shares_of_remembered_windows, "Stride and padding are those of an earlier call"),
        (input_adds_to_what_it_keeps, "the results of earlier calls are added"),
        (input_changes_dy, "changes its input dy"),
        (input_by_library, "labkit.reference"),
        (pixels_in_float64, "has dtype float64; it should be float32"),
        (pixels_read_rsc, "read in the order r, s, c"),
        (pixels_by_convolution, "A convolution of dy with the flipped kernel"),
    ],
}

# A bias of zero hides a forgotten bias, sizes of 1 a wrong order of axes, and the first call of all
# what is kept.
_X, _W, _DY = np.ones((1, 1, 3, 3)), np.ones((2, 1, 2, 2)), np.ones((1, 2, 2, 2))
_ONE = np.ones((1, 1, 1, 1))
RIGHT_ON = {
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
ALSO_RIGHT = {
    "gpu.conv2d_direct": [output_by_output, all_windows_at_once],
    "gpu.im2col": [window_by_window, rows_by_index],
    "gpu.conv2d_backward_weights": [weights_tap_by_tap],
    "gpu.conv2d_backward_input": [window_by_window_back, added_at_all_places],
}
