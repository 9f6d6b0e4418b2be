"""Data parallel training of the course's ConvNet: the same program on one machine or on many.

    python train_ddp.py                                            two ranks, which it launches
    torchrun --standalone --nproc-per-node=4 train_ddp.py          four ranks on this machine
    torchrun --nnodes=2 --node-rank=0 --master-addr=FIRST-HOST \\
        --nproc-per-node=1 train_ddp.py                            on each of two hosts (the other
                                                                   one is --node-rank=1)

It prints the loss of every step, the bytes that each rank sent in it, and its time. With
`--compress` the gradients travel in a shorter form.

"DDP" is distributed data parallel: as PyTorch's `DistributedDataParallel` does, gradients join to
buckets, and a full bucket travels while the backward goes on (lesson 4). Each epoch has an order of
its own, in which every rank reads other images (lesson 3). What PyTorch's does in C++ is Python
here, and each bucket goes around our own ring, so that its bytes are counted.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path

import torch

from labkit import convnet
from labkit.datasets import cifar10
from labkit.distributed import launch, recorded
from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.ddp import DataParallel
from labkit.distributed.gradients.compression import HalfPrecision, LowRank, TopK, for_model
from labkit.distributed.one_big_batch import descend, forward_backward
from labkit.distributed.sampler import ShardedSampler

BUCKET = 1 << 20  # bytes: so fc1.weight (2 MiB) travels while the convolutions' backward computes
COMPRESSORS = {
    "half": HalfPrecision,
    "top-k": lambda: TopK(0.01),
    "low-rank": lambda: LowRank(2),
}


@dataclass(frozen=True)
class Step:
    """What a rank notes of a step: its shard's loss, the bytes it sent, and seconds."""

    loss: float
    sent: int
    seconds: float


def shards(size: int, rank: int, ranks: int, each: int) -> Iterator[list[int]]:
    """The places of this rank's images [each], step after step, in a new order for each epoch.

    Images at the end of an epoch that fill no whole batch wait for the next one. Raises ValueError
    where a batch has more images than there are.
    """
    sampler = ShardedSampler(size, rank, ranks, drop_last=True)
    if each > len(sampler):
        raise ValueError(f"A batch of {each * ranks} images is too large: there are {size}.")
    for epoch in count():
        sampler.set_epoch(epoch)
        order = list(sampler)
        for begin in range(0, len(order) - each + 1, each):
            yield order[begin : begin + each]


def parallel(net: torch.nn.Module, bucket_bytes: int, compress: str) -> DataParallel:
    """The network in data parallel training; its weights become rank 0's."""
    if compress == "nothing":
        return DataParallel(net, bucket_bytes, all_reduce=ring_all_reduce)
    return DataParallel(net, bucket_bytes, compressors=for_model(net, COMPRESSORS[compress]))


def train(
    rank: int,
    ranks: int,
    steps: int,
    batch: int,
    rate: float,
    bucket_bytes: int = BUCKET,
    compress: str = "nothing",
) -> list[Step]:
    """Some steps of this rank; `batch` images are shared by all ranks."""
    torch.manual_seed(rank)  # ranks begin apart, and `DataParallel` joins them
    net = convnet.torch_model()
    model = parallel(net, bucket_bytes, compress)
    data = cifar10("sample").train
    done = []
    for chosen in islice(shards(len(data), rank, ranks, batch // ranks), steps):
        images = torch.from_numpy(convnet.normalise(data.images[chosen]))
        labels = torch.from_numpy(data.labels[chosen])
        began = time.monotonic()
        with recorded() as messages:
            loss = forward_backward(model, images, labels)
            model.finish()
            descend(net, rate)
        sent = sum(message.bytes for message in messages if message.sent)
        done.append(Step(loss, sent, time.monotonic() - began))
    model.close()
    return done


def main() -> None:
    """The command line; rank 0 prints."""
    parser = argparse.ArgumentParser(description="Train the course's ConvNet, data parallel.")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64, help="images per step, over all ranks")
    parser.add_argument("--learning-rate", type=float, default=0.02)
    parser.add_argument("--bucket-bytes", type=int, default=BUCKET, help="of one all-reduce")
    parser.add_argument("--compress", choices=["nothing", *COMPRESSORS], default="nothing")
    parser.add_argument("--out", type=Path, help="a file for the figures, as JSON")
    chosen = parser.parse_args()
    ranks = int(os.environ.get("WORLD_SIZE", 2))  # torchrun says how many there are
    if chosen.batch % ranks:
        parser.error(f"--batch {chosen.batch} cannot be dealt evenly to {ranks} ranks.")
    if chosen.bucket_bytes < 1:
        parser.error(f"--bucket-bytes {chosen.bucket_bytes} holds no gradient; take at least 1.")
    options = chosen.steps, chosen.batch, chosen.learning_rate
    by_rank = launch(train, ranks, *options, chosen.bucket_bytes, chosen.compress, timeout=600)
    if os.environ.get("RANK", "0") != "0":
        return
    for number, step in enumerate(zip(*by_rank, strict=True), start=1):
        loss = sum(rank.loss for rank in step) / ranks
        sent = max(rank.sent for rank in step)
        seconds = max(rank.seconds for rank in step)
        print(f"step {number}: loss {loss:.4f}, {sent:,} bytes from each rank, {seconds:.3f} s")
    if chosen.out:
        figures = [[asdict(step) for step in rank] for rank in by_rank]
        chosen.out.write_text(json.dumps(figures), "utf-8")


if __name__ == "__main__":
    main()
