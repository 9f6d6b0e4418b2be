"""Which links join several machines of a kind: those of `clusters.toml`."""

from labkit.distributed.chooser.workload import LinksUnknownError
from labkit.distributed.costs.clusters import Cluster, clusters
from labkit.distributed.costs.cost_model import CostModel
from labkit.hardware import Machine

NO_LINK = CostModel(latency=0.0, bandwidth=float("inf"))  # of a machine that is alone


def cluster_of(machine: Machine, count: int = 1) -> Cluster:
    """The cluster made of this machine; one that is alone needs no link.

    Raises LinksUnknownError where the table has none and more than one machine is asked for.
    """
    for cluster in clusters().values():
        if cluster.machine.key == machine.key:
            return cluster
    if count > 1:
        raise LinksUnknownError("links not listed")  # a line of the answer is narrow
    return Cluster(machine.key, machine.name, machine, 1, NO_LINK, NO_LINK, efficiency=1.0)
