"""Hosts with cables between them, on one machine, and trials of what a link can do.

The cost model whose constants they give is labkit.distributed.costs's.
"""
