"""Collectives from send and receive: what `torch.distributed` does in one call, step by step.

    def program(rank, ranks):
        return ring_all_reduce(torch.full((5,), float(rank)))

    launch(program, 4)                 # the sum, in every rank

All are called by every rank of the group, with tensors of the same shape and dtype; none changes
its argument. S is the tensor's bytes, n the number of ranks. Lesson the_ring.

    all-reduce             bytes that the busiest rank sends    steps one after the other
    gather_all_reduce      (n - 1) S                            2 (n - 1)
    tree_all_reduce        about log2(n) S                      2 log2(n)
    ring_all_reduce        2 (n - 1) / n S                      2 (n - 1)
    halving_all_reduce     2 (n - 1) / n S                      2 log2(n)
"""

from typing import TYPE_CHECKING

from labkit.distributed.messages import exchange, receive, send
from labkit.distributed.network import transport

if TYPE_CHECKING:
    import torch


def broadcast(tensor: "torch.Tensor", root: int = 0) -> "torch.Tensor":
    """The root's tensor, in every rank, along a binomial tree.

    In step k every rank that has it hands it to the rank 2^k places further: after each step twice
    as many have it. n - 1 messages of S bytes, in log2(n) steps, rounded up.
    """
    rank, ranks = transport().place()
    result = _copy(tensor)
    place = (rank - root) % ranks
    step = 1
    while step < ranks:
        if step <= place < 2 * step:
            receive(result, (rank - step) % ranks)
        elif place < step and place + step < ranks:
            send(result, (rank + step) % ranks)
        step *= 2
    return result


def reduce(tensor: "torch.Tensor", root: int = 0) -> "torch.Tensor":
    """The sum, in the root, along the tree of `broadcast` backwards; elsewhere parts of it."""
    rank, ranks = transport().place()
    total = _copy(tensor)
    place = (rank - root) % ranks
    step = _power_above(ranks) // 2
    while step >= 1:
        if step <= place < 2 * step:
            send(total, (rank - step) % ranks)
        elif place < step and place + step < ranks:
            other = total.new_empty(total.shape)
            receive(other, (rank + step) % ranks)
            total += other
        step //= 2
    return total


def gather_all_reduce(tensor: "torch.Tensor") -> "torch.Tensor":
    """The sum in every rank, through rank 0: all send to it, and it sends to all.

    2 (n - 1) messages of S bytes, every one over rank 0's links.
    """
    rank, ranks = transport().place()
    total = _copy(tensor)
    if rank != 0:
        send(total, 0)
        receive(total, 0)
        return total
    other = total.new_empty(total.shape)
    for source in range(1, ranks):
        receive(other, source)
        total += other
    for target in range(1, ranks):
        send(total, target)
    return total


def tree_all_reduce(tensor: "torch.Tensor") -> "torch.Tensor":
    """The sum in every rank: `reduce`, then `broadcast`."""
    return broadcast(reduce(tensor))


def ring_all_reduce(tensor: "torch.Tensor") -> "torch.Tensor":
    """The sum in every rank: each sends to the next one only, a chunk of S / n bytes at a time.

    First n - 1 steps in which sums of chunks travel around (`reduce_scatter`), then n - 1 in which
    the finished chunks do (`all_gather`): each rank sends 2 (n - 1) / n S bytes.
    """
    rank, ranks = transport().place()
    sums = tensor.new_empty(tensor.numel())
    chunks = list(sums.tensor_split(ranks))
    _reduce_around(tensor, chunks, rank, ranks)
    hand_around(chunks, rank, ranks)
    return sums.view(tensor.shape)


def reduce_scatter(tensor: "torch.Tensor") -> "torch.Tensor":
    """The sum of this rank's chunk of the flat tensor: (n - 1) / n S bytes from each rank.

    Chunk `rank` of `tensor.flatten().tensor_split(ranks)`; where n does not divide, the first
    chunks are one element longer.
    """
    rank, ranks = transport().place()
    chunks = list(tensor.new_empty(tensor.numel()).tensor_split(ranks))
    _reduce_around(tensor, chunks, rank, ranks)
    return chunks[rank].clone()


def all_gather(tensor: "torch.Tensor") -> "list[torch.Tensor]":
    """Every rank's tensor, in the order of the ranks: (n - 1) S bytes from each rank."""
    rank, ranks = transport().place()
    parts = [tensor.new_empty(tensor.shape) for _ in range(ranks)]
    parts[rank] = _copy(tensor)
    hand_around(parts, rank, ranks)
    return parts


def halving_all_reduce(tensor: "torch.Tensor") -> "torch.Tensor":
    """The sum in every rank, by recursive halving and doubling.

    In each step a rank and its partner, whose numbers differ in one bit, split what they have in
    common: each sums one half. Then the halves go back the same way. 2 (n - 1) / n S bytes from
    each rank in 2 log2(n) steps. Where n is no power of two, the ranks above the largest one in it
    hand their tensor to a partner first, and get the sum at the end.
    """
    rank, ranks = transport().place()
    total = _copy(tensor).flatten()
    most = _power_above(ranks + 1) // 2  # the largest power of two up to `ranks`
    if rank >= most:
        send(total, rank - most)
        receive(total, rank - most)
        return total.view(tensor.shape)
    if rank + most < ranks:
        other = total.new_empty(total.shape)
        receive(other, rank + most)
        total += other
    _halve_and_double(total, rank, most)
    if rank + most < ranks:
        send(total, rank + most)
    return total.view(tensor.shape)


def _halve_and_double(total: "torch.Tensor", rank: int, ranks: int) -> None:
    """Among a power of two of ranks; `total` becomes the sum."""
    mine = total
    steps = []
    bit = ranks // 2
    while bit:
        halves = mine.tensor_split(2)
        upper = bool(rank & bit)
        kept, given = halves[upper], halves[not upper]
        other = kept.new_empty(kept.shape)
        exchange(given, rank ^ bit, other, rank ^ bit)
        kept += other
        steps.append((bit, kept, given))
        mine = kept
        bit //= 2
    for bit, kept, given in reversed(steps):
        exchange(kept, rank ^ bit, given, rank ^ bit)


def _reduce_around(
    tensor: "torch.Tensor", sums: "list[torch.Tensor]", rank: int, ranks: int
) -> None:
    """n - 1 steps around the ring; afterwards `sums[rank]` of this rank is the sum of that chunk.

    A sum comes straight into its place, and this rank's own chunk is added to it there. Chunk
    `rank` - 1 only leaves: its place in `sums` stays as it was.
    """
    own = tensor.detach().flatten().tensor_split(ranks)
    if ranks == 1:
        sums[0].copy_(own[0])
    for step in range(1, ranks):
        leaving, arriving = (rank - step) % ranks, (rank - step - 1) % ranks
        outgoing = own[leaving] if step == 1 else sums[leaving]
        exchange(outgoing, (rank + 1) % ranks, sums[arriving], (rank - 1) % ranks)
        sums[arriving] += own[arriving]


def hand_around(chunks: "list[torch.Tensor]", rank: int, ranks: int) -> None:
    """n - 1 steps around the ring; afterwards every rank has chunk k of rank k, for all k."""
    for step in range(ranks - 1):
        leaving = chunks[(rank - step) % ranks]
        arriving = chunks[(rank - step - 1) % ranks]
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)


def _copy(tensor: "torch.Tensor") -> "torch.Tensor":
    """In contiguous memory of its own."""
    copy = tensor.new_empty(tensor.shape)
    return copy.copy_(tensor.detach())


def _power_above(number: int) -> int:
    """The smallest power of two that is not below a number."""
    return 1 << (number - 1).bit_length()
