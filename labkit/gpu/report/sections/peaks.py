"""What this GPU could reach at best: its row of hardware.toml, by its name; else its clocks."""

import torch

from labkit.gpu.report.rows import NotHere
from labkit.gpu.report.tasks import Bench
from labkit.hardware import Machine, machine

NAMES = {  # what the driver calls a GPU, and its row; only parts with these very figures
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H200": "h200",
    "NVIDIA B200": "b200",
    "NVIDIA A100-SXM4-80GB": "a100",
    "NVIDIA RTX A6000": "a6000",
    "Tesla T4": "t4",
    "Tesla V100-SXM2-16GB": "v100",
    "Tesla V100-SXM2-32GB": "v100",
}


def this_gpu(bench: Bench) -> Machine:
    """The row of hardware.toml; NotHere for a GPU that it does not have."""
    if bench.dry:
        return machine("t4")  # so that all sums are tried
    name = torch.cuda.get_device_name()
    if name not in NAMES:
        raise NotHere(f"hardware.toml has no row for {name}, so nothing is predicted for it.")
    return machine(NAMES[name])
