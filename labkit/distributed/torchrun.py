"""The same program under torchrun: this process is one rank of those that torchrun has started.

torchrun --standalone --nproc-per-node=2 program.py
"""

import os
from collections.abc import Callable
from typing import Any

from labkit.distributed.errors import LaunchError


def is_here() -> bool:
    """Whether torchrun has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def run(
    function: Callable[..., Any], ranks: int, args: tuple, backend: str | None = None
) -> list[Any]:
    """Calls the function in this rank; what it returned in all of them, in every rank.

    Raises LaunchError where torchrun has started another number of ranks.
    """
    import torch
    import torch.distributed as dist

    world = int(os.environ["WORLD_SIZE"])
    rank = int(os.environ["RANK"])
    if world != ranks:
        raise LaunchError(
            f"The program launches {ranks} ranks, and torchrun has started {world}: they have to "
            "agree, as --nnodes times --nproc-per-node."
        )
    if not dist.is_initialized():
        here = int(os.environ.get("LOCAL_WORLD_SIZE", world))
        on_gpus = torch.cuda.device_count() >= here and dist.is_nccl_available()
        dist.init_process_group(backend or ("nccl" if on_gpus else "gloo"))
    results = [None] * ranks
    dist.all_gather_object(results, function(rank, ranks, *args))
    return results
