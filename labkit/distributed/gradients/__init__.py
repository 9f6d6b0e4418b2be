"""What happens to gradients between backward and step: buckets, overlap, compression.

data_parallel.py and ddp.py, above, train with it.
"""
