"""What happens to gradients between backward and step: buckets, overlap, compression.

data_parallel.py and ddp.py, above, train with it.

Modules (written by tools/modules.py):

asynchronous      All-reduces in the background: a thread of each rank carries them, while the rank
                  computes on.
before_steps      What has to happen, or to have happened, before an optimiser steps.
buckets           Buckets: which gradients travel together.
compression       Gradient compression: fewer bytes in each step, and what is not sent is kept for
                  the next one.
emulated_compute  Layers whose backward takes as long as you say: emulated compute, on any machine.
joining           Uneven inputs: a rank that has run out of batches goes along with the others'
                  all-reduces.
overlap           Overlap: one backward and its all-reduces on one axis of time, measured and
                  predicted.
readiness         When gradients are ready: in which order a backward finishes them, and at what
                  time.
reducer           The reducer: gradients go into buckets as they become ready, and full buckets
                  travel at once.
"""
