"""Wrong solutions of lesson what_stays_in_float32, as a learner would write them."""

from functools import partial

import numpy as np

from labkit.tpu.bfloat16 import round_to_bfloat16 as rounds
from labkit_lessons.tpu.what_stays_in_float32.formats import to_e4m3
from tests.exercises.edits import edit, solution

KEPT = {}  # what answers keep from call to call

# --- tpu.mixed_precision_step

edited = partial(edit, "tpu.mixed_precision_step")
mixed_update_of_its_own = edited(
    "mixed_update_of_its_own",
    "    master = master - np.float32(lr) * gradient\n    copy = round_to_bfloat16(master)",
    "    update = np.float32(lr) * gradient\n"
    "    copy = round_to_bfloat16(master) - round_to_bfloat16(update)\n"
    "    master = master - update",
)
COPY = "round_to_bfloat16(master)"
UPDATE = "np.float32(lr) * gradient"
mixed_from_the_copy = edited("mixed_from_the_copy", "= master -", f"= {COPY} -")
mixed_narrow_master = edited("mixed_narrow_master", "return master, copy", "return copy, copy")
mixed_narrow_update = edited("mixed_narrow_update", UPDATE, f"round_to_bfloat16({UPDATE})")
mixed_narrow_gradient = edited(
    "mixed_narrow_gradient", "* gradient", "* round_to_bfloat16(gradient)"
)
mixed_narrow_rate = edited(
    "mixed_narrow_rate", "np.float32(lr)", "round_to_bfloat16(np.float32([lr]))"
)
mixed_without_rate = edited("mixed_without_rate", UPDATE, "gradient")
mixed_uphill = edited("mixed_uphill", "= master -", "= master +")
mixed_no_copy = edited("mixed_no_copy", COPY, "master.copy()")
mixed_copy_of_the_gradient = edited(
    "mixed_copy_of_the_gradient", COPY, "round_to_bfloat16(gradient)"
)
mixed_cut_copy = edited(
    "mixed_cut_copy", COPY, "(master.view(np.uint32) & 0xFFFF0000).view(np.float32)"
)
mixed_by_way_of_float16 = edited("mixed_by_way_of_float16", COPY, f"np.float32(np.float16({COPY}))")
mixed_in_place = edited("mixed_in_place", "master = master -", "master -=")


def mixed_all_narrow(master, gradient, lr):
    weight = rounds(master)
    weight = rounds(weight - np.float32(lr) * gradient)
    return weight, weight


def mixed_old_copy(master, gradient, lr):
    return master - np.float32(lr) * gradient, rounds(master)


def mixed_nothing_wide(master, gradient, lr):
    update = rounds(rounds(np.float32([lr])) * rounds(gradient))
    weight = rounds(rounds(master) - update)
    return weight, weight


def mixed_two_steps(master, gradient, lr):
    update = np.float32(lr) * gradient
    return master - update, rounds(rounds(master) - update)


def mixed_with_a_kept_rate(master, gradient, lr):
    lr = KEPT.setdefault(("rate", master.shape), lr)
    new = master - np.float32(lr) * gradient
    return new, rounds(new)


def mixed_in_float64(master, gradient, lr):
    new = master - lr * gradient.astype(float)
    return new, rounds(new.astype(np.float32))


def mixed_by_python(master, gradient, lr):
    new = (master - lr * gradient.astype(float)).astype(np.float32)
    return [new, rounds(new)]


def mixed_by_torch(master, gradient, lr):
    import torch

    new = torch.from_numpy(master) - lr * torch.from_numpy(gradient)
    return new.numpy(), new.bfloat16().float().numpy()


# --- tpu.stochastic_round

by_chance = solution("tpu.stochastic_round")
edited = partial(edit, "tpu.stochastic_round")
SUM = "(bits + noise)"
chance_not_cut = edited("chance_not_cut", f"{SUM} & 0xFFFF0000", SUM)
chance_without_noise = edited("chance_without_noise", SUM, "bits")
chance_to_nearest_as_well = edited("chance_to_nearest_as_well", SUM, "(bits + noise + 0x8000)")
chance_subtracted = edited("chance_subtracted", SUM, "(bits - noise)")
chance_in_the_upper_half = edited("chance_in_the_upper_half", SUM, "(bits + (noise << 16))")
chance_cut_too_soon = edited(
    "chance_cut_too_soon", f"{SUM} & 0xFFFF0000", "(bits & 0xFFFF0000) + noise"
)
chance_of_the_lower_half = edited("chance_of_the_lower_half", "& 0xFFFF0000", ">> 16")
chance_as_a_count = edited("chance_as_a_count", "rounded.view", "rounded.astype")


def chance_by_comparing(x, noise):
    upper, lower = x.view(np.uint32) >> 16, x.view(np.uint32) & 0xFFFF
    return ((upper + (noise < lower)) << 16).astype(np.uint32).view(np.float32)


def chance_by_sign(x, noise):
    noise = np.where(x < 0, 0xFFFF - noise, noise).astype(np.uint32)
    return by_chance(x, noise)


def chance_of_a_coin(x, noise):
    upper = x.view(np.uint32) >> 16
    return ((upper + (noise >= 1 << 15)) << 16).astype(np.uint32).view(np.float32)


def chance_to_nearest(x, noise):
    return rounds(x)


source = np.random.default_rng(0)


def chance_of_its_own(x, noise):
    own = source.integers(0, 0x10000, x.shape, dtype=np.uint32)
    return by_chance(x, own)


def chance_kept(x, noise):
    noise = KEPT.setdefault(("noise", x.shape), noise.copy())
    return by_chance(x, noise)


def chance_in_float64(x, noise):
    return by_chance(x, noise).astype(float)


def chance_in_place(x, noise):
    x[:] = by_chance(x, noise)
    return x


def chance_by_torch(x, noise):
    import torch

    bits = torch.from_numpy(x.view(np.int32).astype(np.int64)) + torch.from_numpy(noise.astype(int))
    return (bits.numpy() & 0xFFFF0000).astype(np.uint32).view(np.float32)


def chance_by_values(x, noise):
    down = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    step = (down.view(np.uint32) + np.uint32(0x10000)).view(np.float32) - down
    share = (x.astype(float) - down) / step  # exact: 16 bits
    return np.where(share + noise / 65536 >= 1, down + step, down)


# --- tpu.scale_to_fp8

scaled = solution("tpu.scale_to_fp8")
edited = partial(edit, "tpu.scale_to_fp8")
LIMITED = "np.clip(x / scale, -448, 448)"
scale_of_the_last = edited("scale_of_the_last", "max(amaxes)", "amaxes[-1]")
scale_of_the_first = edited("scale_of_the_first", "max(amaxes)", "amaxes[0]")
scale_of_the_mean = edited("scale_of_the_mean", "max(amaxes)", "np.mean(amaxes)")
scale_of_x_itself = edited("scale_of_x_itself", "max(amaxes)", "np.max(abs(x))")
scale_without_a_limit = edited("scale_without_a_limit", LIMITED, "x / scale")
scale_with_one_limit = edited("scale_with_one_limit", LIMITED, "np.minimum(x / scale, 448)")
scale_limited_too_soon = edited("scale_limited_too_soon", LIMITED, "np.clip(x, -448, 448) / scale")
scale_turned_round = edited("scale_turned_round", "return q, scale", "return q, 1 / scale")
scale_times_x = edited("scale_times_x", "x / scale", "x * scale")
scale_taken_back = edited("scale_taken_back", "return q, scale", "return q * scale, scale")
scale_without_rounding = edited("scale_without_rounding", f"to_e4m3({LIMITED})", LIMITED)
scale_of_bytes = edited("scale_of_bytes", "largest / 448", "largest / 127")
scale_of_e5m2 = edited("scale_of_e5m2", "largest / 448", "largest / 57344")
scale_of_nothing = edited(
    "scale_of_nothing", "largest / 448 if largest > 0 else 1", "largest / 448"
)


def scale_without_x(x, amaxes):
    _, scale = scaled(x, amaxes)
    return to_e4m3(np.clip(x, -448, 448)), scale


def scale_kept(x, amaxes):
    amaxes = KEPT.setdefault(("amaxes", x.shape), amaxes.copy())
    return scaled(x, amaxes)


def scale_of_now_and_before(x, amaxes):
    return scaled(x, np.append(amaxes, abs(x).max()))


def scale_of_three(x, amaxes):
    return scaled(x, amaxes[:3])


def scale_in_whole_numbers(x, amaxes):
    _, scale = scaled(x, amaxes)
    return np.rint(np.clip(x / scale, -448, 448)), scale


def scale_as_a_byte(x, amaxes):
    q, scale = scaled(x, amaxes)
    return q.astype(np.int16), scale


def scale_in_place(x, amaxes):
    q, scale = scaled(x, amaxes)
    x[:] = q
    return x, scale


def scale_by_ml_dtypes(x, amaxes):
    import ml_dtypes

    _, scale = scaled(x, amaxes)
    q = np.clip(x / scale, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    return q.astype(np.float32), scale


def scale_by_torch(x, amaxes):
    import torch

    scale = torch.tensor(amaxes).max() / 448
    return scaled(x, amaxes)[0], float(scale)


def scale_in_python(x, amaxes):
    largest = float(np.max(amaxes))
    scale = largest / 448 or 1.0
    wide = x.astype(float) / scale
    return [to_e4m3(np.maximum(np.minimum(wide, 448), -448)), scale]


PLANTED = {
    "tpu.mixed_precision_step": [
        (mixed_all_narrow, "The master is kept in bfloat16"),
        (mixed_nothing_wide, "All of it is in bfloat16"),
        (mixed_narrow_rate, "The learning rate is rounded"),
        (mixed_cut_copy, "The copy is cut off"),
        (mixed_copy_of_the_gradient, "The copy is that of the gradient"),
        (mixed_two_steps, "a step of its own"),
        (mixed_from_the_copy, "The update starts from the rounded copy"),
        (mixed_narrow_master, "What is returned as the master is rounded"),
        (mixed_narrow_update, "The update is rounded before"),
        (mixed_narrow_gradient, "The gradient is rounded"),
        (mixed_without_rate, "The learning rate is missing"),
        (mixed_no_copy, "The copy is not rounded"),
        (mixed_uphill, "The step goes up the gradient"),
        (mixed_old_copy, "The copy is made of the old master"),
        (mixed_with_a_kept_rate, "The learning rate of an earlier call"),
        (mixed_in_float64, "master has dtype float64"),
        (mixed_by_way_of_float16, "copy[0, 0] is"),
        (mixed_in_place, "changes its input master"),
        (mixed_by_torch, "torch"),
        (mixed_update_of_its_own, "The copy gets an update of its own"),
    ],
    "tpu.stochastic_round": [
        (chance_not_cut, "The lower 16 bits are still there"),
        (chance_without_noise, "The noise decides nothing"),
        (chance_kept, "something is kept from one call"),
        (chance_by_torch, "torch"),
        (chance_to_nearest_as_well, "Half a step is added besides"),
        (chance_subtracted, "The noise is taken away"),
        (chance_in_the_upper_half, "The noise is added to the upper half"),
        (chance_cut_too_soon, "The cut comes before the noise"),
        (chance_of_the_lower_half, "in the lower half of the bits"),
        (chance_as_a_count, "converted as if they were a count"),
        (chance_by_comparing, "other noise"),
        (chance_by_sign, "Negative numbers go the other way"),
        (chance_of_a_coin, "The noise alone decides"),
        (chance_to_nearest, "This is the nearest bfloat16"),
        (chance_of_its_own, "two calls with the same arguments give different results"),
        (chance_in_float64, "rounded has dtype float64"),
        (chance_in_place, "changes its input x"),
    ],
    "tpu.scale_to_fp8": [
        (scale_of_the_last, "of the last step alone"),
        (scale_of_now_and_before, "a say in the scale"),
        (scale_of_x_itself, "The scale is that of x"),
        (scale_in_place, "changes its input x"),
        (scale_by_ml_dtypes, "ml_dtypes"),
        (scale_of_the_first, "of the first step alone"),
        (scale_of_the_mean, "the mean of the steps"),
        (scale_without_a_limit, "is not cut off"),
        (scale_with_one_limit, "Negative numbers"),
        (scale_limited_too_soon, "before they are divided"),
        (scale_turned_round, "The scale is upside down"),
        (scale_times_x, "multiplied by the scale"),
        (scale_taken_back, "q was scaled back"),
        (scale_without_rounding, "q is not rounded"),
        (scale_of_bytes, "lands on 127"),
        (scale_of_e5m2, "lands on 57,344"),
        (scale_without_x, "x is rounded without the scale"),
        (scale_kept, "something is kept from one call"),
        (scale_of_nothing, "x is divided by 0"),
        (scale_of_three, "amaxes counts up to the first 3"),
        (scale_in_whole_numbers, "to whole numbers"),
        (scale_as_a_byte, "q holds integers"),
        (scale_by_torch, "torch"),
    ],
}

_STEP = np.float32([1.5, 2.5]), np.zeros(2, np.float32), 0.5
_NONE = np.float32([1.5, -0.375]), np.zeros(2, np.uint32)  # exact, and no noise
_SEEN = np.float32([448, 2, 0, -6]), np.float32([448, 448])  # the scale is 1
RIGHT_ON = {
    mixed_update_of_its_own: (np.ones(3, np.float32), np.zeros(3, np.float32), 0.5),
    mixed_with_a_kept_rate: (*_STEP[:2], 0.25),
    mixed_uphill: _STEP,
    mixed_old_copy: _STEP,
    mixed_all_narrow: _STEP,
    mixed_nothing_wide: _STEP,
    mixed_narrow_rate: _STEP,
    mixed_cut_copy: _STEP,
    mixed_copy_of_the_gradient: (np.float32([0, 0]), np.zeros(2, np.float32), 0.5),
    mixed_two_steps: _STEP,
    mixed_from_the_copy: _STEP,
    mixed_narrow_master: _STEP,
    mixed_narrow_update: _STEP,
    mixed_narrow_gradient: _STEP,
    mixed_without_rate: _STEP,
    mixed_no_copy: _STEP,
    chance_not_cut: _NONE,
    chance_without_noise: _NONE,
    chance_kept: _NONE,
    chance_to_nearest_as_well: _NONE,
    chance_subtracted: _NONE,
    chance_in_the_upper_half: _NONE,
    chance_cut_too_soon: _NONE,
    chance_by_comparing: _NONE,
    chance_of_the_lower_half: (np.zeros(3, np.float32), np.zeros(3, np.uint32)),
    chance_as_a_count: (np.zeros(3, np.float32), np.zeros(3, np.uint32)),
    chance_by_sign: (np.float32([1.5, 0.375]), np.zeros(2, np.uint32)),
    chance_of_a_coin: _NONE,
    chance_to_nearest: _NONE,
    scale_of_the_last: _SEEN,
    scale_of_x_itself: _SEEN,
    scale_of_now_and_before: _SEEN,
    scale_of_the_first: _SEEN,
    scale_of_the_mean: _SEEN,
    scale_without_a_limit: _SEEN,
    scale_with_one_limit: _SEEN,
    scale_limited_too_soon: _SEEN,
    scale_turned_round: _SEEN,
    scale_times_x: _SEEN,
    scale_taken_back: _SEEN,
    scale_without_rounding: _SEEN,
    scale_without_x: _SEEN,
    scale_kept: _SEEN,
    scale_of_nothing: _SEEN,
    scale_of_three: _SEEN,
    scale_in_whole_numbers: _SEEN,
}

ALSO_RIGHT = {
    "tpu.mixed_precision_step": [mixed_by_python],
    "tpu.stochastic_round": [chance_by_values],
    "tpu.scale_to_fp8": [scale_in_python],
}
