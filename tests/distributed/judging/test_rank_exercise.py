"""Exercises that run in rank processes: right and wrong ones, hangs, costs, what is forbidden."""

import builtins
import importlib
import itertools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist

from labkit import check
from labkit.checks.items import Refused
from labkit.checks.judge import seeded_cases
from labkit.checks.registry import registered
from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.gradients.asynchronous import CommunicationThread
from labkit.distributed.judging.rank_exercise import ranks_cases
from labkit.distributed.launching.known_classes import read_known
from labkit.distributed.messages import exchange, receive, send
from tests.distributed.toy_ranks import CASES, feedback, inputs, toy, travels
from tests.night import others_by_night

HERE = Path(__file__).resolve().parent
TESTS = "tests/distributed/judging/test_rank_exercise.py::test"
MAIN = os.getpid()
SEEN = {}


def right(x):
    """What the referee lets through whatever else an answer does: the sum by labkit's ring."""
    return ring_all_reduce(x)


# Right answers.


def around(rank, ranks, x):
    total, carried = x.clone(), x.clone()
    for _ in range(ranks - 1):
        other = torch.empty_like(x)
        exchange(carried, (rank + 1) % ranks, other, (rank - 1) % ranks)
        total += other
        carried = other
    return total


def through_rank_0(rank, ranks, x):
    total = x.clone()
    if rank:
        send(total, 0)
        receive(total, 0)
        return total
    other = torch.empty_like(x)
    for source in range(1, ranks):
        receive(other, source)
        total += other
    for target in range(1, ranks):
        send(total, target)
    return total


def with_torch(rank, ranks, x):
    work = dist.all_reduce(total := x.clone(), async_op=True)
    work.wait()
    return total.numpy()


def by_a_thread(rank, ranks, x):
    with CommunicationThread() as thread:
        thread.submit(x)
        return thread.submit(x).wait()


def from_any(rank, ranks, x):
    parts = [torch.empty_like(x) for _ in range(ranks)]
    parts[rank].copy_(x)
    if rank == 0:
        for _ in range(ranks - 1):
            dist.recv(other := torch.empty_like(x))
            parts[0] += other
    else:
        dist.send(x, 0)
    dist.broadcast(parts[0], 0)
    return parts[0]


RIGHT = others_by_night(
    [around, with_torch, through_rank_0, by_a_thread, from_any],
    instead="tests/distributed/judging/test_rank_exercise.py::test_right_answers",
    by_day=2,
)


@pytest.mark.parametrize("answer", RIGHT)
def test_right_answers(answer, monkeypatch, capsys):
    sizes = {"one number": (1, 1), "empty": (2, 0), "prime": (3, 7), "four": (4, 10)}
    said = feedback(toy(monkeypatch, cases=ranks_cases(sizes, inputs)), answer, capsys)
    assert "Checked on 5 cases: one number (1 rank), empty (2 ranks), prime (3 ranks), four" in said


# Two calls in the same ranks, and results of another type.


def keeps_a_list(rank, ranks, x):
    KEPT.append(right(x))
    return sum(KEPT)


def fills_a_buffer(rank, ranks, x):
    return BUFFERS.setdefault(len(x), torch.empty_like(x)).copy_(right(x))


def raises_when_it_is_called_again(rank, ranks, x):
    assert not BUFFERS
    BUFFERS[0] = True
    return right(x)


def waits_when_it_is_called_again(rank, ranks, x):
    if BUFFERS and rank == 1:
        return x
    BUFFERS[0] = True
    return right(x)


KEPT, BUFFERS = [], {}
AGAIN = {
    keeps_a_list: "In the second call in the same ranks, with other numbers, the result is wrong",
    fills_a_buffer: "changes what the first one has returned",
    raises_when_it_is_called_again: "raises AssertionError in rank 0",
    waits_when_it_is_called_again: "twice in the same ranks, with other numbers: is something kept",
}


@pytest.mark.parametrize("answer", AGAIN)
def test_what_is_kept_from_call_to_call_is_seen(answer, monkeypatch, capsys):
    said = feedback(toy(monkeypatch), answer, capsys)
    assert AGAIN[answer] in said and "Case: two again (2 ranks)" in said


def test_the_second_call_costs_nothing(monkeypatch, capsys):
    """What is counted is that of one call."""
    limit = 2 * 3 * 4  # bytes: two ranks, three numbers of float32
    exercise = toy(monkeypatch, demand=lambda traffic: "Dear." if traffic.bytes > limit else None)
    assert feedback(exercise, through_rank_0, capsys).startswith("Right")


def in_float32(rank, ranks, x):
    return right(x.float())


TYPES = others_by_night(["float64", "int64"], f"{TESTS}_a_result_has_the_type_of_the_input")


@pytest.mark.parametrize("kind", TYPES)
def test_a_result_has_the_type_of_the_input(kind, monkeypatch, capsys):
    exercise = toy(monkeypatch, cases=ranks_cases(CASES, inputs, {"two": kind}))
    assert f"two, in {kind} (2 ranks)" in feedback(exercise, around, capsys)
    said = feedback(exercise, in_float32, capsys)
    assert f"result of rank 0 is float32; it should be {kind}, as x is." in said


# Wrong ones.


def sends_first(rank, ranks, x):
    if ranks > 1:
        send(x, (rank + 1) % ranks)
        receive(x, (rank - 1) % ranks)
    return x


def some_barrier(rank, ranks, x):
    print("hello")
    if rank != 1:
        dist.barrier()
    return right(x)


def other_lengths(rank, ranks, x):
    dist.all_reduce(x[: max(len(x) - rank, 0)].clone())
    return right(x)


def divided(rank, ranks, x):
    return right(x) / ranks


def keeps(rank, ranks, x):
    return x


def scrambles(rank, ranks, x):
    return right(x) if rank == 0 else right(x) + 1


def nothing(rank, ranks, x):
    pass


def last_is_none(rank, ranks, x):
    total = right(x)
    return total if rank < 1 else None


def text(rank, ranks, x):
    return "three"


def longer(rank, ranks, x):
    return torch.cat([right(x), x[:1]]) if rank == 1 else right(x)


def changes(rank, ranks, x):
    dist.all_reduce(x)
    return x


def raises(rank, ranks, x):
    if rank == 1:
        raise KeyError("no")
    return right(x)


def leaves(rank, ranks, x):
    if rank == 1:
        raise SystemExit(2)
    return right(x)


def dies(rank, ranks, x):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return right(x)


def dies_with_a_child(rank, ranks, x):
    if rank == 1 and os.fork():
        os._exit(3)
    if rank == 1:
        time.sleep(1e6)
    return right(x)


def loops(rank, ranks, x):
    while rank == 1:
        pass
    return right(x)


def loops_for_all(rank, ranks, x):
    while rank == 1:
        try:
            while True:
                pass
        except BaseException:
            pass
    return right(x)


def sleeps(rank, ranks, x):
    if rank == 1:
        time.sleep(1e6)
    return right(x)


def sends_without_end(rank, ranks, x):
    while rank == 1:
        dist.isend(x, 0)
    return right(x)


def asks_without_end(rank, ranks, x):
    if rank == 1:
        work = dist.irecv(x, 0)
        while not work.is_completed():
            time.sleep(1e-4)
    return x


def forgets_isend(rank, ranks, x):
    if rank == 0 and ranks > 1:
        dist.isend(x, 1)
    if rank == 1:
        dist.recv(torch.empty_like(x), 0)
    return right(x)


def sends_into_the_blue(rank, ranks, x):
    if rank == 0 and ranks > 1:
        dist.isend(x, 1)
    return with_torch(rank, ranks, x)


def forgets_all_reduce(rank, ranks, x):
    total = x.clone()
    dist.all_reduce(total, async_op=True)
    return total


def writes_too_early(rank, ranks, x):
    total = x.clone()
    work = dist.all_reduce(total, async_op=True)
    total /= 2
    work.wait()
    return total


def in_a_thread(rank, ranks, x):
    thread = threading.Thread(target=right, args=(x,))
    thread.start()
    thread.join()
    return x


def remembers(rank, ranks, x):
    """In one process for all ranks, this would do."""
    SEEN[rank] = x
    return sum(SEEN.values())


def joins(rank, ranks, x):
    dist.init_process_group("gloo", init_method="file:///tmp/nowhere", rank=rank, world_size=ranks)
    return right(x)


def takes_two(rank, x):
    return x


PRINTED = "Your function printed (case two (2 ranks)): [rank 0] hello [rank 1] hello"
WRONG = [
    (sends_first, "The ranks wait for each other, and nothing can go on. rank 0 waits until rank 1 "
     "receives: line 3 of sends_first, send(x, (rank + 1) % ranks) rank 1 waits until rank 0"),
    (some_barrier, "rank 0 waits for all ranks in barrier: line 4 of some_barrier, dist.barrier() "
     "rank 1 waits for rank 0: line 3 of right, return ring_all_reduce(x) Only rank 0 of 2 is in "
     "barrier. A collective needs every rank of the group, in the same order of calls. Case: two "
     f"(2 ranks). One case is right. {PRINTED}"),
    (other_lengths, "Rank 0 and rank 1 call all_reduce with another size: 3 elements of float32 "
     "and 2 elements of float32."),
    (divided, "Likely cause: The sum is divided by the ranks."),
    (keeps, "Likely cause: Each rank keeps its own numbers."),
    (scrambles, "rank 1: result[0] is"),
    (nothing, "is not solved yet: the function returns None"),
    (last_is_none, "Rank 1 returns None as result; it should be a tensor."),
    (text, "Rank 0 returns a value of type str as result; it should be a tensor."),
    (longer, "rank 1: result has the wrong shape: 4 elements; it should be 3 elements."),
    (changes, "The function changes its input x, in rank 0."),
    (raises, "The function raises KeyError in rank 1. KeyError: 'no' It happens in line 3 of "
     "raises: raise KeyError(\"no\")"),
    (leaves, "The function raises SystemExit in rank 1."),
    (dies, "The process of rank 1 was killed by SIGKILL."),
    (dies_with_a_child, "The process of rank 1 ended by itself with exit code 3"),
    (loops, "The function does not return in rank 1. It was stopped in line 2 of loops"),
    (loops_for_all, "The function does not return in rank 1."),
    (sleeps, "It was stopped in line 3 of sleeps: time.sleep(1e6) It waits for something that is"),
    (sends_without_end, "Rank 1 begins more than 5,000 messages."),
    (asks_without_end, "Rank 1 waits for rank 0, which has returned already."),
    (forgets_isend, "Rank 0 returns without waiting for its isend. It begins in line 3 of "
     "forgets_isend: dist.isend(x, 1) Call wait()"),
    (sends_into_the_blue, "Nobody receives what rank 0 sends to rank 1."),
    (forgets_all_reduce, "Rank 0 returns without waiting for its all_reduce."),
    (writes_too_early, "The tensor of all_reduce was changed before wait()"),
    (in_a_thread, "is"),
    (remembers, "Likely cause: Each rank keeps its own numbers."),
    (joins, "The ranks have joined one group before your function begins: leave it out."),
    (takes_two, "The function cannot be called as f(rank, ranks, x): too many positional"),
]  # fmt: skip


# Beside `loops` and `sends_without_end`: each works until its budget is used up.
BY_NIGHT = {loops_for_all, asks_without_end}
WRONG_ONES = [
    pytest.param(
        answer,
        says,
        id=answer.__name__,
        marks=pytest.mark.night(instead=f"{TESTS}_wrong_answers") if answer in BY_NIGHT else (),
    )
    for answer, says in WRONG
]


@pytest.mark.parametrize(("answer", "says"), WRONG_ONES)
def test_wrong_answers(answer, says, monkeypatch, capsys):
    assert says in feedback(toy(monkeypatch), answer, capsys)


def test_wrong_in_the_last_case_alone(monkeypatch, capsys):
    """Arrays of all ranks lie in tuples: their shapes are compared, not their numbers."""
    exercise = toy(monkeypatch)
    *_, last = seeded_cases(exercise)
    (seen,), _ = last.args[0]

    def wrong_at_the_end(rank, ranks, x):
        return right(x) + (rank == 0 and len(x) == 3 and bool((x == torch.from_numpy(seen)).all()))

    said = feedback(exercise, wrong_at_the_end, capsys)
    assert "it is right at the first call with these sizes, and wrong at the second" in said


# What endangers its process, or leaves something behind.


def grows(rank, ranks, x):
    kept = []
    while rank == 1:
        kept.append(bytes(1 << 28))
    return right(x)


def recurses_in_c(rank, ranks, x):
    def key(n):
        return sorted([n], key=key)

    return key(1) if rank == 1 else right(x)


def changes_all(rank, ranks, x):
    total = right(x)
    os.chdir("/")
    del builtins.print
    sys.modules["numpy"] = None
    sys.stdout.close()
    return total


def prints_a_lot(rank, ranks, x):
    for _ in range(200_000):
        print("line")
    return right(x)


def closes_its_line(rank, ranks, x):
    if rank == 1:
        os.closerange(3, 1000)
    return right(x)


def aborts(rank, ranks, x):
    return os.abort() if rank == 1 else right(x)


def prints_without_end_in_c(rank, ranks, x):
    if rank == 1:
        deque(map(print, itertools.repeat("line")), maxlen=0)
    return right(x)


RISKY = [
    (grows, "The function raises MemoryError in rank 1."),
    (changes_all, "Right"),
    (closes_its_line, "The process of rank 1 was killed by SIGKILL."),
    (recurses_in_c, "The function raises RecursionError in rank 1."),
    (prints_a_lot, "Right"),
    (aborts, "The process of rank 1 was killed by SIGABRT."),
]


@pytest.mark.parametrize(
    ("answer", "says"),
    others_by_night(
        RISKY, "tests/distributed/judging/test_rank_exercise.py::test_risky_answers", by_day=2
    ),
)
def test_risky_answers(answer, says, monkeypatch, capsys):
    before = state()
    assert says in feedback(toy(monkeypatch), answer, capsys)
    assert state() == before


def state():
    numpy = sys.modules["numpy"]
    return os.getcwd(), builtins.print, numpy, len(multiprocessing.active_children())


def test_a_process_that_a_rank_started_goes_with_it(monkeypatch, capsys, tmp_path):
    def leaves_a_child(rank, ranks, x):
        if ranks == 1:
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            (tmp_path / f"{child.pid}").touch()
        return right(x)

    said = feedback(toy(monkeypatch), leaves_a_child, capsys)
    assert "The function leaves a process running; it was ended. (In rank 0.)" in said
    numbers = [int(path.name) for path in tmp_path.iterdir()]
    assert numbers
    for number in numbers:
        while _lives(number):  # killed, and not yet taken out of the table
            time.sleep(0.01)


@pytest.mark.night(instead="tests/distributed/judging/test_rank_exercise.py::test_wrong_answers")
def test_a_rank_that_prints_without_end_ends_by_its_work(monkeypatch, capsys):
    from labkit.distributed.judging import refereed_run

    monkeypatch.setattr(refereed_run, "WORN_OUT", 0.5)
    said = feedback(toy(monkeypatch), prints_without_end_in_c, capsys)
    assert "The function does not return in rank 1." in said


def loops_in_c(rank, ranks, x):
    if rank == 1:
        sum(itertools.repeat(0))
    return right(x)


@pytest.mark.night(instead="tests/distributed/judging/test_rank_exercise.py::test_wrong_answers")
def test_a_loop_in_c_ends_by_its_work_too(monkeypatch, capsys):
    from labkit.distributed.judging import refereed_run

    monkeypatch.setattr(refereed_run, "WORN_OUT", 0.5)
    said = feedback(toy(monkeypatch), loops_in_c, capsys)
    assert "The function does not return in rank 1." in said


def test_parameters_are_shown_without_what_nobody_can_read(monkeypatch, capsys):
    def solution(rank: int, ranks: int, x: torch.Tensor, *, how=right) -> torch.Tensor: ...

    said = feedback(toy(monkeypatch, solution=solution), takes_two, capsys)
    assert "The function cannot be called as f(rank, ranks, x, *, how=...): too many" in said


def test_an_answer_that_is_no_function(monkeypatch, capsys):
    with registered(toy(monkeypatch)):
        check("distributed.toy", 3)
    assert "The answer is a function; this is of type int." in capsys.readouterr().out


def test_a_function_that_cannot_travel(monkeypatch, capsys):
    lock = threading.Lock()
    said = feedback(toy(monkeypatch), lambda rank, ranks, x: (x, lock), capsys)
    assert "lock, which the function uses" in said


# What is forbidden, under whatever name.

reduces = dist.all_reduce


def by_an_alias(rank, ranks, x):
    reduces(total := x.clone())
    return total


def by_getattr(rank, ranks, x):
    getattr(dist, "all_" + "reduce")(total := x.clone())
    return total


def from_within(rank, ranks, x):
    from torch.distributed import distributed_c10d

    distributed_c10d.all_reduce(total := x.clone())
    return total


def by_labkit(rank, ranks, x):
    return ring_all_reduce(x)


def asks_the_checks(rank, ranks, x):
    from labkit.checks.judge import seeded_cases
    from labkit.checks.registry import registry

    exercise = registry().items["distributed.toy"]
    return sum(torch.from_numpy(one) for (one,) in seeded_cases(exercise)[0].args)


FORBIDDEN = ("torch.distributed.all_reduce", "labkit.distributed.collectives")


@pytest.mark.parametrize("answer", [by_an_alias, by_getattr, from_within, by_labkit])
def test_what_is_forbidden_is_found_in_the_ranks(answer, monkeypatch, capsys):
    said = feedback(toy(monkeypatch, forbidden=FORBIDDEN), answer, capsys)
    name = FORBIDDEN[answer is by_labkit]
    assert f"The function uses {name}; this exercise asks you to do without it." in said
    assert f"of {answer.__name__}:" in said


def test_a_whole_module_is_forbidden(monkeypatch, capsys):
    exercise = toy(monkeypatch, forbidden=("torch.distributed",))
    assert "The function uses torch.distributed" in feedback(exercise, by_getattr, capsys)
    assert feedback(exercise, around, capsys).startswith("Right")  # labkit may


def test_the_answers_are_forbidden(monkeypatch, capsys):
    assert "The function uses labkit.checks." in feedback(toy(monkeypatch), asks_the_checks, capsys)


# Results, demands, arguments.


def too_much(traffic):
    if traffic.ranks > 1 and traffic.most_received > (traffic.ranks - 1) * 4 * 7:
        return "The sum is right, but too much is received."
    if traffic.steps > traffic.ranks - 1:
        return f"The sum is right, but it takes {traffic.steps} steps on {traffic.ranks} ranks."
    return None


def test_what_is_right_may_be_too_dear(monkeypatch, capsys):
    exercise = toy(monkeypatch, demand=too_much)
    assert feedback(exercise, around, capsys).startswith("Right")
    said = feedback(exercise, through_rank_0, capsys)
    assert "The sum is right, but it takes 2 steps on 2 ranks." in said
    assert "Likely cause: Each rank keeps" in feedback(exercise, keeps, capsys)


def counts_and_parts(rank, ranks, x):
    parts = [torch.empty_like(x) for _ in range(ranks)]
    dist.all_gather(parts, x)
    dist.reduce(total := x.clone(), 0)
    return parts, ranks, total if rank == 0 else None


def of_all(by_rank):
    total = sum(x for (x,) in by_rank)
    parts = [x for (x,) in by_rank]
    return [(parts, len(by_rank), None if rank else total) for rank in range(len(by_rank))]


def one_part_less(rank, ranks, x):
    parts, number, total = counts_and_parts(rank, ranks, x)
    return parts[1:], number, total


def parts_turned(rank, ranks, x):
    parts, number, total = counts_and_parts(rank, ranks, x)
    return parts[::-1], number, total


def no_number(rank, ranks, x):
    parts, _, total = counts_and_parts(rank, ranks, x)
    return parts, total


def test_several_results_lists_numbers_and_what_is_not_looked_at(monkeypatch, capsys):
    exercise = toy(
        monkeypatch,
        results=("parts", "number", "total"),
        oracle=of_all,
        wrong={"own": lambda by_rank: [([x for (x,) in by_rank], 0, None)] * len(by_rank)},
    )
    assert feedback(exercise, counts_and_parts, capsys).startswith("Right")
    said = feedback(exercise, one_part_less, capsys)
    assert "Rank 0 returns a list of 0 values as parts; it should be a list of 1 tensor." in said
    assert "rank 0: parts[0, 0] is" in feedback(exercise, parts_turned, capsys)
    assert "Rank 0 returns a tuple of 2 values; it should return parts, number, total." in feedback(
        exercise, no_number, capsys
    )


def in_place(rank, ranks, x):
    dist.all_reduce(x)


def by_data_parallel(rank, ranks, x):
    from labkit.distributed.ddp import DataParallel

    model = DataParallel(torch.nn.Linear(len(x), 1, bias=False))
    model(ranks * x).sum().backward()
    model.finish()
    return model.module.weight.grad[0]


def test_what_labkit_builds_on_torch_works_in_a_check(monkeypatch, capsys):
    assert feedback(toy(monkeypatch), by_data_parallel, capsys).startswith("Right")


def test_results_in_place(monkeypatch, capsys):
    exercise = toy(monkeypatch, in_place=True)
    assert feedback(exercise, in_place, capsys).startswith("Right")
    assert feedback(exercise, changes, capsys).startswith("Right")
    assert "is not solved yet" in feedback(exercise, nothing, capsys)


def with_a_model(rank, ranks, model, x):
    return right(model(x[None])[0].detach())


def test_arguments_that_are_made_in_the_ranks(monkeypatch, capsys):
    def model_and_x(x):
        model = torch.nn.Linear(len(x), len(x), bias=False)
        with torch.no_grad():
            model.weight.copy_(2 * torch.eye(len(x)))
        return model, x

    exercise = toy(
        monkeypatch,
        solution=lambda rank, ranks, model, x: None,
        given=model_and_x,
        oracle=lambda by_rank: [2 * sum(x for (x,) in by_rank)] * len(by_rank),
        wrong={},
    )
    assert feedback(exercise, with_a_model, capsys).startswith("Right")


def test_what_a_check_handed_on_may_be_used_later_and_not_for_the_same_exercise(
    monkeypatch, capsys
):
    earlier = toy(monkeypatch, forbidden=FORBIDDEN)
    later = replace(toy(monkeypatch, solution=keeps), id="distributed.later")
    with registered(earlier):
        handed_on = check("distributed.toy", keeps)
    capsys.readouterr()

    def calls_it(rank, ranks, x):
        return handed_on(rank, ranks, x)

    assert feedback(later, calls_it, capsys).startswith("Right")
    assert "calls the course's own answer" in feedback(earlier, calls_it, capsys)


# Other ways than messages.


def by_a_file(rank, ranks, x):
    torch.save(x, f"{FOLDER}/{rank}")
    return right(x)


def by_a_path(rank, ranks, x):
    Path(FOLDER, str(rank)).write_bytes(x.numpy().tobytes())
    return right(x)


def by_shared_memory(rank, ranks, x):
    return right(x.clone().share_memory_())


FOLDER = "/tmp"


@pytest.mark.parametrize("answer", [by_a_file, by_a_path, by_shared_memory])
def test_ranks_speak_by_messages_alone(answer, monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(globals(), "FOLDER", str(tmp_path))
    said = feedback(toy(monkeypatch), answer, capsys)
    assert "The function writes to a file; ranks pass on what they have by messages alone." in said
    assert f"of {answer.__name__}:" in said


def imports_what_is_compiled(rank, ranks, x):
    import sys

    sys.path.insert(0, FOLDER)
    sys.dont_write_bytecode = False
    import a_module_to_compile

    assert a_module_to_compile.ONE == 1
    return right(x)


def test_a_package_may_write_while_it_is_imported(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(globals(), "FOLDER", str(tmp_path))
    (tmp_path / "a_module_to_compile.py").write_text("ONE = 1\n")
    assert feedback(toy(monkeypatch), imports_what_is_compiled, capsys).startswith("Right")


# Results that would run code in the process that judges them.


class Runs(float):
    def __reduce__(self):
        return os.mkdir, (f"{FOLDER}/made",)


class RunsAsANumber(np.float64):
    __reduce__ = Runs.__reduce__


class RunsAsATensor(torch.Tensor):
    __reduce__ = Runs.__reduce__

    def detach(self):
        return self

    cpu = numpy = copy = detach


def speaks_itself(rank, ranks, x):
    import gc

    from labkit.distributed.judging.referee_line import RefereeLine

    line = next(one for one in gc.get_objects() if type(one) is RefereeLine)
    line._talk.send(Runs())
    return right(x)


ODD = {
    "float": lambda rank, ranks, x: Runs(1),
    "NumPy's float": lambda rank, ranks, x: [RunsAsANumber(1)],
    "tensor": lambda rank, ranks, x: torch.ones(3).as_subclass(RunsAsATensor),
    "word": speaks_itself,
}


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_a_result_runs_nothing_in_the_checking_process(answer, monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(globals(), "FOLDER", str(tmp_path))
    said = feedback(toy(monkeypatch), answer, capsys)
    assert said.startswith("Look again")
    assert not (tmp_path / "made").exists()


def test_a_number_of_a_class_of_its_own_is_a_number(monkeypatch, capsys):
    exercise = toy(monkeypatch, oracle=lambda by_rank: [2] * len(by_rank), wrong={})
    assert feedback(exercise, lambda rank, ranks, x: signal.SIGINT, capsys).startswith("Right")


@pytest.mark.parametrize("value", [np.arange(3.0), np.float32(2), (1, [None, True])])
def test_numbers_are_read_and_functions_are_not(value):
    np.testing.assert_equal(read_known(pickle.dumps(value)), value)
    for foreign in (os.mkdir, Runs(1), [print], np.save):
        with pytest.raises(pickle.UnpicklingError, match="may not come from a rank"):
            read_known(pickle.dumps(foreign))


def test_cases_of_other_numbers_of_ranks_are_refused():
    for ranks, made in ((0, 0), (6, 6), (2, 3)):
        cases = ranks_cases({"odd": (ranks, 1)}, lambda rng, _, n, made=made: inputs(rng, made, n))
        with pytest.raises(ValueError, match="Case 'odd'"):
            list(cases(np.random.default_rng(0)))


def test_plain_gives_what_a_function_computes(monkeypatch):
    exercise = toy(monkeypatch)
    (case, *_) = list(exercise.cases(np.random.default_rng(7)))[1:]
    with travels(divided):
        halves = exercise.plain(divided, *case.args)
        assert np.allclose(2 * halves[0], exercise.oracle(*case.args)[0])
        with pytest.raises(Refused):
            exercise.plain(sends_first, *case.args)


# A cell's lines, an interrupted check, and what is left behind.


def test_the_lines_of_a_cell_are_shown(monkeypatch, capsys):
    import linecache

    source = "def cell(rank, ranks, x):\n    y = x\n    return y.no_such\n"
    linecache.cache["<a cell>"] = (len(source), None, source.splitlines(True), "<a cell>")
    names = {"__name__": "__cell__"}
    exec(compile(source, "<a cell>", "exec"), names)
    said = feedback(toy(monkeypatch), names["cell"], capsys)
    assert "It happens in line 3 of cell: return y.no_such" in said


def interrupts(rank, ranks, x):
    if rank == 1:
        os.kill(MAIN, signal.SIGINT)
        time.sleep(1e6)
    return right(x)


def test_ctrl_c_ends_the_check_and_all_ranks(monkeypatch, capsys):
    import multiprocessing

    assert "was interrupted" in feedback(toy(monkeypatch), interrupts, capsys)
    assert not multiprocessing.active_children()


def test_nothing_is_left_behind(monkeypatch, capsys, tmp_path):
    import multiprocessing

    def tells_its_number(rank, ranks, x):
        (tmp_path / f"{os.getpid()}").touch()
        if rank == 0 and os.fork() == 0:
            (tmp_path / f"{os.getpid()}").touch()
            time.sleep(1e6)
        return sends_first(rank, ranks, x)

    feedback(toy(monkeypatch), tells_its_number, capsys)
    assert not multiprocessing.active_children()
    numbers = [int(path.name) for path in tmp_path.iterdir()]
    assert numbers
    for number in numbers:
        while _lives(number):  # killed, and not yet taken out of the table
            time.sleep(0.01)


def _lives(number):
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_the_guide_s_example(room, capsys):
    room.prefix("distributed")
    code = (HERE / "pass_on_exercise.py").read_text("utf-8")
    texts = (HERE / "pass_on_texts.toml").read_text("utf-8")
    (exercise,) = importlib.import_module(room.lesson("passing", texts, code)).EXERCISES

    def pass_on(step):
        def passes(rank, ranks, x):
            got = x.clone()
            if ranks > 1:
                exchange(x, (rank + step) % ranks, got, (rank - step) % ranks)
            return got

        return passes

    with travels(exercise.fallback):
        assert feedback(exercise, pass_on(1), capsys).startswith("Right")
        assert "Likely cause: To the left." in feedback(exercise, pass_on(-1), capsys)


def every_collective(rank, ranks, x):
    """The results of all collectives, each worked out once more from what all have."""
    dist.all_reduce(sum_of_x := x.clone())
    x = (8 * x).round()  # whole numbers: their sums are exact in any order
    parts = [torch.empty_like(x) for _ in range(ranks)]
    dist.all_gather(parts, x)
    total, rows = sum(parts), torch.stack(parts)
    found = {"all_gather": (parts[rank], x)}
    dist.broadcast(root := x.clone(), ranks - 1)
    found["broadcast"] = root, parts[-1]
    for op, want in (("MAX", rows.amax(0)), ("MIN", rows.amin(0)), ("PRODUCT", rows.prod(0))):
        dist.all_reduce(got := x.clone(), getattr(dist.ReduceOp, op))
        found[op] = got, want
    dist.reduce(got := x.clone(), 0)
    found["reduce"] = got, x if rank else total
    lists = [torch.empty_like(x) for _ in range(ranks)] if rank == 1 else None
    dist.gather(x, lists, 1)
    found["gather"] = (torch.stack(lists), rows) if lists else (x, x)
    dist.all_gather_into_tensor(got := torch.empty(ranks * len(x)), x)
    found["into"] = got, rows.flatten()
    dist.reduce_scatter(got := torch.empty_like(x), [x + r for r in range(ranks)])
    found["reduce_scatter"] = got, total + ranks * rank
    dist.reduce_scatter_tensor(got := torch.empty_like(x), torch.cat([x] * ranks))
    found["tensor"] = got, total
    dist.scatter(got := torch.empty_like(x), [x + r for r in range(ranks)] if rank == 0 else None)
    found["scatter"] = got, parts[0] + rank
    each = torch.arange(ranks * 2.0) + 10 * rank
    dist.all_to_all_single(got := torch.empty_like(each), each)
    want = torch.stack([torch.arange(2.0) + 2 * rank + 10 * r for r in range(ranks)])
    found["all_to_all"] = got, want.flatten()
    dist.all_gather_object(said := [None] * ranks, {"rank": rank})
    dist.broadcast_object_list(told := [rank, None], 1)
    objects = said == [{"rank": r} for r in range(ranks)] and told == [1, None]
    half = x.bfloat16()
    dist.all_reduce(half)
    found["bfloat16"] = half, sum(part.bfloat16() for part in parts)
    dist.all_reduce(one := torch.tensor(3.0))
    found["scalar"] = one, torch.tensor(3.0 * ranks)
    dist.barrier()
    wrong = [name for name, (got, want) in found.items() if not torch.equal(got, want)]
    return "".join(wrong) if wrong or not objects else sum_of_x


def test_every_collective_gives_what_torch_gives(monkeypatch, capsys):
    from labkit.distributed import launch

    exercise = toy(monkeypatch, cases=ranks_cases({"three": (3, 4)}, inputs), wrong={})
    assert feedback(exercise, every_collective, capsys).startswith("Right")
    with travels(every_collective):  # the same function among the backend's own
        found = launch(every_collective, 2, torch.tensor([1.0, -2.0]), timeout=300)
    assert all(torch.equal(one, torch.tensor([2.0, -4.0])) for one in found), found


def both_ways(rank, ranks, x):
    """A batch of sends and receives, among all pairs."""
    others = [other for other in range(ranks) if other != rank]
    got = {other: torch.empty_like(x) for other in others}
    batch = [dist.P2POp(dist.isend, x, other) for other in others]
    batch += [dist.P2POp(dist.irecv, got[other], other) for other in others]
    for work in dist.batch_isend_irecv(batch) if batch else ():
        work.wait()
    return sum(got.values(), x.clone())


def test_a_batch_of_sends_and_receives(monkeypatch, capsys):
    exercise = toy(monkeypatch, demand=lambda traffic: "" if traffic.steps < 2 else "Too slow.")
    assert feedback(exercise, both_ways, capsys).startswith("Right")
