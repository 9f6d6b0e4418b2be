"""One section of the report, in a process of its own: `python -m labkit.gpu.report.section NAME`.

It appends a line of JSON to a file for each row as soon as it is done, so that a section which
hangs or dies keeps what it had: first {"plan": [names]}, then {"what": name, ...}.
"""

import argparse
import json
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labkit.gpu.report.machine import CUDA
from labkit.gpu.report.rows import tried


def run(name: str, bench: Any, earlier: dict, rows: Path) -> None:
    """Do the section's work, one row after the other. `earlier`: the sections before this one."""
    module = import_module(f"labkit.gpu.report.sections.{name}")
    work = list(module.work(bench, earlier))
    with rows.open("a", encoding="utf-8") as file:
        print(json.dumps({"plan": [what for what, _ in work]}), file=file, flush=True)
        for what, function in work:
            row = {"what": what} | tried(function, bench.dry)
            print(json.dumps(row), file=file, flush=True)


def settle(dry: bool) -> None:
    """What must be set before kernels are loaded: where they run, and that float32 is float32."""
    os.environ["LABKIT_CUDA"] = "simt" if dry else "gpu"
    os.environ["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # as nvidia-smi and NVML count
    if find_spec("platformdirs") is None:  # which knows the folder for caches
        os.environ.setdefault("LABKIT_CACHE", os.path.expanduser("~/.cache/labkit"))
    if os.path.isdir(CUDA) and "CUDA_PATH" not in os.environ:
        os.environ.setdefault("CUDA_HOME", os.path.dirname(CUDA))  # for NVVM, if pip has none
    import torch

    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = True  # cuDNN may choose its fastest way


def tf32() -> bool:
    """Whether PyTorch may round float32 to TF32 in products or convolutions."""
    import torch

    return torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32


def main() -> None:
    """Run the section that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--rows", type=Path, required=True, help="the file for the rows")
    parser.add_argument("--earlier", type=Path, help="a file with the sections before this one")
    parser.add_argument("--dry-run", action="store_true")
    asked = parser.parse_args()
    settle(asked.dry_run)
    from labkit.gpu.report.tasks import Bench
    from labkit.gpu.report.timing import Gpu, Host

    earlier = json.loads(asked.earlier.read_text("utf-8")) if asked.earlier else {}
    if tf32():
        raise SystemExit("TF32 is on, so float32 would not be float32: nothing is measured.")
    bench = Bench(Host() if asked.dry_run else Gpu(), asked.dry_run)
    run(asked.name, bench, earlier, asked.rows)


if __name__ == "__main__":
    main()
