"""Wrong and right answers for lesson restarts_and_monitoring."""

import copy

import numpy as np
import torch

from labkit_lessons.distributed.restarts_and_monitoring.by_hand import share
from tests.exercises.edits import edit

# --- distributed.snapshot

FIRST = "distributed.snapshot"
nothing_but_weights = edit(
    FIRST,
    "nothing_but_weights",
    '        "mean": training.mean.copy(),\n        "square": training.square.copy(),\n'
    '        "step": training.step,\n        "position": training.position,\n'
    '        "random": training.random.bit_generator.state,\n',
    "",
)
averages_begin_again = edit(
    FIRST,
    "averages_begin_again",
    '        "mean": training.mean.copy(),\n        "square": training.square.copy(),\n',
    "",
)
step_is_forgotten = edit(FIRST, "step_is_forgotten", '        "step": training.step,\n', "")
first_example_again = edit(
    FIRST, "first_example_again", '        "position": training.position,\n', ""
)
same_noise_again = edit(
    FIRST, "same_noise_again", '        "random": training.random.bit_generator.state,\n', ""
)
mean_alone_is_forgotten = edit(
    FIRST, "mean_alone_is_forgotten", '        "mean": training.mean.copy(),\n', ""
)
the_weights_themselves = edit(
    FIRST, "the_weights_themselves", "training.weights.copy()", "training.weights"
)
the_averages_themselves = edit(
    FIRST,
    "the_averages_themselves",
    "training.mean.copy()",
    "training.mean",
    ("training.square.copy()", "training.square"),
)
the_mean_itself = edit(FIRST, "the_mean_itself", "training.mean.copy()", "training.mean")
the_square_itself = edit(FIRST, "the_square_itself", "training.square.copy()", "training.square")
mean_for_square = edit(
    FIRST,
    "mean_for_square",
    "training.mean.copy()",
    "training.square.copy() ",
    ("training.square.copy(),", "training.mean.copy(),"),
)
the_generator_itself = edit(
    FIRST, "the_generator_itself", "training.random.bit_generator.state", "training.random"
)

in_half_the_bytes = edit(
    FIRST, "in_half_the_bytes", "training.weights.copy()", "training.weights.astype(np.float32)"
)
averages_in_half_the_bytes = edit(
    FIRST,
    "averages_in_half_the_bytes",
    "training.mean.copy()",
    "training.mean.astype(np.float32)",
    ("training.square.copy()", "training.square.astype(np.float32)"),
)
one_step_on = edit(FIRST, "one_step_on", "training.step,", "training.step + 1,")
one_step_back = edit(FIRST, "one_step_back", "training.step,", "training.step - 1,")
one_example_on = edit(FIRST, "one_example_on", "training.position", "training.position + 1")
position_is_step = edit(FIRST, "position_is_step", "training.position", "training.step")
as_lists = edit(FIRST, "as_lists", "training.mean.copy()", "training.mean.tolist()")


def kept_by_size(training, kept={}):  # noqa: B006
    weights = kept.setdefault(training.x.shape, training.weights.copy())
    names = ("mean", "square", "step", "position", "random")
    return {"weights": weights.copy()} | {
        name: copy.deepcopy(getattr(training, name)) for name in names
    }


def new_ones_by_numpy(training):
    return {
        "random": copy.deepcopy(training.random),
        "step": np.int64(training.step),
        "position": np.int32(training.position),
        **{name: np.array(getattr(training, name)) for name in ("weights", "mean", "square")},
    }


def clears_the_averages(training):
    saved = {
        "weights": training.weights.copy(),
        "mean": training.mean.copy(),
        "square": training.square.copy(),
        "step": training.step,
        "position": training.position,
        "random": training.random.bit_generator.state,
    }
    training.mean[:] = 0
    return saved


def copied_by_torch(training):
    weights = torch.from_numpy(training.weights).clone().numpy()
    return {"weights": weights, "step": training.step}


def everything_that_it_has(training):
    return copy.deepcopy(vars(training))


def by_deepcopy(training):
    names = ("weights", "mean", "square", "step", "position", "random")
    return {name: copy.deepcopy(getattr(training, name)) for name in names}


KEPT = {}


def in_one_dict(training, saved=KEPT):
    for name in ("weights", "mean", "square"):
        saved[name] = getattr(training, name).copy()
    saved["step"], saved["position"] = training.step, training.position
    saved["random"] = training.random.bit_generator.state
    return saved


# --- distributed.reshard

SECOND = "distributed.reshard"
every_other_file = edit(
    SECOND,
    "every_other_file",
    "    parts = []\n",
    "    parts = []\n    begin, end = 0, 10**9\n"
    "    files = files[slice(*share(len(files), ranks, rank))]\n",
)
stops_at_the_end_of_a_file = edit(
    SECOND,
    "stops_at_the_end_of_a_file",
    "            parts.append(file.read(low - first, high - first))\n",
    "            return file.read(low - first, high - first)\n",
)


def reads_all(files, ranks, rank):
    whole = np.concatenate([file.read(0, len(file)) for file in files])
    begin, end = share(len(whole), ranks, rank)
    return whole[begin:end]


def nothing_more_comes(files, ranks, rank):
    begin, end = share(sum(map(len, files)), ranks, rank)
    parts, first = [], 0
    for file in files:
        low, high = max(begin - first, 0), min(end - first, len(file))
        if low < high:
            parts.append(file.read(low, high))
        elif parts:
            break
        first += len(file)
    return np.concatenate(parts)


def gives_all(files, ranks, rank):
    return np.concatenate([file.read(0, len(file)) for file in files])


def in_turn(files, ranks, rank):
    whole = np.concatenate([file.read(0, len(file)) for file in files])
    return whole[rank::ranks]


def forgets_the_rest(files, ranks, rank):
    whole = np.concatenate([file.read(0, len(file)) for file in files])
    each = len(whole) // ranks
    return whole[rank * each : (rank + 1) * each]


def files_of_one_length(files, ranks, rank):
    begin, end = share(sum(len(file) for file in files), ranks, rank)
    each = len(files[0])
    rows = []
    for row in range(begin, end):
        if row // each < len(files):
            file = files[row // each]
            place = min(row % each, len(file))
            rows.append(file.read(place, min(place + 1, len(file))))
    return np.concatenate(rows)


READ = "low - first, high - first"
counted_from_the_first_file = edit(SECOND, "counted_from_the_first_file", READ, "low, high")
by_their_number = edit(SECOND, "by_their_number", READ, "low - first, high - low")
to_the_end_of_the_part = edit(
    SECOND, "to_the_end_of_the_part", "min(end, first + len(file))", "end if first <= begin else 0"
)
files_end_early = edit(
    SECOND, "files_end_early", "min(end, first + len(file))", "min(end, first + len(file) - 1)"
)
row_0_is_left_out = edit(
    SECOND, "row_0_is_left_out", "low = max(begin, first)", "low = max(begin, first + bool(parts))"
)

BORDERS = "begin, end = share(sum(len(file) for file in files), ranks, rank)"
ROWS = "sum(len(file) for file in files)"
to_the_nearest = edit(
    SECOND,
    "to_the_nearest",
    BORDERS,
    f"begin, end = (round({ROWS} * one / ranks) for one in (rank, rank + 1))",
)
all_as_long = edit(
    SECOND,
    "all_as_long",
    BORDERS,
    f"each = -(-{ROWS} // ranks)\n    begin, end = rank * each, (rank + 1) * each",
)
ends_late = edit(SECOND, "ends_late", BORDERS, f"{BORDERS}\n    end += 1")
counted_from_one = edit(
    SECOND, "counted_from_one", "ranks, rank)\n", "ranks, (rank + 1) % ranks)\n"
)
no_count_of_rows = edit(
    SECOND, "no_count_of_rows", "        first += len(file)\n", "        first += 0\n"
)
in_single = edit(
    SECOND, "in_single", "np.concatenate(parts)", "np.concatenate(parts).astype(np.float32)"
)
PLANS = {}
one_plan_for_all = edit(
    SECOND,
    "one_plan_for_all",
    BORDERS,
    f"{BORDERS}\n    begin, end = PLANS.setdefault(({ROWS}, len(files), ranks), (begin, end))",
)
one_plan_for_all.__globals__["PLANS"] = PLANS


def clipped(files, ranks, rank):
    ends = np.cumsum([len(file) for file in files])
    borders = np.array(share(int(ends[-1]), ranks, rank))
    rows = []
    for file, end in zip(files, ends, strict=True):
        rows += [*file.read(*np.clip(borders - end + len(file), 0, len(file)))]
    return rows


def empties_the_list(files, ranks, rank):
    begin, end = share(sum(len(file) for file in files), ranks, rank)
    parts, first = [], 0
    while files:
        file = files.pop(0)
        low, high = max(begin, first), min(end, first + len(file))
        if low < high:
            parts.append(file.read(low - first, high - first))
        first += len(file)
    return np.concatenate(parts)


def past_the_counter(files, ranks, rank):
    whole = np.concatenate([file._rows for file in files])
    return whole[slice(*share(len(whole), ranks, rank))]


def joined_by_torch(files, ranks, rank):
    rows = [torch.from_numpy(file.read(0, len(file))) for file in files]
    return torch.cat(rows).tensor_split(ranks)[rank].numpy()


def row_by_row(files, ranks, rank):
    begin, end = share(sum(len(file) for file in files), ranks, rank)
    places = [(file, row) for file in files for row in range(len(file))]
    return np.concatenate([file.read(row, row + 1) for file, row in places[begin:end]])


# --- distributed.save_whole

THIRD = "distributed.save_whole"
MARK = (
    '    disk.write("latest.new", name)\n'
    '    disk.sync("latest.new")\n'
    '    disk.rename("latest.new", "latest")\n'
)


def marker_first(disk, name, shards):
    disk.write("latest.new", name)
    disk.sync("latest.new")
    disk.rename("latest.new", "latest")
    for rank, shard in enumerate(shards):
        disk.write(f"{name}/{rank}", shard)
        disk.sync(f"{name}/{rank}")


marker_in_place = edit(
    THIRD, "marker_in_place", MARK, '    disk.write("latest", name)\n    disk.sync("latest")\n'
)
latest_is_deleted = edit(
    THIRD,
    "latest_is_deleted",
    '    disk.rename("latest.new", "latest")\n',
    '    if "latest" in disk.files:\n        disk.delete("latest")\n'
    '    disk.rename("latest.new", "latest")\n',
)
shards_not_synced = edit(THIRD, "shards_not_synced", '        disk.sync(f"{name}/{rank}")\n', "")

shards_in_single = edit(
    THIRD, "shards_in_single", '/{rank}", shard)', '/{rank}", shard.astype(np.float32))'
)
two_of_them = edit(THIRD, "two_of_them", "enumerate(shards)", "enumerate(shards[:2])")
OF_BEFORE = {}
as_they_were = edit(
    THIRD,
    "as_they_were",
    '/{rank}", shard)',
    '/{rank}", OF_BEFORE.setdefault((name, rank, len(shard)), shard))',
)
as_they_were.__globals__["OF_BEFORE"] = OF_BEFORE


def all_synced_at_once(disk, name, shards):
    for rank in np.arange(len(shards))[::-1]:
        disk.write(f"{name}/{rank}", shards[rank].copy())
    disk.write(f"{name}/marker", name)
    for file in [*disk.files]:
        if file.startswith(name):
            disk.sync(file)
    disk.rename(f"{name}/marker", "latest")


def the_old_files_again(disk, name, shards):
    for rank, shard in enumerate(shards):
        disk.write(f"newest/{rank}", shard)
        disk.sync(f"newest/{rank}")
    disk.write("latest.new", "newest")
    disk.sync("latest.new")
    disk.rename("latest.new", "latest")


def old_one_goes_first(disk, name, shards):
    for old in list(disk.files):
        if old != "latest":
            disk.delete(old)
    for rank, shard in enumerate(shards):
        disk.write(f"{name}/{rank}", shard)
        disk.sync(f"{name}/{rank}")
    disk.write("latest.new", name)
    disk.sync("latest.new")
    disk.rename("latest.new", "latest")


def once_and_never_again(disk, name, shards):
    for rank, shard in enumerate(shards):
        disk.write(f"{name}/{rank}", shard)
        disk.sync(f"{name}/{rank}")
    if "latest" not in disk.files:
        disk.write("latest", name)
        disk.sync("latest")


def the_other_way_round(disk, name, shards):
    for rank, shard in enumerate(reversed(shards)):
        disk.write(f"{name}/{rank}", shard)
        disk.sync(f"{name}/{rank}")
    disk.write("latest.new", name)
    disk.sync("latest.new")
    disk.rename("latest.new", "latest")


def takes_the_shards_away(disk, name, shards):
    rank = 0
    while shards:
        disk.write(f"{name}/{rank}", shards.pop(0))
        disk.sync(f"{name}/{rank}")
        rank += 1
    disk.write("latest.new", name)
    disk.sync("latest.new")
    disk.rename("latest.new", "latest")


def by_way_of_torch(disk, name, shards):
    for rank, shard in enumerate(shards):
        disk.write(f"{name}/{rank}", torch.from_numpy(shard).clone().numpy())
        disk.sync(f"{name}/{rank}")
    disk.write("latest.new", name)
    disk.sync("latest.new")
    disk.rename("latest.new", "latest")


def tidy(disk, name, shards):
    """Shards under other names first, all synced at once, and old ones deleted at the end."""
    files = [f"{name}/{rank}" for rank in range(len(shards))]
    for file, shard in zip(files, shards, strict=True):
        disk.write(file + ".part", shard)
    for file in reversed(files):
        disk.sync(file + ".part")
        disk.rename(file + ".part", file)
    disk.write("marker", name)
    disk.sync("marker")
    disk.rename("marker", "latest")
    for old in list(disk.files):
        if old != "latest" and not old.startswith(name):
            disk.delete(old)


PLANTED = {
    FIRST: [
        (nothing_but_weights, "Only the weights are saved"),
        (in_one_dict, "The first snapshot has changed with the second one"),
        (averages_begin_again, "Adam's averages are not saved"),
        (step_is_forgotten, "The step is not saved"),
        (first_example_again, "The position is not saved"),
        (same_noise_again, "The random state is not saved"),
        (mean_alone_is_forgotten, "Adam's average of the gradients is not saved"),
        (the_weights_themselves, "The weights are not copied"),
        (the_averages_themselves, "Adam's averages are not copied"),
        (the_mean_itself, "average of the gradients is not copied"),
        (the_square_itself, "average of the squares is not copied"),
        (mean_for_square, "The two averages are exchanged"),
        (the_generator_itself, "The generator itself is saved"),
        (in_half_the_bytes, "The weights are rounded to float32"),
        (averages_in_half_the_bytes, "averages are rounded to float32"),
        (one_step_on, "The step is one too many"),
        (one_step_back, "The step is one too few"),
        (one_example_on, "an example is left out"),
        (position_is_step, "the training begins again with the first"),
        (as_lists, "this is of type list"),
        (kept_by_size, "something is kept from one call to the next"),
        (clears_the_averages, "changes its input"),
        (everything_that_it_has, "is none of the parts that change while it trains"),
        (copied_by_torch, "torch"),
    ],
    SECOND: [
        (every_other_file, "Whole files are dealt to the ranks"),
        (stops_at_the_end_of_a_file, "The part ends where its first file ends"),
        (reads_all, "The rows are right, but"),
        (gives_all, "Each rank gets all rows"),
        (nothing_more_comes, "an empty file may lie between two"),
        (in_turn, "Every n-th row is taken"),
        (forgets_the_rest, "get lost"),
        (files_of_one_length, "as long as the first one"),
        (counted_from_the_first_file, "counted from its own first one"),
        (by_their_number, "and no count"),
        (to_the_end_of_the_part, "a part may end behind it, in another file"),
        (files_end_early, "The last row of each file is missing"),
        (row_0_is_left_out, "that file's first row is missing"),
        (to_the_nearest, "The borders are rounded to the nearest row"),
        (all_as_long, "Each part is as long as the longest"),
        (ends_late, "The part has a row too many"),
        (counted_from_one, "the rows of the next rank"),
        (no_count_of_rows, "are taken for rows of each file"),
        (in_single, "The rows are rounded to float32"),
        (one_plan_for_all, "rank does not count"),
        (empties_the_list, "changes its input"),
        (past_the_counter, "were not read by file.read"),
        (joined_by_torch, "torch"),
    ],
    THIRD: [
        (marker_first, "latest says 'step-20', and there is no step-20/1"),
        (marker_in_place, "latest says 'ste', and there is no ste/0"),
        (latest_is_deleted, "and then there is no latest"),
        (shards_not_synced, "and then latest says 'step-20', of which a shard is not whole"),
        (the_old_files_again, "latest says 'newest', of which a shard is not whole"),
        (old_one_goes_first, "latest says 'step-10', and there is no step-10/0"),
        (once_and_never_again, "The reader still finds the old checkpoint"),
        (the_other_way_round, "The shards are in the wrong files"),
        (shards_in_single, "The shards are rounded to float32"),
        (two_of_them, "there is no step-20/2"),
        (as_they_were, "something is kept from one call to the next"),
        (takes_the_shards_away, "changes its input"),
        (by_way_of_torch, "torch"),
    ],
}
_SHARDS = [np.arange(3.0), np.arange(4.0)]
NO_STEP = (np.ones((1, 1)), np.ones(1), 0, 0, 0)
_ZEROS = [np.zeros((2, 1))]
RIGHT_ON = {
    once_and_never_again: (_SHARDS, _SHARDS),
    shards_in_single: (_SHARDS, _SHARDS),
    in_single: (_ZEROS, 1, 0),
    one_step_on: NO_STEP,
    one_step_back: NO_STEP,
    one_example_on: NO_STEP,
    in_half_the_bytes: (np.zeros((1, 1)), np.zeros(1), 0, 0, 0),
    averages_in_half_the_bytes: NO_STEP,
    kept_by_size: (np.ones((2, 9)), np.ones(2), 3, 1, 2),  # a size that no case has
    as_they_were: ([np.arange(99.0)], [np.arange(99.0)]),
}
ALSO_RIGHT = {
    FIRST: [by_deepcopy, new_ones_by_numpy],
    SECOND: [row_by_row, clipped],
    THIRD: [tidy, all_synced_at_once],
}
