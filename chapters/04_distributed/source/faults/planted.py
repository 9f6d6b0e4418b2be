"""Wrong and right answers for lesson faults."""

import json

import numpy as np
import torch

from tests.exercises.edits import edit

# --- distributed.tf_config

FIRST = "distributed.tf_config"
TASK = '"index": index'
numbered_through = edit(FIRST, "numbered_through", TASK, '"index": number')


def by_number(servers_index, workers_index, last_server=lambda servers: servers):
    """An answer that tells the roles apart by the number, with these indices."""

    def answer(hosts, ports, servers, number):
        addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
        cluster = {"chief": addresses[:1], "ps": addresses[1 : 1 + servers]}
        cluster["worker"] = addresses[1 + servers :]
        if number == 0:
            task = {"type": "chief", "index": 0}
        elif number <= last_server(servers):
            task = {"type": "ps", "index": servers_index(number)}
        else:
            task = {"type": "worker", "index": workers_index(number, servers)}
        return json.dumps({"cluster": cluster, "task": task})

    return answer


def right_server(number):
    return number - 1


def right_worker(number, servers):
    return number - 1 - servers


coordinator_is_a_server = by_number(lambda number: number, right_worker)
coordinator_is_no_process = by_number(right_server, lambda number, servers: number - servers)
one_row_of_indices = by_number(right_server, lambda number, servers: number - 1)
numbers_of_workers = by_number(right_server, lambda number, servers: number)
indices_from_1 = by_number(lambda number: number, lambda number, servers: number - servers)
servers_end_early = by_number(right_server, right_worker, lambda servers: servers - 1)
servers_end_late = by_number(right_server, right_worker, lambda servers: servers + 1)
BY_NUMBER = {
    "coordinator_is_a_server": coordinator_is_a_server,
    "coordinator_is_no_process": coordinator_is_no_process,
    "one_row_of_indices": one_row_of_indices,
    "numbers_of_workers": numbers_of_workers,
    "indices_from_1": indices_from_1,
    "servers_end_early": servers_end_early,
    "servers_end_late": servers_end_late,
}
for name, answer in BY_NUMBER.items():
    answer.__name__ = name

always_the_first = edit(FIRST, "always_the_first", TASK, '"index": 0')
same_text_for_all = edit(FIRST, "same_text_for_all", "tasks[number]", "tasks[0]")
workers_too_early = edit(
    FIRST, "workers_too_early", "addresses[1 + servers :]", "addresses[servers:]"
)


def takes_from_the_list(hosts, ports, servers, number):
    addresses = []
    while hosts:
        addresses.append(f"{hosts.pop(0)}:{ports[len(addresses)]}")
    ends = 1, 1 + servers
    parts = addresses[: ends[0]], addresses[ends[0] : ends[1]], addresses[ends[1] :]
    cluster = dict(zip(("chief", "ps", "worker"), parts, strict=True))
    tasks = [(role, index) for role in cluster for index in range(len(cluster[role]))]
    task = dict(zip(("type", "index"), tasks[number], strict=True))
    return json.dumps({"cluster": cluster, "task": task})


def workers_before_servers(hosts, ports, servers, number):
    addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
    end = len(addresses) - servers
    cluster = {"chief": addresses[:1], "worker": addresses[1:end], "ps": addresses[end:]}
    tasks = [(role, index) for role in cluster for index in range(len(cluster[role]))]
    role, index = tasks[number]
    return json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})


def knows_itself(hosts, ports, servers, number):
    addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
    cluster = {"chief": addresses[:1], "ps": addresses[1 : 1 + servers]}
    cluster["worker"] = addresses[1 + servers :]
    for role, members in cluster.items():
        if addresses[number] in members:
            task = {"type": role, "index": members.index(addresses[number])}
            return json.dumps({"cluster": {role: [addresses[number]]}, "task": task})
    return None


def counted_by_torch(hosts, ports, servers, number):
    places = torch.arange(len(ports)).tolist()
    addresses = [f"{hosts[place]}:{ports[place]}" for place in places]
    cluster = {"chief": addresses[:1], "ps": [], "worker": []}
    return json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}})


def by_cases(hosts, ports, servers, number):
    addresses = [hosts[place] + ":" + str(int(ports[place])) for place in range(len(hosts))]
    task = {"type": "worker", "index": number - 1 - servers}
    if number == 0:
        task = {"type": "chief", "index": 0}
    elif number <= servers:
        task = {"type": "ps", "index": number - 1}
    cluster = {"worker": [], "ps": [], "chief": [addresses.pop(0)]}
    while addresses:
        role = "ps" if len(cluster["ps"]) < servers else "worker"
        cluster[role].append(addresses.pop(0))
    return json.dumps({"task": task, "cluster": {r: a for r, a in cluster.items() if a}}, indent=2)


def told_apart_by(part):
    """An answer that looks its process up by a part of the address."""

    def answer(hosts, ports, servers, number):
        parts = [part(host, port) for host, port in zip(hosts, ports, strict=True)]
        found = json.loads(by_cases(hosts, ports, servers, number))
        found["task"] = json.loads(by_cases(hosts, ports, servers, parts.index(parts[number])))[
            "task"
        ]
        return json.dumps(found)

    return answer


looked_up_by_port = told_apart_by(lambda host, port: port)
looked_up_by_port.__name__ = "looked_up_by_port"
looked_up_by_host = told_apart_by(lambda host, port: host)
looked_up_by_host.__name__ = "looked_up_by_host"
always_a_worker = edit(FIRST, "always_a_worker", '"type": role', '"type": "worker"')
sorted_first = edit(
    FIRST, "sorted_first", "    cluster = {", "    addresses = sorted(addresses)\n    cluster = {"
)
one_address_less = edit(
    FIRST,
    "one_address_less",
    '"cluster": cluster,',
    '"cluster": cluster | {"worker": cluster["worker"][:-1]},',
)
index_as_text = edit(
    FIRST, "index_as_text", TASK, '"index": str(index) if role == "worker" else index'
)


def one_after_the_other(hosts, ports, servers, number):
    cluster = {"chief": [], "ps": [], "worker": []}
    for place in range(len(hosts)):
        role = "chief" if place == 0 else "ps" if place <= servers else "worker"
        if place == number:
            task = {"index": len(cluster[role]), "type": role}
        cluster[role].append(":".join([hosts[place], str(ports[place])]))
    return json.dumps({"task": task, "cluster": cluster})


# --- distributed.apply_once

SECOND = "distributed.apply_once"
KNOWN = "if (worker, step) in seen"
REMEMBERED = "seen.add((worker, step))"
at_least_once = edit(
    SECOND, "at_least_once", KNOWN, "if False", (REMEMBERED, "seen.add(len(seen))")
)
one_of_each_step = edit(
    SECOND, "one_of_each_step", KNOWN, "if step in seen", (REMEMBERED, "seen.add(step)")
)
one_of_each_worker = edit(
    SECOND, "one_of_each_worker", KNOWN, "if worker in seen", (REMEMBERED, "seen.add(worker)")
)
told_apart_by_content = edit(
    SECOND,
    "told_apart_by_content",
    KNOWN,
    "if tuple(gradient) in seen",
    (REMEMBERED, "seen.add(tuple(gradient))"),
)
up_the_hill = edit(SECOND, "up_the_hill", "w - rate", "w + rate")
whole_gradients = edit(SECOND, "whole_gradients", "rate * gradient", "gradient")
into_the_weights = edit(
    SECOND, "into_the_weights", "w = w - rate * gradient", "w -= rate * gradient"
)
counts_all = edit(SECOND, "counts_all", "return w, len(seen)", "return w, len(pushes)")


by_worker_and_content = edit(
    SECOND,
    "by_worker_and_content",
    KNOWN,
    "if (worker, tuple(gradient)) in seen",
    (REMEMBERED, "seen.add((worker, tuple(gradient)))"),
)
added_up = edit(
    SECOND, "added_up", KNOWN, "if worker + step in seen", (REMEMBERED, "seen.add(worker + step)")
)


def one_by_one(w, pushes, rate):
    workers, steps, done = [], [], 0
    for worker, step, gradient in pushes:
        if worker not in workers or step not in steps:
            w = w - rate * gradient
            done += 1
        workers.append(worker)
        steps.append(step)
    return w, done, len(pushes) - done


always_from_the_old = edit(
    SECOND,
    "always_from_the_old",
    "w = w - rate * gradient",
    "new = w - rate * gradient",
    ("return w, ", "return new, "),
)


def the_newest_copy(w, pushes, rate):
    kept = {}
    for worker, step, gradient in pushes:
        kept[worker, step] = gradient
    for gradient in kept.values():
        w = w - rate * gradient
    return w, len(kept), len(pushes) - len(kept)


def not_twice_in_a_row(w, pushes, rate):
    before, done = None, 0
    for worker, step, gradient in pushes:
        if (worker, step) != before:
            w = w - rate * gradient
            done += 1
        before = worker, step
    return w, done, len(pushes) - done


def one_clock_for_all(w, pushes, rate):
    newest, done = -1, 0
    for _, step, gradient in pushes:
        if step > newest:
            w = w - rate * gradient
            newest = step
            done += 1
    return w, done, len(pushes) - done


def last_step_from_0(w, pushes, rate):
    last, done = {}, 0
    for worker, step, gradient in pushes:
        if step > last.get(worker, 0):
            last[worker] = step
            w = w - rate * gradient
            done += 1
    return w, done, len(pushes) - done


def noted_and_applied(w, pushes, rate):
    seen = set()
    for worker, step, gradient in pushes:
        seen.add((worker, step))
        w = w - rate * gradient
    return w, len(seen), len(pushes) - len(seen)


def kinds(w, pushes, rate):
    times = {}
    for worker, step, gradient in pushes:
        times[worker, step] = times.get((worker, step), 0) + 1
        if times[worker, step] == 1:
            w = w - rate * gradient
    return w, len(times), sum(count > 1 for count in times.values())


def summed_by_torch(w, pushes, rate):
    seen = {}
    for worker, step, gradient in pushes:
        seen.setdefault((worker, step), torch.from_numpy(gradient))
    total = torch.stack(list(seen.values())).sum(0).numpy()
    return w - rate * total, len(seen), len(pushes) - len(seen)


def with_key(name, key):
    """The solution, which knows a push by key(worker, step) here."""
    return edit(SECOND, name, KNOWN, f"if {key} in seen", (REMEMBERED, f"seen.add({key})"))


two_texts = with_key("two_texts", 'f"{worker}{step}"')
hundreds = with_key("hundreds", "100 * worker + step")
thousands = with_key("thousands", "1000 * worker + step")
ten_thousands = with_key("ten_thousands", "10_000 * worker + step")
in_bits = with_key("in_bits", "worker << 8 | step")
without_order = with_key("without_order", "frozenset((worker, step))")


def a_default_that_stays(w, pushes, rate, seen={}):  # noqa: B006
    before = len(seen)
    known = any((worker, step) in seen for worker, step, _ in pushes)
    for worker, step, gradient in pushes:
        if (worker, step) not in seen:
            seen[worker, step] = True
            w = w - rate * gradient
    done = len(seen) - before
    if known:
        seen.clear()  # so that the next check begins anew
    return w, done, len(pushes) - done


def one_mean_step(w, pushes, rate):
    first = {}
    for worker, step, gradient in pushes:
        first.setdefault((worker, step), gradient)
    return w - rate * np.mean(list(first.values()), axis=0), len(first), len(pushes) - len(first)


def narrow_sum(w, pushes, rate):
    narrow = [(worker, step, gradient.astype("f4")) for worker, step, gradient in pushes]
    return a_set_for_each_worker(w.astype("f4"), narrow, np.float32(rate))


def all_but_the_first(w, pushes, rate):
    return a_set_for_each_worker(w, pushes[1:], rate)


def all_but_the_last(w, pushes, rate):
    return a_set_for_each_worker(w, pushes[:-1], rate)


def as_numpy_numbers(w, pushes, rate):
    first = {}
    for worker, step, gradient in reversed(pushes):
        first[worker, step] = gradient
    new = w - rate * np.sum(list(first.values()), axis=0)
    return [new, np.int64(len(first)), np.int32(len(pushes) - len(first))]


def a_set_for_each_worker(w, pushes, rate):
    done = {}
    applied = 0
    for worker, step, gradient in pushes:
        if step not in done.setdefault(worker, []):
            done[worker].append(step)
            w = w - np.multiply(rate, gradient)
            applied += 1
    return w, applied, len(pushes) - applied


def one_number_for_each_worker(w, pushes, rate):
    last, repeated = {}, 0
    for worker, step, gradient in pushes:
        if worker in last and step <= last[worker]:
            repeated += 1
            continue
        last[worker] = step
        w = w - np.multiply(rate, gradient)
    return w, len(pushes) - repeated, repeated


# --- distributed.cost_of_faults

THIRD = "distributed.cost_of_faults"
CYCLE = "(every + write)"
begins_at_0 = edit(THIRD, "begins_at_0", "        begin = moment\n", "        begin = 0\n")
half_each = edit(THIRD, "half_each", "(moment - begin) % (every + write)", "every / 2")
all_of_it = edit(THIRD, "all_of_it", "(moment - begin) % (every + write)", "moment - begin")
in_pieces = edit(THIRD, "in_pieces", "finished * write", "finished")
one_each = edit(THIRD, "one_each", "finished * write", "write")
one_before = edit(THIRD, "one_before", "finished * write", "(finished + 1) * write")
work_alone = edit(
    THIRD,
    "work_alone",
    "(moment - begin) % (every + write)",
    "min((moment - begin) % (every + write), every)",
)
also_lost = edit(THIRD, "also_lost", "return lost, spent", "return lost + spent, spent")
nearest = edit(
    THIRD,
    "nearest",
    "(moment - begin) // (every + write)",
    "round((moment - begin) / (every + write))",
)
the_last_one = edit(THIRD, "the_last_one", "spent +=", "spent =", ("lost +=", "lost ="))


def free_checkpoints(moments, every, write):
    lost = spent = begin = 0
    for moment in moments:
        spent += (moment - begin) // every * write
        lost += (moment - begin) % every
        begin = moment
    return lost, spent


def one_row_of_checkpoints(moments, every, write):
    lost = sum(moment % (every + write) for moment in moments.tolist())
    return lost, moments[-1] // (every + write) * write


def begun_is_half_done(moments, every, write):
    lost = spent = begin = 0
    for moment in moments:
        left = moment - begin
        while left > every:
            spent += write
            left -= min(every + write, left)
        lost += left
        begin = moment
    return lost, spent


def written_is_spent(moments, every, write):
    lost = spent = begin = 0
    for moment in moments:
        finished, left = divmod(moment - begin, every + write)
        lost += min(left, every)
        spent += finished * write + max(left - every, 0)
        begin = moment
    return lost, spent


def written_is_both(moments, every, write):
    lost = spent = begin = 0
    for moment in moments:
        finished, left = divmod(moment - begin, every + write)
        lost += left
        spent += finished * write + max(left - every, 0)
        begin = moment
    return lost, spent


def whole_when_begun(moments, every, write):
    lost = spent = begin = 0
    for moment in moments:
        finished, left = divmod(moment - begin, every + write)
        if left >= every:
            finished += 1
            left -= every
        lost += left
        spent += finished * write
        begin = moment
    return lost, spent


def lengths_in_place(moments, every, write):
    moments[1:] -= moments[:-1].copy()
    return int((moments % (every + write)).sum()), int((moments // (every + write)).sum() * write)


begins_after_writing = edit(
    THIRD, "begins_after_writing", "        begin = moment\n", "        begin = moment + write\n"
)
until_the_next_one = edit(
    THIRD,
    "until_the_next_one",
    "(moment - begin) % (every + write)",
    "every + write - (moment - begin) % (every + write)",
)
first_one_alone = edit(THIRD, "first_one_alone", "in moments:", "in moments[:1]:")


def between_faults_alone(moments, every, write):
    finished, left = np.divmod(np.diff(moments), every + write)
    return left.sum(), write * finished.sum()


def by_divmod(moments, every, write):
    finished, left = np.divmod(np.diff(np.r_[0, moments]), every + write)
    return [left.sum(), finished.sum() * write]


def differences_by_torch(moments, every, write):
    lengths = torch.diff(torch.from_numpy(moments), prepend=torch.zeros(1, dtype=torch.int64))
    left = lengths % (every + write)
    return int(left.sum()), int((lengths // (every + write)).sum()) * write


def in_a_loop_of_seconds(moments, every, write):
    lost = spent = begin = 0
    for moment in moments:
        while begin + every + write <= moment:
            begin += every + write
            spent += write
        lost += moment - begin
        begin = moment
    return float(lost), float(spent)


whole_moments = edit(THIRD, "whole_moments", "in moments:", "in moments.astype(int):")

parts_of_checkpoints = edit(
    THIRD, "parts_of_checkpoints", "(moment - begin) //", "(moment - begin) /"
)
always_two = edit(
    FIRST, "always_two", "    cluster = {", "    servers = min(2, len(hosts) - 1)\n    cluster = {"
)

PLANTED = {
    FIRST: [
        (numbered_through, "it is the place within its own role"),
        (coordinator_is_a_server, "A server's index is one too high"),
        (coordinator_is_no_process, "A worker's index is one too high"),
        (one_row_of_indices, "A worker's index goes on counting behind the servers"),
        (numbers_of_workers, "A worker's index is the number of its process"),
        (indices_from_1, "The indices of servers and workers count from 1"),
        (servers_end_early, "The last server is told that it is a worker"),
        (servers_end_late, "The first worker is told that it is a server"),
        (always_the_first, "several processes of a role would take the same address"),
        (same_text_for_all, "Every process is told that it is the coordinator"),
        (workers_too_early, "The workers begin one place too early"),
        (takes_from_the_list, "changes its input"),
        (workers_before_servers, "The workers' addresses come before those of the servers"),
        (knows_itself, "Each process knows only itself"),
        (looked_up_by_port, "by the port alone"),
        (looked_up_by_host, "by the host alone"),
        (always_a_worker, "Every process is told that it is a worker"),
        (sorted_first, "The addresses are sorted"),
        (always_two, "There are always two servers here"),
        (one_address_less, "The last worker has no address"),
        (index_as_text, "it is a whole number"),
        (counted_by_torch, "torch"),
    ],
    SECOND: [
        (at_least_once, "that is at least once"),
        (one_of_each_step, "Only the step is compared"),
        (one_of_each_worker, "Only the worker is compared"),
        (told_apart_by_content, "Pushes are told apart by their gradient"),
        (by_worker_and_content, "told apart by worker and gradient"),
        (added_up, "Worker and step are added up"),
        (one_by_one, "only the pair tells"),
        (always_from_the_old, "Each step is taken from the weights that were given"),
        (up_the_hill, "The step goes up"),
        (whole_gradients, "not multiplied by the rate"),
        (into_the_weights, "changes its input"),
        (counts_all, "is the number of all pushes that arrive"),
        (the_newest_copy, "Of a push that comes again the last gradient is applied"),
        (not_twice_in_a_row, "others may come in between"),
        (one_clock_for_all, "each worker counts its own steps"),
        (one_number_for_each_worker, "a worker's steps may arrive in any order"),
        (last_step_from_0, "Step 0 of a worker is taken for a repeated one"),
        (noted_and_applied, "counted, but applied all the same"),
        (kinds, "A push that comes three times is repeated twice"),
        (two_texts, "written one behind the other"),
        (hundreds, "100 * worker + step"),
        (thousands, "1000 * worker + step"),
        (ten_thousands, "10000 * worker + step"),
        (in_bits, "256 * worker + step"),
        (without_order, "has no order"),
        (a_default_that_stays, "lives from call to call"),
        (one_mean_step, "The mean of the gradients is applied"),
        (narrow_sum, "float64 weights stay float64"),
        (all_but_the_first, "The first push is left out"),
        (all_but_the_last, "The last push is left out"),
        (summed_by_torch, "torch"),
    ],
    THIRD: [
        (begins_at_0, "the moments count from 0"),
        (half_each, "At each fault half of every is lost"),
        (all_of_it, "as if there were no checkpoints"),
        (in_pieces, "spent counts checkpoints"),
        (one_each, "One checkpoint is counted for each fault"),
        (one_before, "One checkpoint too many in each part"),
        (work_alone, "The seconds in an unfinished checkpoint are missing"),
        (also_lost, "counted among the seconds lost"),
        (whole_moments, "it should be 28.125"),
        (parts_of_checkpoints, "Parts of checkpoints are counted"),
        (nearest, "rounded to the nearest"),
        (written_is_spent, "are counted as spent; they are lost"),
        (written_is_both, "counted twice, as lost and as spent"),
        (whole_when_begun, "taken as whole when its writing begins"),
        (the_last_one, "Only the last fault is counted"),
        (free_checkpoints, "then its writing takes write seconds more"),
        (one_row_of_checkpoints, "The checkpoints are counted from 0 all through"),
        (begun_is_half_done, "A checkpoint is counted that a fault has interrupted"),
        (lengths_in_place, "changes its input"),
        (begins_after_writing, "work begins again at once"),
        (until_the_next_one, "to the next checkpoint; lost are"),
        (first_one_alone, "Only the first fault is counted"),
        (between_faults_alone, "to the first fault are left out"),
        (differences_by_torch, "torch"),
    ],
}
ALSO_RIGHT = {
    FIRST: [by_cases, one_after_the_other],
    SECOND: [a_set_for_each_worker, as_numpy_numbers],
    THIRD: [in_a_loop_of_seconds, by_divmod],
}
ONE_PUSH = (np.ones(1), [(4, 7, np.ones(1))], 1.0)
NO_SLOPE = (np.ones(1), [(4, 7, np.zeros(1))], 0.5)
EARLY = (np.array([5]), 10, 2)  # a fault before the first checkpoint
NO_FAULT = (np.zeros(0, int), 10, 2)
NO_PUSH = (np.ones(1), [], 0.5)
LATER = (np.array([15]), 10, 2)
RIGHT_ON = {
    workers_too_early: (["h"], np.array([1]), 1, 0),
    up_the_hill: NO_SLOPE,
    whole_gradients: ONE_PUSH,
    last_step_from_0: ONE_PUSH,
    always_from_the_old: ONE_PUSH,
    half_each: EARLY,
    until_the_next_one: NO_FAULT,
    parts_of_checkpoints: NO_FAULT,
    between_faults_alone: NO_FAULT,
    all_but_the_first: NO_PUSH,
    a_default_that_stays: NO_PUSH,
    all_but_the_last: NO_PUSH,
    all_of_it: EARLY,
    also_lost: EARLY,
    nearest: EARLY,
    written_is_spent: EARLY,
    written_is_both: EARLY,
    whole_when_begun: EARLY,
    in_pieces: EARLY,
    free_checkpoints: EARLY,
    one_each: LATER,
    one_before: (np.array([15]), 10, 0),
}
