"""Checkpoints of a training in many ranks, each written whole or not at all.

Modules (written by tools/modules.py):

dcp       Checkpoints with torch.distributed.checkpoint (DCP): each rank writes its part, any number
          reads.
folder    Where the checkpoints of a training lie, and how each is there whole or not at all.
run       The loop of a training that survives: restore, train, log, save; and, on request, die.
training  A training of the small GPT that goes on from a checkpoint as if nothing had happened.
"""
