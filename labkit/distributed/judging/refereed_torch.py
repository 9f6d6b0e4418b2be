"""What takes the place of torch.distributed's functions in an exercise's rank processes.

Same names, same parameters, same results; the bytes go through the referee. What is not here says
so.
"""

from collections.abc import Callable

import torch.distributed as dist
from torch.distributed import distributed_c10d

from labkit.distributed.judging import refereed_collectives as collectives
from labkit.distributed.judging import refereed_messages as messages
from labkit.distributed.judging.referee_line import RefereeLine
from labkit.distributed.judging.refereed_work import connect, line, whole


def get_rank(group=None):
    """As torch.distributed.get_rank."""
    whole(group)
    return line().rank


def get_world_size(group=None):
    """As torch.distributed.get_world_size."""
    whole(group)
    return line().ranks


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
    *(messages.send, messages.isend, messages.recv, messages.irecv),
    *(messages.batch_isend_irecv, messages.P2POp),
    *(collectives.broadcast, collectives.reduce, collectives.all_reduce, collectives.gather),
    *(collectives.all_gather, collectives.all_gather_into_tensor, collectives.scatter),
    *(collectives.reduce_scatter, collectives.reduce_scatter_tensor, collectives.barrier),
    *(collectives.all_to_all_single, collectives.all_gather_object),
    collectives.broadcast_object_list,
    *(get_rank, get_world_size, get_backend, is_initialized),
    *(init_process_group, destroy_process_group, new_group),
)


ABSENT = (
    *("gather_object", "scatter_object_list"),
    *("send_object_list", "recv_object_list", "all_to_all", "monitored_barrier"),
    *("all_gather_coalesced", "all_reduce_coalesced", "new_subgroups", "split_group"),
)


def _absent(name: str) -> Callable:
    def refuses(*args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"In a check, torch.distributed.{name} is not there.")

    return refuses


def install(new: RefereeLine) -> None:
    """From now on, torch.distributed of this process means the referee."""
    connect(new)
    functions = {function.__name__: function for function in FUNCTIONS}
    functions |= {name: _absent(name) for name in ABSENT}
    for name, function in functions.items():
        for module in (dist, distributed_c10d):
            setattr(module, name, function)
