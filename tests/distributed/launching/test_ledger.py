"""The ledger: every call of a program, in its order, with what it was called with."""

import pytest

from labkit.distributed import launch
from labkit.distributed.launching import ledger
from labkit.distributed.launching.ledger import Call, Ledger

ENOUGH = 300.0


def program(rank, ranks, path):
    """Calls of many kinds, in every way in which they can be named."""
    import pathlib

    import torch
    import torch.distributed as dist
    from torch.distributed import distributed_c10d as home

    from labkit.distributed.launching import ledger as own

    mine = pathlib.Path(f"{path}-{rank}")
    own.keep(mine)
    from torch.distributed import all_reduce

    x = torch.ones(2, 3)
    dist.all_reduce(x)
    all_reduce(tensor=x, op=dist.ReduceOp.MAX)
    home.broadcast(x, group_src=1)
    dist.reduce(x, 1)
    parts = [torch.empty(2, 3) for _ in range(ranks)]
    dist.gather(x, parts if rank == 0 else None)
    dist.all_gather_object([None] * ranks, {"any": "thing"})  # calls others, which are not ours
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(x[0], group=pair)
    operations = [dist.P2POp(dist.isend, x, (rank + 1) % ranks)]
    operations += [dist.P2POp(dist.irecv, parts[0], (rank - 1) % ranks)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    if rank == 0:
        dist.send(x.long(), 2, tag=5)
        dist.send(x, 2)
    if rank == 2:
        dist.recv(x.long(), 0, tag=5)
        dist.recv(x)
    with_wrong_arguments = 0
    try:
        dist.all_reduce("no tensor")
    except (TypeError, ValueError, RuntimeError, AttributeError):
        with_wrong_arguments = 1
    dist.barrier()
    return list(own.read(mine)), with_wrong_arguments


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return launch(program, 3, str(tmp_path_factory.mktemp("ledgers") / "one"), timeout=ENOUGH)


def collectives(calls, group=()):
    return [call for call in calls if call.name in ledger.SIZED and call.group == group]


def test_collectives_in_their_order(records):
    """And nothing of what these call themselves, as all_gather_object does."""
    tensor = {"tensor": "float32[2, 3]", "numbers": 6}
    for calls, refused in records:
        assert refused == 1
        wanted = [
            Call("all_reduce", 1, **tensor, op="SUM"),
            Call("all_reduce", 2, **tensor, op="MAX"),
            Call("broadcast", 3, **tensor, peer=1),
            Call("reduce", 4, **tensor, op="SUM", peer=1),
            Call("gather", 5, **tensor, peer=0),
            Call("all_gather_object", 6),
            Call("new_group", 7),
            Call("all_reduce", 8, op="SUM"),  # the one with a wrong argument
            Call("barrier", 9),
        ]
        assert collectives(calls) == wanted


def test_a_group_s_own(records):
    for rank, (calls, _) in enumerate(records):
        wanted = [Call("all_reduce", 1, "float32[3]", 3, "SUM", group=(0, 1))]
        assert collectives(calls, (0, 1)) == (wanted if rank < 2 else [])


def test_messages(records):
    def of(rank, names):
        return [call for call in records[rank][0] if call.name in names]

    for rank in range(3):
        first = of(rank, ("isend", "irecv"))
        assert [call.peer for call in first] == [(rank + 1) % 3, (rank - 1) % 3]
    tagged, plain = of(0, ("send",))
    assert tagged == Call("send", 1, "int64[2, 3]", 6, peer=2, tag=5)
    assert (plain.place, plain.peer, plain.tag) == (1, 2, 0)
    tagged, plain = of(2, ("recv",))
    assert tagged.peer == 0 and plain.peer is None


def test_emulated_links_write_down_the_program_s_messages_only(tmp_path):
    def sends(rank, ranks, path):
        import pathlib

        import torch

        from labkit.distributed import emulated_link, exchange
        from labkit.distributed.launching import ledger

        mine = pathlib.Path(f"{path}-{rank}")
        ledger.keep(mine)
        with emulated_link(1e-3, 1e6):
            exchange(torch.ones(5), 1 - rank, torch.empty(5), 1 - rank)
        return [(call.name, call.tensor) for call in ledger.read(mine)]

    found = launch(sends, 2, str(tmp_path / "calls"), timeout=ENOUGH)
    assert found == [[("irecv", "float32[5]"), ("isend", "float32[5]")]] * 2


def test_old_pages_go_and_places_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "PAGE", 10)
    path = tmp_path / "calls"
    book = Ledger(path)
    for _ in range(37):
        book.write("all", name="barrier")
    assert [call.place for call in ledger.read(path)] == list(range(21, 38))


def test_a_line_that_is_not_whole_is_left_out(tmp_path):
    path = tmp_path / "calls"
    Ledger(path).write("all", name="barrier")
    with path.open("a") as file:
        file.write('{"name": "barr')
    assert list(ledger.read(path)) == [Call("barrier", 1)]
    assert list(ledger.read(tmp_path / "nothing")) == []


def test_calls_while_they_are_written(tmp_path, monkeypatch):
    """Over the turn of a page; a page that came and went between two looks is left out."""
    monkeypatch.setattr(ledger, "PAGE", 10)
    reader = ledger.Reader(tmp_path / "calls")
    assert list(reader.new()) == []
    book = Ledger(tmp_path / "calls")
    found = []
    for calls in (3, 4, 5, 0, 20):
        for _ in range(calls):
            book.write("all", name="barrier")
        found.append([call.place for call in reader.new()])
    reader.close()
    last = [*range(13, 21), 31, 32]
    assert found == [[1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11, 12], [], last]


def test_a_half_line_is_read_when_it_is_whole(tmp_path):
    path = tmp_path / "calls"
    reader = ledger.Reader(path)
    path.write_text('{"name": "barrier", "pl')
    assert list(reader.new()) == []
    with path.open("a") as file:
        file.write('ace": 7}\n')
    assert list(reader.new()) == [Call("barrier", 7)]
    reader.close()
