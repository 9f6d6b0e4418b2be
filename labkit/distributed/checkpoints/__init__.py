"""Checkpoints of a training in many ranks, each written whole or not at all.

folder     where they lie: one folder for each, its seal, and the marker of the newest
dcp        writes and reads them with torch.distributed.checkpoint, also in the background
training   a training of the small GPT that goes on from a checkpoint as if nothing had been
run        its loop: restore, train, log, save; and, on request, die
"""
