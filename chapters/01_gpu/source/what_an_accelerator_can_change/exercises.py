"""The exercises of lesson what_an_accelerator_can_change: what a layer costs, and how long."""

import numpy as np

from labkit.checks.lesson_files import FLOAT64, LIBRARIES, by_own_name, cases_of, costs, exercise
from labkit.convolutions import TELLING_SIZES
from labkit_lessons.gpu.what_an_accelerator_can_change.wrong import layer_cost as wrong_cost
from labkit_lessons.gpu.what_an_accelerator_can_change.wrong import least_time as wrong_time

# gpu.layer_cost: x[N,C,H,W], w[K,C,R,S], b[K], y[N,K,P,Q] -> FLOP, bytes

NUMBERS = ("float32", "float64", "float16")  # in turn: numbers of 4, 8 and 2 bytes


def whole_numbers(rng: np.random.Generator, shape: tuple, dtype: str) -> np.ndarray:
    """Whole numbers of both signs, no two alike, small enough for float16."""
    count = int(np.prod(shape))
    return (rng.permutation(count) - count // 2).reshape(shape).astype(dtype)


def layer_arrays(rng, x_shape, w_shape, y_shape, dtype):
    """x, w, b, y."""
    return tuple(
        whole_numbers(rng, shape, dtype) for shape in (x_shape, w_shape, w_shape[:1], y_shape)
    )


layer_cost = exercise(
    "gpu.layer_cost",
    oracle=lambda x, w, b, y: (wrong_cost.right_flops(x, w, y), wrong_cost.right_bytes(x, w, b, y)),
    cases=cases_of(
        {
            name: (sizes.x, sizes.w, sizes.y, NUMBERS[turn % len(NUMBERS)])
            for turn, (name, sizes) in enumerate(TELLING_SIZES.items())
        },
        layer_arrays,
    ),
    wrong=by_own_name(
        wrong_cost.one_for_each_multiply_add,
        wrong_cost.all_kernels_for_each_output,
        wrong_cost.one_channel,
        wrong_cost.one_tap,
        wrong_cost.one_multiply_add,
        wrong_cost.places_of_the_image,
        wrong_cost.every_number_with_every_weight,
        wrong_cost.one_image,
        wrong_cost.bias_added,
        made=wrong_cost.with_flops,
    )
    | by_own_name(
        wrong_cost.numbers_for_bytes,
        wrong_cost.four_bytes,
        wrong_cost.without_y,
        wrong_cost.without_w,
        wrong_cost.without_b,
        wrong_cost.w_for_each_image,
        wrong_cost.windows_for_x,
        wrong_cost.y_twice,
        made=wrong_cost.with_bytes,
    ),
    outputs=("flops", "moved"),
    forbidden=LIBRARIES,
    cost=costs(
        ("conv2 forwards, 32 images", 2 * 32 * 64 * 256 * 288, "FLOP", "2 per multiply-add"),
        ("its bytes", 4 * (32 * 32 * 256 + 64 * 288 + 64 + 32 * 64 * 256), "B", "4 per number"),
    ),
)

# gpu.least_time: flops[L], moved[L], peak, bandwidth -> seconds


def layers_and_machine(rng: np.random.Generator, L: int) -> tuple:
    """flops, moved, peak, bandwidth: layers on both sides of the ridge, the first one far left."""
    peak = float(rng.uniform(50, 500))
    bandwidth = float(rng.uniform(5, 50))
    moved = rng.uniform(10, 1000, L)
    side = np.exp(rng.uniform(0.3, 3, L) * np.resize([-1, 1, 1, -1], L))
    flops = moved * side * peak / bandwidth
    return flops, moved, peak, bandwidth


def one_right_of_the_ridge(rng: np.random.Generator, L: int) -> tuple:
    """The same, but all layers wait for arithmetic."""
    flops, moved, peak, bandwidth = layers_and_machine(rng, L)
    return flops + 2 * moved * peak / bandwidth, moved, peak, bandwidth


def either(rng: np.random.Generator, L: int, arithmetic: bool = False) -> tuple:
    """Layers of both kinds, or of one."""
    return (one_right_of_the_ridge if arithmetic else layers_and_machine)(rng, L)


least_time = exercise(
    "gpu.least_time",
    oracle=wrong_time.right,
    cases=cases_of(
        {
            "prime": (7,),
            "one layer": (1,),
            "two layers": (2,),
            "one layer that computes": (1, True),
            "ragged": (33,),
            "many": (200,),
        },
        either,
    ),
    wrong=by_own_name(
        wrong_time.totals_first,
        wrong_time.pythons_max,
        wrong_time.one_after_the_other,
        wrong_time.the_shorter,
        wrong_time.arithmetic_alone,
        wrong_time.memory_alone,
        wrong_time.not_added_up,
        wrong_time.longest_layer,
        wrong_time.mean_of_layers,
        wrong_time.roofs_changed_over,
        wrong_time.multiplied,
    ),
    outputs=("seconds",),
    forbidden=LIBRARIES,
    **FLOAT64,
)

EXERCISES = [layer_cost, least_time]
