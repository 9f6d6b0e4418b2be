"""The same program under torchrun: this process is one rank of those that torchrun has started.

torchrun --standalone --nproc-per-node=2 program.py

Results travel pickled, and torchrun's own store takes pickles from whoever reaches its port, on all
interfaces: who can send one can run code in every rank. So torchrun is for internal networks only.
Lesson processes_and_collectives.
"""

import gc
import os
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

from labkit.distributed.errors import LaunchError
from labkit.distributed.launching.backends import carriers, on_one_machine

_launches = count()  # of this program


def is_here() -> bool:
    """Whether torchrun has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def run(
    function: Callable[..., Any], ranks: int, args: tuple, backend: str | None = None
) -> list[Any]:
    """Calls the function in this rank; what it returned in all of them, in every rank.

    Raises LaunchError where torchrun has started another number of ranks.
    """
    import torch.distributed as dist

    world = int(os.environ["WORLD_SIZE"])
    rank = int(os.environ["RANK"])
    if world != ranks:
        raise LaunchError(
            f"The program launches {ranks} ranks, and torchrun has started {world}: they have to "
            "agree, as --nnodes times --nproc-per-node."
        )
    joined = not dist.is_initialized()
    if joined:
        _join(backend)
    results = [None] * ranks
    dist.all_gather_object(results, function(rank, ranks, *args))
    if joined:
        _leave()
    return results


def _join(backend: str | None) -> None:
    """Makes this process one of torchrun's group."""
    import torch
    import torch.distributed as dist

    world, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    here = int(os.environ.get("LOCAL_WORLD_SIZE", world))
    on_gpus = torch.cuda.device_count() >= here and dist.is_nccl_available()
    # A shelf of its own for each launch of a program: addresses of an earlier one are out of date.
    store = dist.PrefixStore(f"launch-{next(_launches)}", _meeting())
    name = backend or ("nccl" if on_gpus else "gloo")
    if here == world:
        os.environ.update(on_one_machine())
    if name == "nccl":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group(carriers(name), store=store, rank=rank, world_size=world)


@cache
def _meeting() -> Any:
    """Where torchrun's ranks find each other; raises LaunchError where its port is taken."""
    import torch.distributed as dist

    try:
        store, _, _ = next(dist.rendezvous("env://"))
    except dist.DistNetworkError as error:
        if "EADDRINUSE" not in str(error):
            raise
        raise LaunchError(
            f"Port {os.environ.get('MASTER_PORT')} of {os.environ.get('MASTER_ADDR')}, where the "
            "ranks would meet, is in use: by another program, or by an earlier run that has not "
            "ended. Give torchrun another one, by --master-port or --rdzv-endpoint."
        ) from None
    return store


def _leave() -> None:
    """Leaves the group in an order in which no thread of gloo aborts the process at its exit.

    What DistributedDataParallel holds goes first, and no rank closes its connections while
    another one still needs them.
    """
    import torch.distributed as dist

    gc.collect()
    dist.barrier()
    dist.destroy_process_group()
