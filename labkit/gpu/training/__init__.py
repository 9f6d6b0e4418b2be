"""Training in PyTorch with our kernels: layers, steps of SGD, batches that come beside them.

The kernels lie in kernels/, above; what a step costs is step_cost.py's.

Modules (written by tools/modules.py):

autograd  PyTorch layers whose forward and backward are the kernels of `labkit.gpu.kernels`.
feeding   Batches for a GPU, each copied on a stream of its own while the step before it runs.
pytorch   The ConvNet in plain PyTorch, the photographs as tensors, and one step of its training.
sgd       Gradient descent with momentum, whose steps are kernels of `labkit.gpu.kernels.pointwise`.
tensors   PyTorch's tensors as arguments of kernels, without copies.
"""
