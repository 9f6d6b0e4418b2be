"""The exercises of the lesson: a layer column by column, its weights' order, and a queue's size.

Dense: an order of columns or weights is a shape, and a line names all of its axes.
"""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit.fpga.judging.given_modules import COLUMN_COUNTER
from labkit.fpga.judging.rtl_exercise import Drive, rtl_exercise
from labkit_lessons.fpga.the_network_as_a_pipeline.solutions import SOLUTIONS
from labkit_lessons.fpga.the_network_as_a_pipeline.wrong import columns as wrong_columns
from labkit_lessons.fpga.the_network_as_a_pipeline.wrong import queue_depth as wrong_depth

# --- fpga.columns: x int8[images, D], w int8[K, D] -> the sums of each image, int64[images * K]

LAYERS = {  # images, inputs, outputs: few sizes, because each is compiled
    "two images of one weight": (2, 1, 1),  # first, before a second reset is tried
    "one weight": (1, 1, 1),
    "seven images of one weight": (7, 1, 1),
    "the example of the lesson": (1, 3, 2),
    "five images of them": (5, 3, 2),
    "the largest sum": (1, 1100, 1),  # beyond 25 bits
    "many": (2, 11, 133),  # more outputs than any power of two that a slice of k may stop at
}
A_PIPELINE = 3  # cycles that a sum may be on its way, where ours needs one


def layer(rng: np.random.Generator, images: int, D: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of both signs, none of them 0; the ends of the range come first."""
    x = rng.choice(np.setdiff1d(np.arange(-128, 128), 0), (images, D)).astype(np.int8)
    w = rng.choice(np.setdiff1d(np.arange(-128, 128), 0), (K, D)).astype(np.int8)
    x.flat[:2] = (127, -128)[: min(x.size, 2)]
    w.flat[:2] = (-128, 127)[: min(w.size, 2)]
    if D > 1000:
        x[:], w[:] = -128, -128
    return x, w


def drive(x: np.ndarray, w: np.ndarray) -> Drive:
    """The values one by one, and the weights column by column, for each image anew."""
    images, D = x.shape
    K = len(w)
    inputs = {"x": x.reshape(-1, 1), "w": np.tile(w.T.reshape(-1, 1), (images, 1))}
    return Drive(inputs, {"y": images * K}, {"INPUTS": D, "OUTPUTS": K})


columns = rtl_exercise(
    "fpga.columns",
    top="columns",
    solution=SOLUTIONS["fpga.columns"],
    support=[COLUMN_COUNTER],
    drive=drive,
    cases=cases_of(LAYERS, layer),
    oracle=wrong_columns.sums,
    wrong=wrong_columns.WRONG,
    cycles=lambda x, w: len(x) * w.size + A_PIPELINE,
    keeps=1,
    gates={"dsp": 1, "lut": 250, "ff": 150},
    gate_parameters={"INPUTS": 64, "OUTPUTS": 16},
)

# --- fpga.stream_order: w [K, C * H * W], C, H, W -> [H * W * C, K]

MAPS = {  # outputs, channels, rows, columns
    "prime sizes": (7, 5, 3, 2),
    "one weight": (1, 1, 1, 1),
    "the example of the lesson": (2, 2, 1, 2),
    "one channel": (3, 1, 2, 5),
    "one pixel": (5, 7, 1, 1),
    "one output": (1, 3, 2, 2),
    "prime sizes in another order": (7, 2, 5, 3),
    "as many rows as columns": (8, 4, 3, 3),
    "as many of all": (4, 4, 4, 4),
}


def weights(rng: np.random.Generator, K: int, C: int, H: int, W: int) -> tuple:
    """Different weights of both signs; and the sizes of what they are multiplied with."""
    size = K * C * H * W
    w = (rng.permutation(size) - size // 2).astype(np.int16).reshape(K, -1)
    return w, C, H, W


def by_axes(*axes: int):
    """The weights with the axes K, C, H, W (0 to 3) in this order, K last."""

    def ordered(w: np.ndarray, C: int, H: int, W: int) -> np.ndarray:
        return w.reshape(-1, C, H, W).transpose(*axes, 0).reshape(C * H * W, -1)

    return ordered


def outputs_first(w: np.ndarray, C: int, H: int, W: int) -> np.ndarray:
    """All weights of output 0 first, then those of output 1: words in another order."""
    rows = w.reshape(-1, C, H, W).transpose(0, 2, 3, 1)
    return rows.reshape(C * H * W, -1)


def outputs_between(w: np.ndarray, C: int, H: int, W: int) -> np.ndarray:
    """In each pixel, all channels of output 0 first."""
    return w.reshape(-1, C, H, W).transpose(2, 3, 0, 1).reshape(C * H * W, -1)


def already_pixels(w: np.ndarray, C: int, H: int, W: int) -> np.ndarray:
    """As if the weights already came pixel by pixel, and should go to channel by channel."""
    return w.reshape(-1, H, W, C).transpose(3, 1, 2, 0).reshape(C * H * W, -1)


def sizes_exchanged(w: np.ndarray, C: int, H: int, W: int) -> np.ndarray:
    """As if a column of w went row by row, and in a row channel by channel."""
    return w.reshape(-1, H, C, W).transpose(1, 3, 2, 0).reshape(H * W * C, -1)


stream_order = exercise(
    "fpga.stream_order",
    oracle=by_axes(2, 3, 1),
    cases=cases_of(MAPS, weights),
    wrong={
        "not_reordered": by_axes(1, 2, 3),
        "columns_first": by_axes(3, 2, 1),
        "channel_between": by_axes(2, 1, 3),
        "outputs_first": outputs_first,
        "outputs_between": outputs_between,
        "as_it_is": lambda w, C, H, W: w.reshape(C * H * W, -1),
        "already_pixels": already_pixels,
        "sizes_exchanged": sizes_exchanged,
    },
    forbidden=(*LIBRARIES, "labkit.fpga"),
    dtype="any",
)

# --- fpga.queue_depth: arrivals [n], work -> how many values the queue must hold

BURSTS = {  # how many values, the gaps between them in turn, and the work on each
    "one value": (1, [1], 3),
    "a burst of four": (4, [1], 2),
    "as fast as they come": (7, [3], 3),
    "faster than they come": (5, [4], 3),
    "a prime number": (11, [2], 5),
    "two bursts with a rest": (11, [1, 1, 1, 1, 1, 30], 5),
    "deepest in the middle": (23, [1, 1, 1, 1, 1, 1, 1, 1, 25, 2, 3], 4),
    "a row of pixels": (48, [4, 4, 4, 4, 4, 4, 4, 36], 16),
    "work of one cycle": (11, [1, 2], 1),
    "many": (200, [1, 2, 1, 7, 1], 3),
}


def bursts(rng: np.random.Generator, n: int, gaps: list[int], work: int) -> tuple:
    """The cycles in which n values come; the first of them varies."""
    steps = np.resize(gaps, n)
    steps[0] = rng.integers(0, 50)
    return np.cumsum(steps), work


def deepest(arrivals: np.ndarray, work: int) -> int:
    """Cycle by cycle: how many values lie in the queue at most; for any work and any order."""
    coming = [int(cycle) for cycle in arrivals]
    queue, left, most, cycle = 0, 0, 0, coming[0]
    while coming:
        if queue:
            left = (left or work) - 1
            queue -= left == 0
        while coming and coming[0] <= cycle:
            coming.pop(0)
            queue += 1
        most = max(most, queue)
        cycle += 1
    return most


FIRST_DEPTH = {}  # how many values, work -> the depth of the first such case
for n, gaps, work in BURSTS.values():
    FIRST_DEPTH.setdefault((n, work), deepest(np.cumsum(np.resize(gaps, n)), work))

queue_depth = exercise(
    "fpga.queue_depth",
    oracle=deepest,
    cases=cases_of(BURSTS, bursts),
    wrong={
        "remembered": lambda arrivals, work: FIRST_DEPTH[len(arrivals), work],
        "one_too_few": lambda arrivals, work: max(deepest(arrivals, work) - 1, 1),
        **by_own_name(
            wrong_depth.nobody_takes,
            wrong_depth.leaves_at_once,
            wrong_depth.never_idle,
            wrong_depth.from_cycle_0,
            wrong_depth.never_waits,
            wrong_depth.at_the_end,
            wrong_depth.average,
            wrong_depth.same_cycle,
            wrong_depth.stays_longer,
            wrong_depth.longest_wait,
            wrong_depth.rounded_down,
            wrong_depth.when_they_leave,
        ),
    },
    forbidden=(*LIBRARIES, "labkit.fpga"),
    dtype="any",
)

EXERCISES = [columns, stream_order, queue_depth]
