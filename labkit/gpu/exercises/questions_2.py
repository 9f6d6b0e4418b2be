"""Predictions and quiz of lesson 01_gpu/2_threads_blocks_and_memory."""

from labkit.checks.exercise import Prediction, Quiz

PREDICTIONS = [
    Prediction(
        "gpu.column_bytes",
        "A warp reads 32 floats of one column. How many bytes does memory move per byte used?",
        "B per B",
        low=1,
        high=1e6,
    ),
    Prediction(
        "gpu.divergent_lanes",
        "Even threads take one side of an `if`, odd threads the other. What percentage of the "
        "lanes works, on average, inside the `if`?",
        "%",
        low=0,
        high=100,
    ),
    Prediction(
        "gpu.column_passes",
        "A warp reads a column of a 32 x 32 float32 tile in shared memory. How many passes?",
        "passes",
        low=1,
        high=1e6,
    ),
]

QUIZZES = [
    Quiz(
        "gpu.quiz_2_grid",
        "A kernel needs 1,000 threads, the blocks have 128. How many blocks are launched, and how "
        "many threads have nothing to do?",
        {"a": "7 blocks, none", "b": "8 blocks, 24", "c": "8 blocks, 128", "d": "1,000 blocks, 24"},
        "b",
        {
            "a": "7 x 128 = 896: the last 104 elements would stay unwritten.",
            "b": "8 x 128 = 1,024, and 24 of them fail the guard.",
            "c": "All blocks have work; only the end of the last one has none.",
            "d": "A block holds 128 threads, so far fewer blocks are needed.",
        },
    ),
    Quiz(
        "gpu.quiz_2_sectors",
        "A is a row-major float32 matrix, 1,024 x 1,024. Which access of a warp moves the fewest "
        "sectors? `t` is the lane, 0 to 31.",
        {"a": "A[t, 5]", "b": "A[5, 2 * t]", "c": "A[5, 31 - t]", "d": "A[t, t]"},
        "c",
        {
            "a": "Every lane is in another row: 32 sectors.",
            "b": "64 floats span the request: 8 sectors, half of each unused.",
            "c": "The order of the lanes does not matter: the 32 floats lie in 4 sectors.",
            "d": "Every lane is in another row: 32 sectors.",
        },
    ),
    Quiz(
        "gpu.quiz_2_barrier",
        "Which place for `cuda.syncthreads()` is safe?",
        {
            "a": "inside `if tid < step:`, after the addition",
            "b": "after an early `return` of the threads without work",
            "c": "in a loop whose number of rounds is the same for the whole block",
        },
        "c",
        {
            "a": "The threads at or above `step` never come there.",
            "b": "Those that returned never come there.",
            "c": "Every thread of the block passes it equally often.",
        },
    ),
]
