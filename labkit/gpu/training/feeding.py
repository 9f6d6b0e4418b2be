"""Batches for a GPU, each copied on a stream of its own while the step before it runs.

The GPU fetches a batch by itself from pinned memory, which is slow to make: two pieces are made
once and used in turn. What the copying stream writes, the stream that computes must wait for
(`wait_stream`), and PyTorch must know who uses it, or it gives its memory away too early
(`record_stream`). On a CPU there is nothing to copy. (Lesson a_training_step_on_the_gpu.)
"""

from collections.abc import Iterator, Sequence

import torch

Batches = Iterator[torch.Tensor]


def fed(images: torch.Tensor, batches: Sequence[torch.Tensor], device: str) -> Batches:
    """images[rows] on `device` for the rows of each batch, in their order.

    `images` lie in the host's memory; a batch is a tensor of indices. When one is handed out, the
    next is on its way.
    """
    if torch.device(device).type == "cpu":
        yield from (images[rows] for rows in batches)
    elif batches:
        yield from _overlapped(images, batches, device)


def _overlapped(images: torch.Tensor, batches: Sequence[torch.Tensor], device: str) -> Batches:
    """The batches on a GPU: the copy of one runs beside what is computed with the one before."""
    side = torch.cuda.Stream(device)
    largest = max(len(rows) for rows in batches)
    shape = (largest, *images.shape[1:])
    pinned = [torch.empty(shape, dtype=images.dtype, pin_memory=True) for _ in range(2)]
    copied = [torch.cuda.Event() for _ in pinned]

    def send(number: int) -> torch.Tensor:
        """Batch `number` on its way to the GPU."""
        rows = batches[number]
        place = number % len(pinned)
        copied[place].synchronize()  # what left from here before has arrived
        batch = pinned[place][: len(rows)]
        torch.index_select(images, 0, rows, out=batch)
        with torch.cuda.stream(side):
            sent = batch.to(device, non_blocking=True)
            copied[place].record()
        return sent

    coming = send(0)
    for number in range(len(batches)):
        now = torch.cuda.current_stream(device)
        here = coming
        now.wait_stream(side)  # for this batch: the next one is not on its way yet
        here.record_stream(now)
        if number + 1 < len(batches):
            coming = send(number + 1)
        yield here
