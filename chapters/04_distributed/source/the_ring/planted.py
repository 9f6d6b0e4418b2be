"""Wrong and right answers for lesson the_ring."""

from tests.exercises.edits import cast_to_float32, edit, first_result_again

# --- distributed.reduce_scatter

FIRST = "distributed.reduce_scatter"
LEAVING, MINE = "leaving = chunks[(rank - step) % ranks]", "(rank - step - 1) % ranks"
forwards_its_own = edit(
    FIRST, "forwards_its_own", LEAVING, "leaving = x.tensor_split(ranks)[(rank - step) % ranks]"
)
one_place_late = edit(
    FIRST,
    "one_place_late",
    LEAVING,
    "leaving = chunks[(rank - step + 1) % ranks]",
    (MINE, "(rank - step) % ranks"),
)
as_in_textbooks = edit(
    FIRST,
    "as_in_textbooks",
    LEAVING,
    "leaving = chunks[(rank - step + 1) % ranks]",
    (MINE, "(rank - step) % ranks"),
    ("return chunks[rank]", "return chunks[(rank + 1) % ranks]"),
)
not_added = edit(FIRST, "not_added", "mine += arriving", "mine[:] = arriving")
one_step_more = edit(FIRST, "one_step_more", "range(1, ranks)", "range(1, ranks + (ranks > 1))")
no_copy = edit(FIRST, "no_copy", "x.clone()", "x")


def returns_what_arrives(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    parts = x.tensor_split(ranks)
    total = parts[(rank - 1) % ranks]
    arriving = total
    for step in range(2, ranks + 1):
        mine = parts[(rank - step) % ranks]
        arriving = torch.empty_like(mine)
        exchange(total, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        total = mine + arriving
    return arriving.clone()


def straight_to_its_rank(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    chunks = x.clone().tensor_split(ranks)
    for step in range(1, ranks):
        arriving = torch.empty_like(chunks[rank])
        target = (rank + step) % ranks
        exchange(chunks[target], target, arriving, (rank - step) % ranks)
        chunks[rank].add_(arriving)
    return chunks[rank]


def sends_first(rank, ranks, x):
    import torch

    from labkit.distributed import receive, send

    chunks = x.clone().tensor_split(ranks)
    for step in range(1, ranks):
        mine = chunks[(rank - step - 1) % ranks]
        arriving = torch.empty_like(mine)
        send(chunks[(rank - step) % ranks], (rank + 1) % ranks)
        receive(arriving, (rank - 1) % ranks)
        mine += arriving
    return chunks[rank]


def one_after_the_other(rank, ranks, x):
    import torch

    from labkit.distributed import receive, send

    chunks = x.clone().tensor_split(ranks)
    for step in range(1, ranks):
        mine = chunks[(rank - step - 1) % ranks]
        arriving = torch.empty_like(mine)
        if rank == 0:
            send(chunks[(rank - step) % ranks], (rank + 1) % ranks)
        receive(arriving, (rank - 1) % ranks)
        if rank != 0:
            send(chunks[(rank - step) % ranks], (rank + 1) % ranks)
        mine += arriving
    return chunks[rank]


def by_torch(rank, ranks, x):
    import torch.distributed as dist

    total = x.clone()
    dist.all_reduce(total)
    return total.tensor_split(ranks)[rank].clone()


def with_one_sum(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    parts = x.tensor_split(ranks)
    total = parts[(rank - 1) % ranks].clone()
    for step in range(2, ranks + 1):
        mine = parts[(rank - step) % ranks]
        arriving = torch.empty_like(mine)
        exchange(total, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        total = mine + arriving
    return total


# --- distributed.all_gather

SECOND = "distributed.all_gather"
OWN = "leaving = chunks[(rank - step + 1) % ranks]"
ARRIVES = "arriving = chunks[(rank - step) % ranks]"
stops_early = edit(SECOND, "stops_early", "range(1, ranks)", "range(1, min(ranks, 2))")
always_its_own = edit(SECOND, "always_its_own", OWN, "leaving = chunks[rank]")
kept_nowhere = edit(
    SECOND, "kept_nowhere", ARRIVES, "arriving = chunks[(rank - step) % ranks].clone()"
)


def behind_each_other(rank, ranks, chunk, length):
    import torch

    from labkit.distributed import exchange

    parts, sizes = [chunk], [len(p) for p in torch.zeros(length).tensor_split(ranks)]
    for step in range(1, ranks):
        arriving = torch.empty(sizes[(rank - step) % ranks], dtype=chunk.dtype)
        exchange(parts[-1], (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        parts.append(arriving)
    return torch.cat(parts)


def its_own_first(rank, ranks, chunk, length):
    import torch

    from labkit.distributed import exchange

    parts, sizes = [chunk], [len(p) for p in torch.zeros(length).tensor_split(ranks)]
    for step in range(1, ranks):
        arriving = torch.empty(sizes[(rank - step) % ranks], dtype=chunk.dtype)
        exchange(parts[-1], (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        parts.append(arriving)
    return torch.cat([chunk, *reversed(parts[1:])])


def empties_its_chunk(rank, ranks, chunk, length):
    import torch

    from labkit.distributed import exchange

    whole = torch.zeros(length, dtype=chunk.dtype)
    parts = whole.tensor_split(ranks)
    parts[rank].copy_(chunk)
    for step in range(1, ranks):
        arriving = parts[(rank - step) % ranks]
        leaving = parts[(rank - step + 1) % ranks]
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
    chunk.zero_()
    return whole


def whole_ones(rank, ranks, chunk, length):
    import torch

    from labkit.distributed import exchange

    total = torch.zeros(length, dtype=chunk.dtype)
    total.tensor_split(ranks)[rank].copy_(chunk)
    leaving = total.clone()
    for _ in range(1, ranks):
        arriving = torch.empty_like(leaving)
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        total += arriving
        leaving = arriving
    return total


def receives_first(rank, ranks, chunk, length):
    import torch

    from labkit.distributed import receive, send

    whole = torch.zeros(length, dtype=chunk.dtype)
    parts = whole.tensor_split(ranks)
    parts[rank].copy_(chunk)
    for step in range(1, ranks):
        receive(parts[(rank - step) % ranks], (rank - 1) % ranks)
        send(parts[(rank - step + 1) % ranks], (rank + 1) % ranks)
    return whole


def gathered_by_torch(rank, ranks, chunk, length):
    import torch
    import torch.distributed as dist

    whole = torch.zeros(length, dtype=chunk.dtype)
    whole.tensor_split(ranks)[rank].copy_(chunk)
    dist.all_reduce(whole)
    return whole


# --- distributed.ring_all_reduce

RING = "distributed.ring_all_reduce"
flat = edit(RING, "flat", ".view(x.shape)", "")
the_mean = edit(RING, "the_mean", "return total", "return total / ranks")


def whole_tensors(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    total, leaving = x.clone(), x
    for _ in range(1, ranks):
        arriving = torch.empty_like(x)
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        total += arriving
        leaving = arriving
    return total


def in_place(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    leaving = x.clone()
    for _ in range(1, ranks):
        arriving = torch.empty_like(leaving)
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        x += arriving
        leaving = arriving
    return x


def one_neighbour(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    arriving = torch.zeros_like(x)
    if ranks > 1:
        exchange(x, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
    return x + arriving


def as_in_the_old_tutorial(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    send_buff, recv_buff, recv = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
    accum = x.clone()
    left, right = (rank - 1) % ranks, (rank + 1) % ranks
    for i in range(ranks - 1):
        if i % 2 == 0:
            exchange(send_buff, right, recv_buff, left)
            accum += recv
        else:
            exchange(recv_buff, right, send_buff, left)
            accum += x
    return accum


def only_half(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    total = x.clone()
    chunks = total.flatten().tensor_split(ranks)
    for step in range(1, ranks):
        mine = chunks[(rank - step - 1) % ranks]
        arriving = torch.empty_like(mine)
        exchange(chunks[(rank - step) % ranks], (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        mine += arriving
    return total


def both_halves_add(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    total = x.clone()
    chunks = total.flatten().tensor_split(ranks)
    for step in range(1, 2 * ranks - 1):
        mine = chunks[(rank - step - 1) % ranks]
        leaving = chunks[(rank - step) % ranks].clone()
        arriving = torch.empty_like(mine)
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        mine += arriving
    return total


def chain(rank, ranks, x):
    from labkit.distributed import receive, send

    total = x.clone()
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    if ranks == 1:
        return total
    if rank > 0:
        receive(total, before)
        total += x
    send(total, after)  # the last one has the sum: its next one is rank 0
    if rank < ranks - 1:
        receive(total, before)
        if rank < ranks - 2:
            send(total, after)
    return total


def through_rank_0(rank, ranks, x):
    import torch

    from labkit.distributed import receive, send

    total = x.clone()
    if rank:
        send(total, 0)
        receive(total, 0)
        return total
    for source in range(1, ranks):
        other = torch.empty_like(x)
        receive(other, source)
        total += other
    for target in range(1, ranks):
        send(total, target)
    return total


def leaves_a_step_early(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    flat = x.flatten().clone()
    chunks = flat.tensor_split(ranks)
    for step in range(2 * ranks - 2 - (ranks > 1 and rank == ranks - 1)):
        arriving = torch.empty_like(chunks[(rank - step - 1) % ranks])
        exchange(chunks[(rank - step) % ranks], (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        if step < ranks - 1:
            arriving += chunks[(rank - step - 1) % ranks]
        chunks[(rank - step - 1) % ranks].copy_(arriving)
    return flat.reshape(x.shape)


def summed_by_torch(rank, ranks, x):
    import torch.distributed as dist

    total = x.clone()
    dist.all_reduce(total)
    return total


def in_one_loop(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    flat = x.flatten().clone()
    chunks = flat.tensor_split(ranks)
    for step in range(2 * ranks - 2):
        arriving = torch.empty_like(chunks[(rank - step - 1) % ranks])
        exchange(chunks[(rank - step) % ranks], (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        if step < ranks - 1:
            arriving += chunks[(rank - step - 1) % ranks]
        chunks[(rank - step - 1) % ranks].copy_(arriving)
    return flat.reshape(x.shape)


other_way_round = edit(
    FIRST,
    "other_way_round",
    "(rank + 1) % ranks, arriving, (rank - 1) % ranks",
    "(rank - 1) % ranks, arriving, (rank + 1) % ranks",
)
a_step_short = edit(SECOND, "a_step_short", "range(1, ranks)", "range(1, ranks - 1)")


def in_pieces(rank, ranks, chunk, length):
    import torch

    from labkit.distributed import exchange

    sizes = [length // ranks + (k < length % ranks) for k in range(ranks)]
    pieces = {rank: chunk}
    for step in range(1, ranks):
        k = (rank - step) % ranks
        pieces[k] = torch.empty(sizes[k], dtype=chunk.dtype)
        leaving = pieces[(k + 1) % ranks]
        exchange(leaving, (rank + 1) % ranks, pieces[k], (rank - 1) % ranks)
    return torch.cat([pieces[k] for k in range(ranks)])


def rows_cut(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    total = x.clone()
    rows = total.tensor_split(ranks)
    for step in range(2 * ranks - 2):
        mine = rows[(rank - step - 1) % ranks]
        arriving = torch.empty_like(mine)
        exchange(rows[(rank - step) % ranks], (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        mine.copy_(arriving + mine if step < ranks - 1 else arriving)
    return total


def own_chunk_alone(rank, ranks, x):
    import torch

    total = torch.zeros_like(x.flatten())
    total.tensor_split(ranks)[rank].copy_(with_one_sum(rank, ranks, x.flatten()))
    return total.view(x.shape)


against_the_numbers = edit(
    SECOND,
    "against_the_numbers",
    OWN,
    "leaving = chunks[(rank + step - 1) % ranks]",
    (ARRIVES, "arriving = chunks[(rank + step) % ranks]"),
)
cut_by_chunk = edit(FIRST, "cut_by_chunk", "tensor_split(ranks)", "chunk(ranks)")


def one_chunk_short(rank, ranks, x):
    import torch

    from labkit.distributed import exchange

    flat = x.flatten().clone()
    chunks = flat.tensor_split(ranks)
    for step in range(max(2 * ranks - 3, 0)):
        mine = chunks[(rank - step - 1) % ranks]
        arriving = torch.empty_like(mine)
        exchange(chunks[(rank - step) % ranks], (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        mine.copy_(arriving + mine if step < ranks - 1 else arriving)
    return flat.view(x.shape)


def every_nth(rank, ranks, x):
    """The chunks are no neighbours, but every n-th number; of a single one, the stride is n."""
    import torch

    from labkit.distributed import exchange

    flat = x.reshape(-1).clone()
    for step in range(2 * ranks - 2):
        leaving = flat[(rank - step) % ranks :: ranks].contiguous()
        place = (rank - step - 1) % ranks
        arriving = torch.empty_like(flat[place::ranks].contiguous())
        exchange(leaving, (rank + 1) % ranks, arriving, (rank - 1) % ranks)
        flat[place::ranks] = arriving + (flat[place::ranks] if step < ranks - 1 else 0)
    return flat.reshape(x.shape)


PLANTED = {
    FIRST: [
        (first_result_again(FIRST), "In the second call in the same ranks"),
        (cast_to_float32(FIRST), "is float32; it should be"),
        (other_way_round, "The chunks go to the rank before"),
        (forwards_its_own, "Only the neighbour's numbers were added"),
        (one_place_late, "chunk r leaves rank r first, in step 1"),
        (cut_by_chunk, "whose last one is shorter"),
        (as_in_textbooks, "Rank r ends with the sum of chunk r + 1"),
        (not_added, "What arrives replaces your numbers"),
        (returns_what_arrives, "own numbers are missing"),
        (one_step_more, "bytes altogether, where"),
        (straight_to_its_rank, "in this ring it sends to rank"),
        (sends_first, "The ranks wait for each other"),
        (one_after_the_other, "messages came one after the other"),
        (no_copy, "changes its input"),
        (by_torch, "torch.distributed"),
    ],
    SECOND: [
        (first_result_again(SECOND), "In the second call in the same ranks"),
        (cast_to_float32(SECOND), "is float32; it should be"),
        (against_the_numbers, "Chunk numbers and ring go against each other"),
        (a_step_short, "The chunk of the last step is missing"),
        (stops_early, "Only the neighbour's chunk has arrived"),
        (always_its_own, "always sends its own chunk"),
        (kept_nowhere, "Only the rank's own chunk is there"),
        (behind_each_other, "in which they arrived, backwards"),
        (its_own_first, "each rank begins with its own"),
        (whole_ones, "are enough. In each step, a rank sends a single chunk"),
        (empties_its_chunk, "changes its input"),
        (receives_first, "Everyone waits for a message"),
        (gathered_by_torch, "torch.distributed"),
    ],
    RING: [
        (first_result_again(RING), "In the second call in the same ranks"),
        (cast_to_float32(RING), "is float32; it should be"),
        (rows_cut, "the chunks are unequal"),
        (one_chunk_short, "One chunk is not yet the sum of all"),
        (own_chunk_alone, "and 0 elsewhere"),
        (whole_tensors, "A ring of whole tensors sends n (n - 1) S"),
        (chain, "where its share is"),
        (through_rank_0, "in this ring it sends to rank"),
        (flat, "shape"),
        (the_mean, "This is the mean"),
        (one_neighbour, "Only the neighbour's tensor was added"),
        (as_in_the_old_tutorial, "PyTorch's tutorial had this mistake"),
        (only_half, "the second half is missing"),
        (both_halves_add, "replaces a chunk, and is not added"),
        (in_place, "changes its input"),
        (leaves_a_step_early, "waits for rank"),
        (summed_by_torch, "torch.distributed"),
    ],
}
ALSO_RIGHT = {SECOND: [in_pieces], FIRST: [with_one_sum], RING: [in_one_loop, every_nth]}
# What is forbidden is refused before anybody looks at the result.
HANGING = [by_torch, gathered_by_torch, summed_by_torch]
