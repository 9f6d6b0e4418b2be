"""Exercise tpu.dataflows: M, K, N [n], rows, cols -> cycles [n] of each dataflow: ws, is, os."""

from labkit.checks.lesson_files import by_own_name, exercise
from labkit_lessons.tpu.what_a_grid_costs.exercises.cycles import FORBIDDEN, count, cycle_cases
from labkit_lessons.tpu.what_a_grid_costs.wrong import dataflows as wrong_flow


def flows(M, K, N, rows, cols):
    """The cycles of one tile after the other, for what streams, lies down and lies across."""
    weights_stay = count(M, K, N, rows, cols)
    inputs_stay = count(N, K, M, rows, cols)
    drain = rows
    through = K + rows + cols - 2
    tiles = -(-M // rows) * -(-N // cols)
    return weights_stay, inputs_stay, (through + drain) * tiles


dataflows = exercise(
    "tpu.dataflows",
    oracle=flows,
    cases=cycle_cases,
    wrong={
        "all_alike": wrong_flow.with_places(inputs="MKN", sums="MKN"),
        "only_the_stream": wrong_flow.with_places(inputs="NKN", sums="KKN"),
        "exchanged": wrong_flow.with_places(inputs="KMN", sums="NKM"),
        "inputs_lie_across": wrong_flow.with_places(inputs="NMK"),
        "sums_lie_across": wrong_flow.with_places(sums="KNM"),
        "tiles_of_inputs": wrong_flow.with_places(sums="KKM"),
        "inputs_stream_k": wrong_flow.with_places(inputs="KKM"),
        **by_own_name(wrong_flow.no_drain, wrong_flow.drained_once, made=wrong_flow.with_more),
        **by_own_name(wrong_flow.one_tile_each, wrong_flow.square_by_rows, wrong_flow.in_32_bits),
    },
    outputs=("ws", "is_", "os"),
    forbidden=FORBIDDEN,
)
