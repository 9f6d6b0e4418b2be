"""What takes the place of torch.distributed's functions in an exercise's rank processes.

Same names, same parameters, same results; the bytes go through the referee. A sum is made in every
rank, in the order of the ranks, so that all have the same. What is not here says so.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from labkit.distributed.referee_line import RefereeLine
from labkit.distributed.tensor_bytes import bytes_of, dtype_name, fill, tensors_of

REDUCED_BY = {
    "sum": torch.add,
    "product": torch.mul,
    "min": torch.minimum,
    "max": torch.maximum,
}
_line: RefereeLine  # to the referee; there is one for each process


class Work:
    """An operation that was begun: what torch.distributed's asynchronous calls give back."""

    def __init__(self, number: int, name: str, given: torch.Tensor | None, finish: Callable):
        self._number = number
        self._name = name
        self._given = given
        self._before = bytes_of(given) if given is not None else b""
        self._finish = finish
        self._done = False
        self._result: Any = None

    def wait(self, timeout: object = None) -> bool:
        """Returns when the operation is done; what it receives is in its tensor then."""
        if not self._done:
            done = _line.wait(self._number)
            self._done = True
            self._refuse_changed()
            self._result = self._finish(done)
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        if not self._done and _line.test(self._number):
            self.wait()
        return self._done

    def is_success(self) -> bool:
        """Whether it is done; it cannot fail."""
        return self._done

    def _refuse_changed(self) -> None:
        if self._given is not None and bytes_of(self._given) != self._before:
            raise RuntimeError(
                f"The tensor of {self._name} was changed before wait(): until then its memory is "
                "being read, and nobody knows which of the two values is used."
            )


class P2POp:
    """A send or a receive for `batch_isend_irecv`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("P2POp takes dist.isend or dist.irecv as its op.")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.peer = _other(peer, group_peer, group)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """As torch.distributed.send; done when the other rank receives."""
    _send("send", tensor, _other(dst, group_dst, group), tag).wait()


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """As torch.distributed.isend."""
    return _send("isend", tensor, _other(dst, group_dst, group), tag, late=True)


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """As torch.distributed.recv; returns the rank that sent."""
    work = _receive("recv", tensor, _source(src, group_src, group), tag)
    work.wait()
    return work._result


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """As torch.distributed.irecv."""
    return _receive("irecv", tensor, _source(src, group_src, group), tag, late=True)


def batch_isend_irecv(p2p_op_list):
    """As torch.distributed.batch_isend_irecv."""
    return [one.op(one.tensor, one.peer, tag=one.tag) for one in p2p_op_list]


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """As torch.distributed.broadcast."""
    root = _root(src, group_src, group)
    given = tensor if _line.rank == root else None

    def finish(parts):
        fill(tensor, parts[root])

    return _together("broadcast", tensor, given, finish, async_op, root=root)


def reduce(tensor, dst=None, op=dist.ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """As torch.distributed.reduce; the other ranks' tensors stay as they are."""
    root = _root(dst, group_dst, group)
    by = _reduction(op)

    def finish(parts):
        if _line.rank == root:
            _reduced(tensor, parts, by)

    return _together("reduce", tensor, tensor, finish, async_op, root=root, op=by)


def all_reduce(tensor, op=dist.ReduceOp.SUM, group=None, async_op=False):
    """As torch.distributed.all_reduce."""
    _whole(group)
    by = _reduction(op)

    def finish(parts):
        _reduced(tensor, parts, by)

    return _together("all_reduce", tensor, tensor, finish, async_op, op=by)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """As torch.distributed.gather."""
    root = _root(0 if dst is None and group_dst is None else dst, group_dst, group)
    targets = _list_of_root("gather_list", gather_list, root)

    def finish(parts):
        for target, part in zip(targets, parts if targets else (), strict=True):
            fill(target, part)

    _refuse_other_sizes("gather_list", targets, tensor)
    return _together("gather", tensor, tensor, finish, async_op, root=root)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """As torch.distributed.all_gather."""
    _whole(group)
    targets = _full("tensor_list", tensor_list)
    _refuse_other_sizes("tensor_list", targets, tensor)

    def finish(parts):
        for target, part in zip(targets, parts, strict=True):
            fill(target, part)

    return _together("all_gather", tensor, tensor, finish, async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """As torch.distributed.all_gather_into_tensor."""
    _whole(group)
    _refuse_other_total("all_gather_into_tensor", output_tensor, input_tensor)

    def finish(parts):
        fill(output_tensor, b"".join(parts))

    return _together("all_gather_into_tensor", input_tensor, input_tensor, finish, async_op)


def reduce_scatter(output, input_list, op=dist.ReduceOp.SUM, group=None, async_op=False):
    """As torch.distributed.reduce_scatter."""
    _whole(group)
    given = _full("input_list", input_list)
    by = _reduction(op)
    if given[_line.rank].numel() != output.numel():
        raise ValueError("reduce_scatter: output is as large as input_list[rank].")
    whole = torch.cat([_contiguous(part).detach().reshape(-1) for part in given])

    def finish(parts):
        _reduced_part(output, whole, parts, by, sum(p.numel() for p in given[: _line.rank]))

    return _together("reduce_scatter", whole, whole, finish, async_op, op=by)


def reduce_scatter_tensor(output, input, op=dist.ReduceOp.SUM, group=None, async_op=False):
    """As torch.distributed.reduce_scatter_tensor."""
    _whole(group)
    by = _reduction(op)
    _refuse_other_total("reduce_scatter_tensor", input, output)

    def finish(parts):
        _reduced_part(output, input, parts, by, _line.rank * output.numel())

    return _together("reduce_scatter_tensor", input, input, finish, async_op, op=by)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """As torch.distributed.scatter."""
    root = _root(0 if src is None and group_src is None else src, group_src, group)
    parts = _list_of_root("scatter_list", scatter_list, root)
    _refuse_other_sizes("scatter_list", parts, tensor)
    given = torch.cat([part.detach().reshape(-1) for part in parts]) if parts else None

    def finish(found):
        size = len(found[root]) // _line.ranks
        fill(tensor, found[root][_line.rank * size : (_line.rank + 1) * size])

    return _together("scatter", tensor, given, finish, async_op, root=root)


def all_to_all_single(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
):
    """As torch.distributed.all_to_all_single, for equal parts."""
    _whole(group)
    if output_split_sizes or input_split_sizes:
        raise NotImplementedError("In a check, all_to_all_single takes equal parts only.")
    if input.shape != output.shape or len(input) % _line.ranks:
        raise ValueError("all_to_all_single: input and output have ranks x k rows, both.")

    def finish(parts):
        size = len(parts[0]) // _line.ranks
        fill(output, b"".join(part[_line.rank * size : (_line.rank + 1) * size] for part in parts))

    return _together("all_to_all_single", input, input, finish, async_op)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """As torch.distributed.barrier."""
    _whole(group)
    return _together("barrier", None, None, lambda parts: None, async_op)


def get_rank(group=None):
    """As torch.distributed.get_rank."""
    _whole(group)
    return _line.rank


def get_world_size(group=None):
    """As torch.distributed.get_world_size."""
    _whole(group)
    return _line.ranks


def get_backend(group=None):
    """What a launch on CPUs would say."""
    return "gloo"


def is_initialized():
    """Always: the ranks have joined."""
    return True


def init_process_group(*args, **kwargs):
    """Refused: the ranks have joined one group already."""
    raise RuntimeError("The ranks have joined one group before your function begins: leave it out.")


def destroy_process_group(group=None):
    """Refused: the group outlives the function."""
    raise RuntimeError("The group is ended after your function returns: leave it out.")


def new_group(*args, **kwargs):
    """Refused: there is one group only."""
    raise NotImplementedError("In a check, all ranks are one group: new_group is not there.")


FUNCTIONS = (
    *(send, isend, recv, irecv, batch_isend_irecv, P2POp),
    *(broadcast, reduce, all_reduce, gather, all_gather, all_gather_into_tensor),
    *(reduce_scatter, reduce_scatter_tensor, scatter, all_to_all_single, barrier),
    *(get_rank, get_world_size, get_backend, is_initialized),
    *(init_process_group, destroy_process_group, new_group),
)


ABSENT = (
    *("all_gather_object", "gather_object", "scatter_object_list", "broadcast_object_list"),
    *("send_object_list", "recv_object_list", "all_to_all", "monitored_barrier"),
    *("all_gather_coalesced", "all_reduce_coalesced", "new_subgroups", "split_group"),
)


def _absent(name: str) -> Callable:
    def refuses(*args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"In a check, torch.distributed.{name} is not there.")

    return refuses


def install(line: RefereeLine) -> None:
    """From now on, torch.distributed of this process means the referee."""
    global _line
    _line = line
    functions = {function.__name__: function for function in FUNCTIONS}
    functions |= {name: _absent(name) for name in ABSENT}
    for name, function in functions.items():
        for module in (dist, distributed_c10d):
            setattr(module, name, function)


def _send(name: str, tensor: torch.Tensor, to: int, tag: int, late: bool = False) -> Work:
    given = _contiguous(tensor)
    number = _line.post(
        "send", name, **_of(given), data=bytes_of(given), peer=to, tag=tag, late=late
    )
    return Work(number, name, given if late else None, lambda done: None)


def _receive(name: str, tensor: torch.Tensor, source: int | None, tag: int, late: bool = False):
    _contiguous(tensor)
    number = _line.post("receive", name, **_of(tensor), peer=source, tag=tag, late=late)

    def finish(done):
        fill(tensor, done.data[0])
        return done.source

    return Work(number, name, None, finish)


def _together(
    name: str,
    tensor: torch.Tensor | None,
    given: torch.Tensor | None,
    finish: Callable,
    late: bool,
    root: int | None = None,
    op: str | None = None,
) -> Work | None:
    """A collective on `tensor`, to which this rank gives `given`."""
    data = b"" if given is None else bytes_of(_contiguous(given))
    about = {} if tensor is None else _of(_contiguous(tensor))
    number = _line.post("collective", name, **about, data=data, root=root, op=op, late=late)
    work = Work(number, name, given if late else None, lambda done: finish(done.data))
    if late:
        return work
    work.wait()
    return None


def _of(tensor: torch.Tensor) -> dict:
    return {
        "dtype": dtype_name(tensor),
        "shape": tuple(tensor.shape),
        "size": tensor.numel() * tensor.element_size(),
    }


def _reduced(tensor: torch.Tensor, parts: Sequence[bytes], by: str) -> None:
    total, *others = tensors_of(parts, tensor)
    for other in others:
        total = REDUCED_BY[by](total, other)
    with torch.no_grad():
        tensor.copy_(total)


def _reduced_part(
    output: torch.Tensor, whole: torch.Tensor, parts: Sequence[bytes], by: str, start: int
) -> None:
    total = whole.detach().clone()
    _reduced(total, parts, by)
    with torch.no_grad():
        output.copy_(total.reshape(-1)[start : start + output.numel()].view(output.shape))


def _reduction(op: object) -> str:
    name = str(op).rpartition(".")[2].lower()
    if name == "avg":
        raise RuntimeError("Cannot use ReduceOp.AVG with Gloo: take SUM, and divide.")
    if name not in REDUCED_BY:
        raise NotImplementedError(f"In a check, {', '.join(REDUCED_BY)} reduce; not {op}.")
    return name


def _contiguous(tensor: torch.Tensor) -> torch.Tensor:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"A tensor is needed, not a value of type {type(tensor).__name__}.")
    if not tensor.is_contiguous():
        raise ValueError("Tensors must be contiguous: take x.contiguous().")
    return tensor


def _whole(group: object) -> None:
    if group is not None:
        raise NotImplementedError("In a check, all ranks are one group: leave `group` out.")


def _root(rank: int | None, other: int | None, group: object) -> int:
    _whole(group)
    root = other if rank is None else rank
    if root is None:
        raise ValueError("Which rank? src or dst is needed.")
    if not 0 <= root < _line.ranks:
        raise ValueError(f"There is no rank {root}: there are {_line.ranks}, counted from 0.")
    return int(root)


def _other(rank: int | None, other: int | None, group: object) -> int:
    found = _root(rank, other, group)
    if found == _line.rank:
        raise ValueError(f"Rank {found} cannot send to itself, nor receive from itself.")
    return found


def _source(rank: int | None, other: int | None, group: object) -> int | None:
    return None if rank is None and other is None else _other(rank, other, group)


def _full(name: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    if not isinstance(tensors, list | tuple) or len(tensors) != _line.ranks:
        raise ValueError(f"{name} has one tensor for each of the {_line.ranks} ranks.")
    return list(tensors)


def _list_of_root(name: str, tensors: Sequence | None, root: int) -> list[torch.Tensor]:
    if _line.rank == root:
        return _full(name, tensors)
    if tensors:
        raise ValueError(f"{name} is for rank {root} alone; in the other ranks it is None.")
    return []


def _refuse_other_sizes(name: str, parts: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
    for part in parts:
        if part.numel() != tensor.numel() or part.dtype != tensor.dtype:
            raise ValueError(f"Each tensor in {name} is as large as the other one, of its dtype.")


def _refuse_other_total(name: str, large: torch.Tensor, small: torch.Tensor) -> None:
    if large.numel() != _line.ranks * small.numel() or large.dtype != small.dtype:
        raise ValueError(
            f"{name}: the large tensor has {_line.ranks} times as many elements as the other."
        )
