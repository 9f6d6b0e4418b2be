"""torch.distributed's sends and receives, through the referee: same names, same parameters."""

import torch

from labkit.distributed.connections.tensor_bytes import bytes_of, fill
from labkit.distributed.judging.refereed_work import Work, about, contiguous, line, other_rank


class P2POp:
    """A send or a receive for `batch_isend_irecv`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("P2POp takes dist.isend or dist.irecv as its op.")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.peer = other_rank(peer, group_peer, group)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """As torch.distributed.send; done when the other rank receives."""
    _send("send", tensor, other_rank(dst, group_dst, group), tag).wait()


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """As torch.distributed.isend."""
    return _send(
        "isend",
        tensor,
        other_rank(dst, group_dst, group),
        tag,
        late=True,
    )


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """As torch.distributed.recv; returns the rank that sent."""
    work = _receive("recv", tensor, _source(src, group_src, group), tag)
    work.wait()
    return work.result


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """As torch.distributed.irecv."""
    return _receive(
        "irecv",
        tensor,
        _source(src, group_src, group),
        tag,
        late=True,
    )


def batch_isend_irecv(p2p_op_list):
    """As torch.distributed.batch_isend_irecv."""
    return [one.op(one.tensor, one.peer, tag=one.tag) for one in p2p_op_list]


def _send(name: str, tensor: torch.Tensor, to: int, tag: int, late: bool = False) -> Work:
    given = contiguous(tensor)
    number = line().post(
        "send", name, **about(given), data=bytes_of(given), peer=to, tag=tag, late=late
    )
    return Work(number, name, given if late else None, lambda done: None)


def _receive(name: str, tensor: torch.Tensor, source: int | None, tag: int, late: bool = False):
    contiguous(tensor)
    number = line().post(
        "receive",
        name,
        **about(tensor),
        peer=source,
        tag=tag,
        late=late,
    )

    def finish(done):
        fill(tensor, done.data[0])
        return done.source

    return Work(number, name, None, finish)


def _source(rank: int | None, other: int | None, group: object) -> int | None:
    return None if rank is None and other is None else other_rank(rank, other, group)
