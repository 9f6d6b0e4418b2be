"""What a PyTorch user does in a rank: each works, or is told in one sentence."""

import copy
import multiprocessing
import os
import sys
import time

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from labkit.checks.watch import memory
from labkit.distributed import LaunchError, launch
from labkit.distributed.launching.parcels import LARGE, MAPPED
from tests.distributed.test_launch import alive, wait_until
from tests.night import others_by_night

ENOUGH = 300.0  # seconds: only ends a launch that would hang


class Squares(Dataset):
    """0, 1, 4, ...: a hundred of them; the one numbered `bad` raises."""

    def __init__(self, bad=None):
        self.bad = bad

    def __len__(self):
        return 100

    def __getitem__(self, place):
        if place == self.bad:
            raise KeyError(f"no square {place}")
        return place**2


def launched(function, *args, **options):
    return launch(function, 2, *args, **{"timeout": ENOUGH} | options)


def sentence_of(function, *args, **options) -> str:
    """The first line of what a launch raises."""
    with pytest.raises(LaunchError) as told:
        launched(function, *args, **options)
    return str(told.value).partition("\n")[0]


def test_01_loader_workers_with_a_distributed_sampler():
    def load(rank, ranks):
        data = Squares()
        sampler = DistributedSampler(data, shuffle=True)
        sampler.set_epoch(1)
        loader = DataLoader(data, batch_size=8, sampler=sampler, num_workers=2)
        return torch.cat(list(loader)).tolist()

    found = launched(load)
    assert sorted(found[0] + found[1]) == [place**2 for place in range(100)]


def test_02_an_exception_in_a_worker():
    def load(rank, ranks):
        list(DataLoader(Squares(bad=7), num_workers=2))

    with pytest.raises(LaunchError) as told:
        launched(load)
    text = str(told.value)
    assert "raised KeyError" in text.partition("\n")[0] and "no square 7" in text


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "end",
    others_by_night(
        ["returns", "is killed", "raises"],
        instead="tests/distributed/test_launch_as_pytorch_users.py::"
        "test_03_what_a_rank_has_started_ends_with_it",
        by_day=2,
    ),
)
def test_03_what_a_rank_has_started_ends_with_it(end, tmp_path):
    """Workers that persist, a nested process and one of that: all are gone when launch is."""

    def starts(rank, ranks):
        def sleeps(name):
            import time

            (tmp_path / f"{rank}-{name}").write_text(str(os.getpid()))
            if name == "child":
                multiprocessing.Process(target=sleeps, args=("grandchild",)).start()
            time.sleep(1000)

        loader = DataLoader(Squares(), num_workers=1, persistent_workers=True)
        assert next(iter(loader)) == 0
        multiprocessing.Process(target=sleeps, args=("child",)).start()
        while len(list(tmp_path.iterdir())) < 2 * ranks or not all(
            path.read_text() for path in tmp_path.iterdir()
        ):
            pass
        dist.barrier()
        if end == "raises":
            raise ValueError("enough")
        if end == "is killed":
            os.kill(os.getpid(), 9)
        return loader._iterator._workers[0].pid

    if end == "returns":
        workers = launched(starts)
    else:
        assert {"raises": "ValueError", "is killed": "SIGKILL"}[end] in sentence_of(starts)
        workers = []
    started = [*workers, *(int(path.read_text()) for path in tmp_path.iterdir())]
    assert len(started) == 2 * 2 + len(workers)
    wait_until(lambda: not any(map(alive, started)))


def test_04_barrier_new_group_and_async_op():
    def groups(rank, ranks):
        own = [dist.new_group([one]) for one in range(ranks)][rank]
        x, y = torch.ones(3), torch.ones(3)
        dist.all_reduce(x, group=own)
        work = dist.all_reduce(y, async_op=True)
        work.wait()
        dist.barrier()
        return x[0].item(), y[0].item()

    assert launched(groups) == [(1, 2), (1, 2)]


def test_05_objects():
    def objects(rank, ranks):
        all_of_them = [None] * ranks
        dist.all_gather_object(all_of_them, {"rank": rank})
        one = [{"seed": 5} if rank == 0 else None]
        dist.broadcast_object_list(one, src=0)
        return all_of_them, one

    assert launched(objects) == [([{"rank": 0}, {"rank": 1}], [{"seed": 5}])] * 2


def test_06_prints_come_in_the_order_of_the_ranks(capfd):
    def speaks(rank, ranks):
        if rank == 1:
            print("first in time")
        dist.barrier()
        if rank == 0:
            print("second in time")
        dist.barrier()

    launched(speaks)
    assert capfd.readouterr().out == "[rank 0] second in time\n[rank 1] first in time\n"


def test_07_prints_of_all_ranks_as_they_come(capfd):
    """A rank goes on when the launching process has shown what the other one printed."""

    def in_turn(rank, ranks):
        for turn in range(4):
            if turn % 2 == 1 - rank:
                print("turn", turn, end="\n" if turn < 3 else "")
            dist.barrier()

    launched(in_turn, live=True)
    lines = capfd.readouterr().out.splitlines()
    for rank in range(2):
        own = [line for line in lines if line.startswith(f"[rank {rank}]")]
        assert own == [f"[rank {rank}] turn {turn}" for turn in range(4) if turn % 2 == 1 - rank]


def test_08_bars_of_tqdm(capfd):
    def bars(rank, ranks):
        from tqdm import tqdm

        for _ in tqdm(range(3), disable=rank != 0, mininterval=0, ascii=True):
            pass

    launched(bars)
    out = capfd.readouterr().out
    assert "\r[rank 0] 100%|##########| 3/3" in out and out.endswith("\n")
    assert "[rank 1]" not in out and out.count("\n") == 1


def test_09_sys_exit():
    assert sentence_of(lambda rank, ranks: sys.exit(3)).endswith("raised SystemExit: 3")


def test_10_a_rank_s_place_in_its_environment():
    names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"]
    found = launched(lambda rank, ranks: [os.environ[name] for name in names])
    assert found == [["0", "0", "2", "2"], ["1", "1", "2", "2"]]


def test_11_a_seed_for_each_rank():
    def draws(rank, ranks):
        torch.manual_seed(rank)
        return torch.rand(3)

    found = launched(draws)
    for rank, numbers in enumerate(found):
        assert torch.equal(numbers, draws(rank, 2))


def test_12_a_model_there_and_back():
    """Weights that two layers share are shared in a rank; the launching process keeps its own."""

    class Twins(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(1000, 1000, bias=False)
            self.second = nn.Linear(1000, 1000, bias=False)
            self.second.weight = self.first.weight

    def adds(rank, ranks, model):
        with torch.no_grad():
            model.first.weight += rank + 1
        return model

    model = Twins()
    before = copy.deepcopy(model)
    for rank, found in enumerate(launched(adds, model)):
        assert found.first.weight is found.second.weight and found.first.weight.requires_grad
        assert torch.equal(found.first.weight, model.first.weight + (rank + 1))
    assert torch.equal(before.first.weight, model.first.weight)


@pytest.mark.parametrize("size", [LARGE, MAPPED])
def test_13_large_tensors_and_arrays(size):
    """They are each rank's own, and may be written to in all processes."""

    def changes(rank, ranks, x, halves, numbers):
        dist.barrier()
        x += rank
        halves[0] = rank
        numbers[-1] = rank
        dist.barrier()
        return {"x": x, "halves": halves, "numbers": numbers, "first": x[0].item()}

    x = torch.ones(size // 4)
    halves, numbers = torch.ones(size // 2, dtype=torch.bfloat16).reshape(2, -1).T, np.ones(size)
    for rank, found in enumerate(launched(changes, x, halves, numbers)):
        assert found["first"] == 1 + rank and torch.all(found["x"] == 1 + rank)
        assert found["halves"].shape == halves.shape and found["halves"].dtype == torch.bfloat16
        assert found["halves"][0].tolist() == [rank, rank] and found["halves"][1, 0] == 1
        assert found["numbers"][-1] == rank and found["numbers"][:-1].min() == 1
        found["x"] += 1
        found["numbers"] += 1
    assert torch.all(x == 1) and torch.all(halves == 1) and numbers.min() == 1


def test_14_more_arguments_than_memory(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 10**9)
    told = sentence_of(lambda rank, ranks, x: None, np.zeros(300_000_000, np.uint8))
    assert told == (
        "2 ranks need about 1.2 GB of memory, 0.3 GB of arguments in each, and 1.0 GB are free "
        "here: launch at most 1."
    )
    told = sentence_of(lambda rank, ranks, x: None, np.zeros(600_000_000, np.uint8))
    assert told.endswith("hand over less, such as the path of a file.")


def test_15_lambdas_and_what_cells_define():
    """A class and a function of `__main__`, as those of a notebook's cell are."""
    cell = {"__name__": "__main__"}
    code = (
        "class Twice:\n"
        "    def __init__(self, x):\n"
        "        self.x = 2 * x\n"
        "def inner(rank):\n"
        "    return Twice(rank)\n"
        "def outer(rank, ranks):\n"
        "    return inner(rank).x\n"
    )
    exec(code, cell)
    assert launched(cell["outer"]) == [0, 2]
    assert launched(lambda rank, ranks, f: f(rank), lambda rank: rank + 1) == [1, 2]


def test_16_a_tutorial_s_own_set_up_and_clean_up():
    """`init_process_group` finds the group that is there; what it could not be is told."""

    def tutorial(rank, world_size):
        os.environ["MASTER_ADDR"] = "localhost"
        os.environ["MASTER_PORT"] = "12355"
        dist.init_process_group("gloo", rank=rank, world_size=world_size)
        model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        model(torch.full((1, 2), float(rank))).sum().backward()
        grad = model.module.weight.grad.tolist()
        dist.destroy_process_group()
        return grad

    assert launched(tutorial) == [[[0.5, 0.5]]] * 2
    told = sentence_of(lambda rank, ranks: dist.init_process_group("gloo", rank=0, world_size=4))
    assert "init_process_group asks for rank 0 of 4 by gloo, and launch has made" in told


def test_16_whoever_leaves_the_group_waits_for_nobody(tmp_path):
    """Rank 1 begins its part of a collective when rank 0, which has begun it, is out."""

    def leaves(rank, ranks, again):
        if again:
            dist.destroy_process_group()
            where = f"file://{tmp_path}/meeting"
            dist.init_process_group("gloo", init_method=where, rank=rank, world_size=ranks)
        note = tmp_path / f"out {again}"
        if rank == 0:
            dist.all_reduce(torch.ones(1), async_op=True)
            dist.destroy_process_group()
            note.touch()
        else:
            while not note.exists():
                time.sleep(0.01)
            dist.all_reduce(torch.ones(1))
        return rank

    for again in (False, True):
        assert launched(leaves, again) == [0, 1]


def test_17_a_group_of_one_s_own_after_the_first(tmp_path):
    def again(rank, ranks):
        dist.destroy_process_group()
        dist.init_process_group(
            "gloo", init_method=f"file://{tmp_path}/meeting", rank=rank, world_size=ranks
        )
        x = torch.ones(1)
        dist.all_reduce(x)
        return x.item()

    assert launched(again) == [2, 2]


def test_18_threads():
    def threads(rank, ranks):
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        return before, torch.get_num_threads()

    assert launched(threads) == [(1, 2)] * 2


def test_19_shapes_that_differ_are_told_at_once():
    def gathers(rank, ranks):
        x = torch.ones(2 + rank)
        dist.all_gather([torch.empty(2 + rank) for _ in range(ranks)], x)
        dist.barrier()

    told = sentence_of(gathers)
    assert "rank 0 calls all_gather of float32[2] as its 1st collective, rank 1 calls" in told
    assert "all_gather of float32[3]" in told


def test_20_pools_and_subprocesses():
    def pools(rank, ranks):
        import subprocess
        from concurrent.futures import ProcessPoolExecutor

        with multiprocessing.Pool(2) as pool, ProcessPoolExecutor(2) as executor:
            numbers = pool.map(abs, [-1, rank]), list(executor.map(abs, [-2, rank]))
        said = subprocess.run(["echo", "hello"], capture_output=True, text=True).stdout
        return numbers, said

    assert launched(pools) == [(([1, rank], [2, rank]), "hello\n") for rank in range(2)]
