"""The exercises of lesson unlike_machines: a split, one all-reduce for all, the best group."""

from labkit.checks.lesson_files import cases_of, exercise
from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit_lessons.distributed.unlike_machines import solutions
from labkit_lessons.distributed.unlike_machines.exercises import gradients, groups, splits

split_batch = exercise(
    "distributed.split_batch",
    oracle=splits.by_largest_remainder,
    cases=cases_of(
        {
            "three machines": (3, 16, ""),
            "one machine": (1, 1, ""),
            "prime": (7, 101, ""),
            "equal speeds": (5, 64, "equal"),
            "equal remainders": (8, 8, "ties"),
            "equal remainders of many": (48, 128, "ties"),
            "close remainders": (11, 64, "close"),
            "one stands": (4, 50, "one stands"),
            "nothing is left": (4, 40, "exact"),
            "more machines than photographs": (9, 5, ""),
            "ragged": (6, 64, ""),
            "many": (40, 1_000_000, "fine"),
        },
        splits.speeds_of,
    ),
    wrong=splits.WRONG_SPLITS,
    dtype="int",
    forbidden=("labkit_lessons.distributed.unlike_machines.splits",),
)

gradient_and_speeds = rank_exercise(
    "distributed.gradient_and_speeds",
    solution=solutions.gradient_and_speeds,
    cases=ranks_cases(
        {
            "three and one": (2, 5, 3, 1),
            "one number": (1, 1, 1),
            "fewer numbers than ranks": (3, 1, 2, 5, 4),
            "prime": (3, 7, 1, 6, 4),
            "equal shards": (2, 4, 3, 3),
            "one number, two ranks": (2, 1, 2, 3),
            "five ranks": (5, 2, 1, 6, 3, 2, 4),
            "nothing for rank 1": (3, 1, 4, 0, 3),
            "ragged": (4, 33, 20, 19, 20, 5),
        },
        gradients.shards,
        then=[(5, 2, 4)],
    ),
    oracle=gradients.outcome(),
    wrong=gradients.WRONG_OUTCOMES,
    results=("gradient", "speeds"),
    demand=gradients.one_small_all_reduce,
    forbidden=(
        "labkit_lessons.distributed.unlike_machines.training",
        "labkit.distributed.data_parallel",
    ),
)

best_group = exercise(
    "distributed.best_group",
    oracle=groups.taking_part(groups.right_step),
    cases=cases_of(
        {
            "two of three": (3, 2),
            "one machine": (1, 1),
            "two alone": (2, 1),
            "both": (2, 2),
            "one of four": (4, 1, "no_fixed"),
            "three of five": (5, 3, "largest_fixed"),
            "two of five": (5, 2, "mean_fixed"),
            "four of six": (6, 4, "sum_fixed"),
            "three of four": (4, 3, "equal_shares"),
            "three of six": (6, 3, "mean_machine"),
            "two of six": (6, 2, "not_shared"),
            "two of four": (4, 2, "minus_fixed"),
            "all of four": (4, 4, "no_brackets"),
            "all of five": (5, 5, "sum_of_seconds"),
            "two of five, closer": (5, 2, "all_fixed"),
            "three of five, closer": (5, 3, "by_the_last_place/first_ones"),
            "all of five, closer": (5, 5, "by_all_places"),
            "all of three": (3, 3, "times_machines"),
            "fast machines": (4, 4, "whole_ms", 0.01),
            "all of four, closer": (4, 4, "up_to_the_size"),
            "three of four, closer": (4, 3, "one_too_far"),
            "one of three": (3, 1, "one_too_near"),
            "three of six, closer": (6, 3, "sums_divided"),
            "two of four, cut": (4, 2, "whole_photos"),
            "slow machines": (3, 2, "", 1e5),
            "three of five, together": (5, 3, "one_by_one"),
        },
        groups.machines_of,
    ),
    wrong={
        name: groups.taking_part(step)
        for name, step in (groups.COMMON_STEPS | groups.WRONG_STEPS).items()
    },
    adapter=groups.judged_group,
    plain=lambda answer, *args: groups.judged_group(answer)(*args),
    fallback=solutions.best_group,
    plain_python=True,
    outputs=("takes_part",),
    locate=groups.meaning,
    general_causes=False,
    forbidden=(
        "labkit_lessons.distributed.unlike_machines.splits.balanced_seconds",
        "labkit_lessons.distributed.unlike_machines.splits.balanced_step",
        "labkit_lessons.distributed.unlike_machines.splits.best_places",
    ),
)

EXERCISES = [split_batch, gradient_and_speeds, best_group]
