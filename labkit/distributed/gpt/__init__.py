"""A small GPT that writes one character after another, and the book that it learns from.

Everything that chapter 04 does to a model (splits it, shards it, restarts it) it does to this one,
and compares with `training.train`, which does it in one process.

Modules (written by tools/modules.py):

model     The small GPT: tokens in, for each of them the logits of the token that follows.
text      The book that the small GPT learns from: Jane Austen's Emma, as whole numbers.
training  Training in one process: the reference that every split of the GPT has to equal.
weights   The small GPT's weights in safetensors files, and the trained ones that come with labkit.
"""
