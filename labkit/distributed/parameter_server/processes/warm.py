"""What all roles of a cluster need, loaded in the process that they are forked from.

One thread: a process whose parent has used OpenMP's threads would wait for threads that it has not.
"""

import torch

from labkit.distributed.parameter_server import problem
from labkit.distributed.parameter_server.processes import roles
from labkit.distributed.small_training import photographs

torch.set_num_threads(1)
photographs()
problem.Photographs().start()

__all__ = ["roles"]
