"""Training in PyTorch with our kernels: layers, steps of SGD, batches that come beside them.

The kernels lie in kernels/, above; what a step costs is step_cost.py's.
"""
