"""Backends: what carries the bytes between ranks, and where each of them can.

NCCL   between NVIDIA GPUs, one for each rank; tensors have to be on the GPU
Gloo   between CPUs over TCP, everywhere; slow for tensors on a GPU
MPI    what a cluster has installed, if PyTorch was built for it: its wheels are not

Gloo listens at the address that the machine's name leads to, which may be one that others reach,
and asks no caller who he is. Ranks of one machine meet on its loopback instead.
"""

import os
from functools import cache

from labkit.distributed.errors import LaunchError

BACKENDS = ("nccl", "gloo", "mpi")
INTERFACE = "GLOO_SOCKET_IFNAME"  # which interfaces Gloo takes, in the environment


def chosen_backend(ranks: int, backend: str | None = None) -> str:
    """The backend for so many ranks on this machine: `backend` itself, if it can be used here.

    Raises LaunchError with the reason if it cannot.
    """
    if backend is None:
        return "nccl" if _gpus() >= ranks and _has("nccl") else "gloo"
    if backend not in BACKENDS:
        known = ", ".join(BACKENDS)
        raise LaunchError(f"There is no backend {backend!r}: take one of {known}, or None.")
    if not _has(backend):
        raise LaunchError(
            f"This PyTorch was built without {backend}. Its wheels for the CPU have Gloo only, "
            "those for CUDA also NCCL; MPI needs a PyTorch that was compiled on the cluster."
        )
    if backend == "nccl" and _gpus() < ranks:
        raise LaunchError(
            f"NCCL needs a GPU for each rank: {ranks} ranks, and {_gpus()} GPUs are here. Gloo "
            "works everywhere."
        )
    return backend


def carriers(backend: str) -> str:
    """What `init_process_group` gets: beside NCCL, Gloo carries tensors on the CPU."""
    return "cpu:gloo,cuda:nccl" if backend == "nccl" else backend


@cache
def loopback() -> str | None:
    """The name of this machine's loopback, "lo" or "lo0"; None where it has none."""
    import psutil

    for name, addresses in psutil.net_if_addrs().items():
        if any(address.address == "127.0.0.1" for address in addresses):
            return name
    return None


def on_one_machine() -> dict[str, str]:
    """What ranks that are all on this machine need in their environment, so that Gloo stays here.

    Whoever has chosen an interface keeps it.
    """
    name = loopback()
    return {INTERFACE: name} if name and INTERFACE not in os.environ else {}


def _gpus() -> int:
    import torch

    return torch.cuda.device_count()


def _has(backend: str) -> bool:
    import torch.distributed as dist

    available = {
        "nccl": dist.is_nccl_available,
        "gloo": dist.is_gloo_available,
        "mpi": dist.is_mpi_available,
    }
    return available[backend]()
