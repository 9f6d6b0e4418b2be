"""Wrong and right answers for lesson parameter_servers."""

import numpy as np
import torch
import torch.distributed as dist

from labkit.distributed import receive, ring_all_reduce, send
from tests.exercises.edits import cast_to_float32, edit, first_result_again

remembered = {}  # what answers keep from call to call

# --- distributed.sharded_servers

FIRST = "distributed.sharded_servers"
no_mean = edit(FIRST, "no_mean", "rate * arrived / (ranks - 2)", "rate * arrived")
counts_the_servers = edit(FIRST, "counts_the_servers", "/ (ranks - 2)", "/ ranks")
climbs = edit(FIRST, "climbs", "part -= rate", "part += rate")
wrong_way_round = edit(FIRST, "wrong_way_round", "torch.cat(new)", "torch.cat(new[::-1])")
crosses_the_gradients = edit(
    FIRST, "crosses_the_gradients", "split(2)[server], to=server", "split(2)[1 - server], to=server"
)
keeps_the_old = edit(FIRST, "keeps_the_old", "return torch.cat(new)", "return w")
on_the_shared_weights = edit(
    FIRST, "on_the_shared_weights", "w.tensor_split(2)[rank].clone()", "w.tensor_split(2)[rank]"
)
waits_for_worker_2 = edit(
    FIRST, "waits_for_worker_2", "receive(arrived, source=worker)", "receive(arrived, source=2)"
)


def answers_at_once(rank, ranks, w, gradient, rate):
    if rank < 2:
        part = w.tensor_split(2)[rank].clone()
        for worker in range(2, ranks):
            arrived = torch.empty_like(part)
            receive(arrived, source=worker)
            part -= rate * arrived / (ranks - 2)
            send(part, to=worker)
        return part
    for server in range(2):
        send(gradient.tensor_split(2)[server], to=server)
    new = [torch.empty_like(part) for part in w.tensor_split(2)]
    for server in range(2):
        receive(new[server], source=server)
    return torch.cat(new)


def holds_the_other_half(rank, ranks, w, gradient, rate):
    if rank < 2:
        part = w.tensor_split(2)[1 - rank].clone()
        for worker in range(2, ranks):
            arrived = torch.empty_like(part)
            receive(arrived, source=worker)
            part -= rate * arrived / (ranks - 2)
        for worker in range(2, ranks):
            send(part, to=worker)
        return part
    new = [part.clone() for part in w.tensor_split(2)]
    for server in range(2):
        send(gradient.tensor_split(2)[1 - server], to=server)
    for server in range(2):
        receive(new[1 - server], source=server)
    return torch.cat(new)


def everything_to_both(rank, ranks, w, gradient, rate):
    if rank < 2:
        new = w.clone()
        for worker in range(2, ranks):
            arrived = torch.empty_like(w)
            receive(arrived, source=worker)
            new -= rate * arrived / (ranks - 2)
        part = new.tensor_split(2)[rank].clone()
        for worker in range(2, ranks):
            send(part, to=worker)
        return part
    for server in range(2):
        send(gradient, to=server)
    new = [torch.empty_like(part) for part in w.tensor_split(2)]
    for server in range(2):
        receive(new[server], source=server)
    return torch.cat(new)


def all_through_server_0(rank, ranks, w, gradient, rate):
    if rank == 0:
        new = w.clone()
        for worker in range(2, ranks):
            arrived = torch.empty_like(w)
            receive(arrived, source=worker)
            new -= rate * arrived / (ranks - 2)
        first, second = new.tensor_split(2)
        send(second.clone(), to=1)
        for worker in range(2, ranks):
            send(first.clone(), to=worker)
            send(second.clone(), to=worker)
        return first
    first, second = (torch.empty_like(part) for part in w.tensor_split(2))
    if rank == 1:
        receive(second, source=0)
        return second
    send(gradient, to=0)
    receive(first, source=0)
    receive(second, source=0)
    return torch.cat([first, second])


def without_servers(rank, ranks, w, gradient, rate):
    total = torch.zeros_like(w) if gradient is None else gradient.clone()
    dist.all_reduce(total)
    new = w - rate * total / (ranks - 2)
    return new.tensor_split(2)[rank] if rank < 2 else new


def around_a_ring(rank, ranks, w, gradient, rate):
    total = torch.zeros_like(w) if gradient is None else gradient
    new = w - rate * ring_all_reduce(total) / (ranks - 2)
    return new.tensor_split(2)[rank] if rank < 2 else new


def by_the_course(rank, ranks, w, gradient, rate):
    from labkit.distributed.parameter_server import arrivals

    assert arrivals
    new = w.clone()
    return new.tensor_split(2)[rank] if rank < 2 else new


no_worker_between = edit(
    FIRST, "no_worker_between", "part -= rate", "part -= (worker in (2, ranks - 1)) * rate"
)
not_the_last = edit(FIRST, "not_the_last", "part -= rate", "part -= (worker < ranks - 1) * rate")
not_the_first = edit(FIRST, "not_the_first", "part -= rate", "part -= (worker > 2) * rate")
ranks_less_one = edit(FIRST, "ranks_less_one", "(ranks - 2)", "(ranks - 1)")
at_rate_1 = edit(FIRST, "at_rate_1", "rate * arrived", "arrived")
through_the_rate = edit(FIRST, "through_the_rate", "rate * arrived", "arrived / rate")
gradients_sent_back = edit(FIRST, "gradients_sent_back", "send(part,", "send(arrived,")
old_parts = edit(
    FIRST, "old_parts", "        return part\n", "        return w.tensor_split(2)[rank]\n"
)
in_half_the_bytes = edit(
    FIRST,
    "in_half_the_bytes",
    "torch.empty_like(part)",
    "torch.empty_like(part).half()",
    ("rate * arrived", "rate * arrived.float()"),
    ("split(2)[server], to", "split(2)[server].half(), to"),
)
own_step = edit(FIRST, "own_step", "return torch.cat(new)", "return w - rate * gradient")


def cut_in_half(rank, ranks, w, gradient, rate):
    middle = len(w) // 2
    parts = [slice(None, middle), slice(middle, None)]
    if rank < 2:
        part = w[parts[rank]].clone()
        for worker in range(2, ranks):
            arrived = torch.empty_like(part)
            receive(arrived, source=worker)
            part -= rate * arrived / (ranks - 2)
        for worker in range(2, ranks):
            send(part, to=worker)
        return part
    new = w.clone()
    for server in range(2):
        send(gradient[parts[server]].clone(), to=server)
    for server in range(2):
        receive(new[parts[server]], source=server)
    return new


def by_torch_messages(rank, ranks, w, gradient, rate):
    if rank < 2:
        part = w.tensor_split(2)[rank]
        arrived = [torch.empty_like(part) for _ in range(2, ranks)]
        for request in [dist.irecv(one, src) for src, one in enumerate(arrived, start=2)]:
            request.wait()
        part = part - rate * torch.stack(arrived).mean(dim=0)
        for request in [dist.isend(part, worker) for worker in range(2, ranks)]:
            request.wait()
        return part.numpy()
    sent = [part.contiguous() for part in gradient.tensor_split(2)]
    for request in [dist.isend(part, server) for server, part in enumerate(sent)]:
        request.wait()
    new = [torch.empty_like(part) for part in sent]
    for server in (1, 0):
        dist.recv(new[server], server)
    return torch.hstack(new)


def adds_up_first(rank, ranks, w, gradient, rate):
    if rank in (0, 1):
        part = w.tensor_split(2)[rank]
        arrived = torch.zeros(ranks - 2, len(part), dtype=part.dtype)
        for worker in reversed(range(ranks - 2)):
            receive(arrived[worker], source=worker + 2)
        new = part - rate * arrived.mean(dim=0)
        for worker in range(2, ranks):
            send(new, to=worker)
        return new
    first, second = gradient.tensor_split(2)
    send(second, to=1)
    send(first, to=0)
    new = torch.empty_like(w)
    receive(new[len(first) :], source=1)
    receive(new[: len(first)], source=0)
    return new


# --- distributed.may_begin

SECOND = "distributed.may_begin"
below_the_bound = edit(SECOND, "below_the_bound", "<= bound", "< bound")
at_the_bound_or_above = edit(SECOND, "at_the_bound_or_above", "<= bound", ">= bound")
one_step_too_far = edit(SECOND, "one_step_too_far", "<= bound", "<= bound + 1")
counts_own_steps = edit(SECOND, "counts_own_steps", "finished - finished.min()", "finished")
behind_the_first = edit(
    SECOND, "behind_the_first", "finished - finished.min()", "finished.max() - finished"
)
ahead_of_most = edit(SECOND, "ahead_of_most", "finished.min()", "finished.mean()")
ahead_of_one = edit(SECOND, "ahead_of_one", "finished.min()", "finished[0]")
ahead_of_the_last = edit(SECOND, "ahead_of_the_last", "finished.min()", "finished[-1]")
last_one_alone = edit(SECOND, "last_one_alone", "<= bound", "<= 0 * bound")
subtracts_in_place = edit(
    SECOND, "subtracts_in_place", "finished - finished.min()", "finished.__isub__(finished.min())"
)


def one_for_all(finished, bound):
    return np.array([max(finished) - min(finished) <= bound for _ in finished])


def lets_all(finished, bound):
    return np.ones(len(finished), bool)


def by_the_rule(finished, bound):
    from labkit.distributed.parameter_server.rules import Bounded

    rule = Bounded(bound)
    return np.array([rule.may_begin(worker, finished) for worker in range(len(finished))])


def one_by_one(finished, bound):
    least = min(finished)
    return np.array([done <= least + bound for done in finished])


counts_slower_ones = edit(
    SECOND, "counts_slower_ones", "finished - finished.min()", "finished.argsort().argsort()"
)
never_0 = edit(SECOND, "never_0", "<= bound", "<= max(bound, 1)")
least_place = edit(SECOND, "least_place", "finished.min()", "finished.argmin()")
ahead_of_the_middle = edit(SECOND, "ahead_of_the_middle", "finished.min()", "np.median(finished)")
ahead_of_the_second = edit(
    SECOND, "ahead_of_the_second", "finished.min()", "np.sort(finished)[:2][-1]"
)
ahead_of_a_neighbour = edit(
    SECOND, "ahead_of_a_neighbour", "finished.min()", "np.roll(finished, 1)"
)
as_numbers = edit(
    SECOND,
    "as_numbers",
    "finished - finished.min() <= bound",
    "1 * (finished - min(finished) <= bound)",
)


def keeps_by_length(finished, bound):
    return remembered.setdefault(
        ("begin", len(finished)), finished - finished.min() <= bound
    ).copy()


def ahead_of_nobody(finished, bound):
    return (finished[:, None] - finished <= bound).all(axis=1)


# --- distributed.staleness

THIRD = "distributed.staleness"
and_its_own = edit(THIRD, "and_its_own", "pushed < pushed[i]", "pushed <= pushed[i]")
counts_pulls = edit(
    THIRD, "counts_pulls", "(pulled[i] < pushed) & (pushed <", "(pulled[i] < pulled) & (pulled <"
)
since_the_start = edit(THIRD, "since_the_start", "(pulled[i] < pushed) & ", "")
what_it_knew = edit(
    THIRD, "what_it_knew", "(pulled[i] < pushed) & (pushed < pushed[i])", "pushed < pulled[i]"
)
begun_since = edit(THIRD, "begun_since", "pulled[i] < pushed)", "pulled[i] < pulled)")
all_that_overlap = edit(
    THIRD,
    "all_that_overlap",
    "np.sum((pulled[i] < pushed) & (pushed < pushed[i]))",
    "np.sum((pulled[i] < pushed) & (pulled < pushed[i])) - 1",
)


after_the_pull = edit(THIRD, "after_the_pull", " & (pushed < pushed[i])", "")
after_its_push = edit(
    THIRD, "after_its_push", "(pulled[i] < pushed) & (pushed < pushed[i])", "pushed > pushed[i]"
)
those_before_in_the_array = edit(
    THIRD,
    "those_before_in_the_array",
    "(pulled[i] < pushed) & (pushed < pushed[i])",
    "pulled[i] < pushed[:i]",
)


def sorted_by_their_pushes(pulled, pushed):
    order = np.argsort(pushed)
    pulled, pushed = pulled[order], pushed[order]
    return np.array([np.sum(pushed[:i] > pulled[i]) for i in range(len(pushed))])


def argsort_for_places(pulled, pushed):
    return np.argsort(pushed) - np.argsort(pulled)


def in_seconds(pulled, pushed):
    return pushed - pulled


def sorts_its_input(pulled, pushed):
    counts = [np.sum((a < pushed) & (pushed < b)) for a, b in zip(pulled, pushed, strict=True)]
    pushed.sort()
    return np.array(counts)


def by_the_notes(pulled, pushed):
    from labkit.distributed.parameter_server import shard

    assert shard
    return np.zeros(len(pulled), int)


def remembers_by_length(pulled, pushed):
    if old := remembered.get(len(pushed)):
        remembered.clear()  # so that the next check begins anew
        return np.array(old)
    counts = ((pulled[:, None] < pushed) & (pushed < pushed[:, None])).sum(axis=1)
    remembered[len(pushed)] = counts.tolist()
    return counts


def unsorted_bisection(pulled, pushed):
    return np.searchsorted(pushed, pushed) - np.searchsorted(pushed, pulled)


less_one = edit(THIRD, "less_one", "(pushed < pushed[i]))", "(pushed < pushed[i])) - 1")
without_brackets = edit(THIRD, "without_brackets", ") & (", ") | (")
began_and_ended_around = edit(
    THIRD,
    "began_and_ended_around",
    "(pulled[i] < pushed) & (pushed < pushed[i])",
    "(pulled < pulled[i]) & (pushed[i] < pushed)",
)
whole_moments = edit(
    THIRD,
    "whole_moments",
    "(pulled[i] < pushed) & (pushed < pushed[i])",
    "(int(pulled[i]) < pushed.astype(int)) & (pushed.astype(int) < int(pushed[i]))",
)


other_way_round = edit(
    THIRD,
    "other_way_round",
    "(pulled[i] < pushed) & (pushed < pushed[i])",
    "(pushed < pulled[i]) & (pushed[i] < pushed)",
)

in_a_byte = edit(THIRD, "in_a_byte", "np.zeros(len(pushed))", "np.zeros(len(pushed), dtype='u1')")


def in_order_of_pulls(pulled, pushed):
    order = np.argsort(pulled)
    pulled, pushed = pulled[order], pushed[order]
    return ((pulled[:, None] < pushed) & (pushed < pushed[:, None])).sum(axis=1)


def by_a_clock(pulled, pushed):
    """The version at each pull is taken from the version at its push."""
    moments = sorted([(when, 1, i) for i, when in enumerate(pulled)])
    moments += [(when, 0, i) for i, when in enumerate(pushed)]
    version, at_pull, counts = 0, {}, [0.0] * len(pulled)
    for _, is_pull, i in sorted(moments):
        if is_pull:
            at_pull[i] = version
        else:
            counts[i] = version - at_pull[i]
            version += 1
    return np.array(counts, dtype=np.float32)


def by_bisection(pulled, pushed):
    in_order = np.sort(pushed)
    return np.searchsorted(in_order, pushed) - np.searchsorted(in_order, pulled, side="right")


beginners_forgotten = edit(
    SECOND, "beginners_forgotten", "finished.min()", "min(finished[finished > 0], default=0)"
)


def number_by_number(rank, ranks, w, gradient, rate):
    if rank < 2:
        part = w.tensor_split(2)[rank].clone()
        for worker in range(2, ranks):
            for place in part.split(1):
                arrived = torch.empty_like(place)
                receive(arrived, source=worker)
                place -= rate * arrived / (ranks - 2)
        for worker in range(2, ranks):
            send(part, to=worker)
        return part
    new = [torch.empty_like(part) for part in w.tensor_split(2)]
    for server, part in enumerate(gradient.tensor_split(2)):
        for place in part.split(1):
            send(place, to=server)
    for server in range(2):
        receive(new[server], source=server)
    return torch.cat(new)


its_last_push_too = edit(THIRD, "its_last_push_too", "pulled[i] < pushed)", "pulled[i] <= pushed)")
those_behind_in_the_array = edit(
    THIRD,
    "those_behind_in_the_array",
    "(pulled[i] < pushed) & (pushed < pushed[i])",
    "(pulled[i] < pushed[i:]) & (pushed[i:] < pushed[i])",
)
ahead_of_the_next = edit(SECOND, "ahead_of_the_next", "finished.min()", "np.roll(finished, -1)")

PLANTED = {
    FIRST: [
        (first_result_again(FIRST), "In the second call in the same ranks"),
        (cast_to_float32(FIRST), "is float32; it should be"),
        (no_mean, "not divided by the number of workers"),
        (counts_the_servers, "two of them are servers"),
        (climbs, "The step goes up"),
        (wrong_way_round, "joined in the wrong order"),
        (holds_the_other_half, "The servers hold each other's half"),
        (crosses_the_gradients, "gets the other one's half of the gradient"),
        (keeps_the_old, "The workers still have the old weights"),
        (on_the_shared_weights, "changes its input"),
        (waits_for_worker_2, "wait"),
        (answers_at_once, "before the other workers' gradients are there"),
        (everything_to_both, "bytes of weights: send its part once"),
        (all_through_server_0, "between a worker and a server only"),
        (number_by_number, "one has room for the whole part"),
        (without_servers, "needs all of them at once"),
        (no_worker_between, "Only the first and the last worker's gradient"),
        (not_the_last, "The last worker's gradient is left out"),
        (not_the_first, "The first worker's gradient is left out"),
        (ranks_less_one, "The sum is divided by ranks - 1"),
        (at_rate_1, "not multiplied by the learning rate"),
        (through_the_rate, "divided by the learning rate"),
        (gradients_sent_back, "What comes back to the workers is a gradient"),
        (old_parts, "return their old parts"),
        (in_half_the_bytes, "rounded to float16"),
        (own_step, "Each worker takes a step with its own gradient"),
        (cut_in_half, "Server 0 holds the shorter part"),
        (by_the_course, "labkit.distributed.parameter_server"),
    ],
    SECOND: [
        (below_the_bound, "A lead of exactly bound steps"),
        (at_the_bound_or_above, "These have a lead of bound or more"),
        (one_step_too_far, "A lead of bound + 1 steps is too much"),
        (counts_own_steps, "A worker's own steps are compared with the bound"),
        (behind_the_first, "how far each one is behind the fastest"),
        (ahead_of_most, "counted from the mean"),
        (ahead_of_one, "counted from worker 0"),
        (ahead_of_the_last, "counted from the last worker in the array"),
        (last_one_alone, "that is a bound of 0"),
        (subtracts_in_place, "changes its input"),
        (one_for_all, "all wait as soon as one is too far ahead"),
        (lets_all, "Here everybody may begin"),
        (counts_slower_ones, "counts how many workers are slower"),
        (never_0, "A bound of 0 is taken for 1"),
        (least_place, "The slowest one's place in the array is subtracted"),
        (ahead_of_the_middle, "counted from the median"),
        (ahead_of_the_second, "counted from the second slowest"),
        (ahead_of_the_next, "counted from the worker behind it"),
        (ahead_of_a_neighbour, "counted from the worker before it"),
        (beginners_forgotten, "Who has finished no step is left out"),
        (keeps_by_length, "is still that of the first such call"),
        (as_numbers, "it should hold truth values"),
        (by_the_rule, "labkit.distributed.parameter_server"),
    ],
    THIRD: [
        (other_way_round, "every value is 0, in all cases"),
        (its_last_push_too, "A push at the very moment of the pull"),
        (those_behind_in_the_array, "Only steps that stand behind this one"),
        (and_its_own, "The step's own push is counted"),
        (counts_pulls, "a pull changes no weight"),
        (since_the_start, "all updates before the push"),
        (what_it_knew, "the updates before the pull"),
        (begun_since, "Only steps that also began in between"),
        (all_that_overlap, "all steps that overlap with this one"),
        (after_the_pull, "All pushes after the pull are counted"),
        (after_its_push, "the pushes after the step's own one"),
        (those_before_in_the_array, "Only steps that stand before this one in the array"),
        (sorted_by_their_pushes, "stand in the order of the pushes"),
        (argsort_for_places, "which step comes at each place"),
        (in_seconds, "staleness counts updates"),
        (sorts_its_input, "changes its input"),
        (remembers_by_length, "something is kept from one call to the next"),
        (unsorted_bisection, "needs an array that rises"),
        (less_one, "there is nothing to subtract"),
        (without_brackets, "which are all of them"),
        (began_and_ended_around, "began before this one and end after it"),
        (whole_moments, "is cut to whole numbers"),
        (in_a_byte, "is cut to 8 bits"),
        (in_order_of_pulls, "stand in the order of the pulls"),
        (by_the_notes, "labkit.distributed.parameter_server"),
    ],
}
ALSO_RIGHT = {
    FIRST: [adds_up_first, by_torch_messages],
    SECOND: [one_by_one, ahead_of_nobody],
    THIRD: [by_bisection, by_a_clock],
}
# Two servers and a worker whose gradient is 0.
W = np.array([1.0, 2.0, 3.0], "f4")
STANDING = (((W, None, 0.5), (W, None, 0.5), (W, 0 * W, 0.5)),)
ALIKE = np.array([2.0, 2.0], "f4")
AT_REST = (((0 * W, None, 0.5), (0 * W, None, 0.5), (0 * W, 0 * W, 0.5)),)
NOTHING_TO_SWAP = (((ALIKE, None, 0.5), (ALIKE, None, 0.5), (ALIKE, 0 * ALIKE, 0.5)),)
NO_STEPS = (np.zeros(0), np.zeros(0))
RIGHT_ON = {
    climbs: STANDING,
    not_the_last: STANDING,
    not_the_first: STANDING,
    ranks_less_one: STANDING,
    at_rate_1: STANDING,
    through_the_rate: STANDING,
    old_parts: STANDING,
    in_half_the_bytes: STANDING,
    least_place: (np.array([0, 3]), 1),
    less_one: NO_STEPS,
    remembers_by_length: NO_STEPS,
    below_the_bound: (np.array([3, 3]), 1),
    without_brackets: NO_STEPS,
    gradients_sent_back: AT_REST,
    counts_the_servers: STANDING,
    keeps_the_old: STANDING,
    holds_the_other_half: NOTHING_TO_SWAP,
    crosses_the_gradients: NOTHING_TO_SWAP,
    by_the_course: STANDING,
    counts_own_steps: (np.array([0, 3]), 1),
    behind_the_first: (np.array([3, 4, 5]), 2),
    at_the_bound_or_above: (np.array([3, 3]), 0),
    and_its_own: NO_STEPS,
    after_the_pull: NO_STEPS,
    in_seconds: NO_STEPS,
}
