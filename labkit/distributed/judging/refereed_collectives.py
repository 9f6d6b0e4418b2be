"""torch.distributed's collectives, through the referee: same names, same parameters.

Everyone gets what all have given. A sum is made in every rank, in the order of the ranks, so that
all have the same.
"""

import pickle
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

from labkit.distributed.connections.tensor_bytes import bytes_of, fill, tensors_of
from labkit.distributed.judging.refereed_work import Work, about, contiguous, line, root_of, whole

REDUCED_BY = {
    "sum": torch.add,
    "product": torch.mul,
    "min": torch.minimum,
    "max": torch.maximum,
}


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """As torch.distributed.broadcast."""
    root = root_of(src, group_src, group)
    given = tensor if line().rank == root else None

    def finish(parts):
        fill(tensor, parts[root])

    return _together("broadcast", tensor, given, finish, async_op, root=root)


def reduce(tensor, dst=None, op=dist.ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """As torch.distributed.reduce; the other ranks' tensors stay as they are."""
    root = root_of(dst, group_dst, group)
    by = _reduction(op)

    def finish(parts):
        if line().rank == root:
            _reduced(tensor, parts, by)

    return _together("reduce", tensor, tensor, finish, async_op, root=root, op=by)


def all_reduce(tensor, op=dist.ReduceOp.SUM, group=None, async_op=False):
    """As torch.distributed.all_reduce."""
    whole(group)
    by = _reduction(op)

    def finish(parts):
        _reduced(tensor, parts, by)

    return _together("all_reduce", tensor, tensor, finish, async_op, op=by)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """As torch.distributed.gather."""
    root = root_of(0 if dst is None and group_dst is None else dst, group_dst, group)
    targets = _list_of_root("gather_list", gather_list, root)

    def finish(parts):
        for target, part in zip(targets, parts if targets else (), strict=True):
            fill(target, part)

    _refuse_other_sizes("gather_list", targets, tensor)
    return _together("gather", tensor, tensor, finish, async_op, root=root)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """As torch.distributed.all_gather."""
    whole(group)
    targets = _full("tensor_list", tensor_list)
    _refuse_other_sizes("tensor_list", targets, tensor)

    def finish(parts):
        for target, part in zip(targets, parts, strict=True):
            fill(target, part)

    return _together("all_gather", tensor, tensor, finish, async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """As torch.distributed.all_gather_into_tensor."""
    whole(group)
    _refuse_other_total("all_gather_into_tensor", output_tensor, input_tensor)

    def finish(parts):
        fill(output_tensor, b"".join(parts))

    return _together(
        "all_gather_into_tensor",
        input_tensor,
        input_tensor,
        finish,
        async_op,
    )


def reduce_scatter(output, input_list, op=dist.ReduceOp.SUM, group=None, async_op=False):
    """As torch.distributed.reduce_scatter."""
    whole(group)
    given = _full("input_list", input_list)
    by = _reduction(op)
    if given[line().rank].numel() != output.numel():
        raise ValueError("reduce_scatter: output is as large as input_list[rank].")
    joined = torch.cat([contiguous(part).detach().reshape(-1) for part in given])

    def finish(parts):
        _reduced_part(output, joined, parts, by, sum(p.numel() for p in given[: line().rank]))

    return _together("reduce_scatter", joined, joined, finish, async_op, op=by)


def reduce_scatter_tensor(output, input, op=dist.ReduceOp.SUM, group=None, async_op=False):
    """As torch.distributed.reduce_scatter_tensor."""
    whole(group)
    by = _reduction(op)
    _refuse_other_total("reduce_scatter_tensor", input, output)

    def finish(parts):
        _reduced_part(output, input, parts, by, line().rank * output.numel())

    return _together("reduce_scatter_tensor", input, input, finish, async_op, op=by)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """As torch.distributed.scatter."""
    root = root_of(0 if src is None and group_src is None else src, group_src, group)
    parts = _list_of_root("scatter_list", scatter_list, root)
    _refuse_other_sizes("scatter_list", parts, tensor)
    given = torch.cat([part.detach().reshape(-1) for part in parts]) if parts else None

    def finish(parts):
        size = len(parts[root]) // line().ranks
        fill(tensor, parts[root][line().rank * size : (line().rank + 1) * size])

    return _together("scatter", tensor, given, finish, async_op, root=root)


def all_to_all_single(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
):
    """As torch.distributed.all_to_all_single, for equal parts."""
    whole(group)
    if output_split_sizes or input_split_sizes:
        raise NotImplementedError("In a check, all_to_all_single takes equal parts only.")
    if input.shape != output.shape or len(input) % line().ranks:
        raise ValueError("all_to_all_single: input and output have ranks x k rows, both.")

    def finish(parts):
        size = len(parts[0]) // line().ranks
        fill(
            output, b"".join(part[line().rank * size : (line().rank + 1) * size] for part in parts)
        )

    return _together("all_to_all_single", input, input, finish, async_op)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """As torch.distributed.barrier."""
    whole(group)
    return _together("barrier", None, None, lambda parts: None, async_op)


def all_gather_object(object_list, obj, group=None):
    """As torch.distributed.all_gather_object."""
    whole(group)

    def finish(parts):
        object_list[:] = [pickle.loads(part) for part in parts]

    _of_objects("all_gather_object", pickle.dumps(obj), finish)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """As torch.distributed.broadcast_object_list."""
    root = root_of(0 if src is None and group_src is None else src, group_src, group)
    given = pickle.dumps(object_list) if line().rank == root else b""

    def finish(parts):
        object_list[:] = pickle.loads(parts[root])

    _of_objects("broadcast_object_list", given, finish, root=root)


def _of_objects(name: str, data: bytes, finish: Callable, root: int | None = None) -> None:
    number = line().post("collective", name, data=data, size=len(data), root=root)
    Work(number, name, None, lambda done: finish(done.data)).wait()


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
    data = b"" if given is None else bytes_of(contiguous(given))
    what = {} if tensor is None else about(contiguous(tensor))
    number = line().post(
        "collective",
        name,
        **what,
        data=data,
        root=root,
        op=op,
        late=late,
    )
    work = Work(number, name, given if late else None, lambda done: finish(done.data))
    if late:
        return work
    work.wait()
    return None


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


def _full(name: str, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    if not isinstance(tensors, list | tuple) or len(tensors) != line().ranks:
        raise ValueError(f"{name} has one tensor for each of the {line().ranks} ranks.")
    return list(tensors)


def _list_of_root(name: str, tensors: Sequence | None, root: int) -> list[torch.Tensor]:
    if line().rank == root:
        return _full(name, tensors)
    if tensors:
        raise ValueError(f"{name} is for rank {root} alone; in the other ranks it is None.")
    return []


def _refuse_other_sizes(name: str, parts: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
    for part in parts:
        if part.numel() != tensor.numel() or part.dtype != tensor.dtype:
            raise ValueError(f"Each tensor in {name} is as large as the other one, of its dtype.")


def _refuse_other_total(name: str, large: torch.Tensor, small: torch.Tensor) -> None:
    if large.numel() != line().ranks * small.numel() or large.dtype != small.dtype:
        raise ValueError(
            f"{name}: the large tensor has {line().ranks} times as many elements as the other."
        )
