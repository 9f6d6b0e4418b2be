"""The cluster's room: processes, collectives, data parallel training, parameter servers.

Each name is loaded when it is first used; `import labkit.distributed` does not load torch.

Modules (written by tools/modules.py):

checkpoints/       Checkpoints of a training in many ranks, each written whole or not at all.
chooser/           The chooser: which hardware for a model, how many, how fast, how dear, and by
                   which formula.
collectives        Collectives from send and receive: what `torch.distributed` does in one call,
                   step by step.
connections/       Connections that strangers cannot use, and tensors as bytes on them.
costs/             Seconds and bytes by formula: messages, models, layouts, steps; clusters by name.
data_parallel      Data parallel training at its simplest: each rank its shard, then the mean of the
                   gradients.
ddp                Data parallel training with overlap: what `DistributedDataParallel` does, in
                   plain Python.
errors             What a launch refuses, or what ended it.
gpt/               A small GPT that writes one character after another, and the book that it learns
                   from.
gradients/         What happens to gradients between backward and step: buckets, overlap,
                   compression.
judging/           Exercises whose answer runs in ranks: a referee carries each message, and a judge
                   tells.
large_batches      The log of a long run: the same small training with batches of 16 to 1,024
                   images.
launch             `launch`: a function, in as many real processes as you like, from a notebook's
                   cell.
launching/         What carries out `launch`: ranks as processes, what they print, and why one
                   failed.
links/             Hosts with cables between them, on one machine, and trials of what a link can do.
messages           Messages between ranks, each of them written down: who sent how many bytes to
                   whom, and when.
monitoring         What each rank tells of itself while it trains, in the event files that
                   TensorBoard reads.
network            What carries the messages of `send`, `receive` and `exchange`: torch's group, or
                   a slow network.
one_big_batch      One big batch in one process: the step that every data parallel one is held
                   against.
parameter_server/  Parameter servers: weights live on servers, and workers pull them and push
                   gradients.
pictures           Pictures of messages: who sends how much to whom, and when.
pipeline/          The small GPT cut into stages of whole blocks, one rank for each: pipeline
                   parallelism.
sampler            Which examples a rank reads: a shard of one shuffled order, as
                   `DistributedSampler` deals it.
sharded/           Data parallel training whose state is cut over the ranks: the bytes that each
                   stage keeps.
small_training     A training that takes seconds: a small network on the embedded sample, to compare
                   many of them.
step_log           The log of a training that may die: one line for each step that was done, whoever
                   did it.
tensor_parallel/   Tensor parallel: every layer of the small GPT split over ranks, by hand and by
                   PyTorch.
tensorflow/        TensorFlow's parameter servers: a cluster of real processes, that can be killed.
"""

from importlib import import_module

from labkit.distributed.errors import LaunchError
from labkit.distributed.launch import launch  # not later: a module has the same name

_HOMES = {
    "Message": "messages",
    "send": "messages",
    "receive": "messages",
    "exchange": "messages",
    "recorded": "messages",
    "emulated_link": "network",
    "broadcast": "collectives",
    "reduce": "collectives",
    "all_gather": "collectives",
    "reduce_scatter": "collectives",
    "gather_all_reduce": "collectives",
    "tree_all_reduce": "collectives",
    "ring_all_reduce": "collectives",
    "halving_all_reduce": "collectives",
    "CostModel": "costs.cost_model",
}

__all__ = ["LaunchError", "launch", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"labkit.distributed has no {name!r}; it has {', '.join(_HOMES)}.")
    return getattr(import_module(f"labkit.distributed.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
