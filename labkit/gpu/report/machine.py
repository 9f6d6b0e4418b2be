"""What the report runs on: GPU, driver, clocks, versions and tools. Nothing of the user's."""

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

PACKAGES = ("numpy", "numba", "numba-cuda", "torch", "triton", "matplotlib")
NEEDED = ("numpy", "numba", "numba_cuda", "torch")  # as they are imported
TOOLS = ("ncu", "compute-sanitizer", "nvcc")
CUDA = "/usr/local/cuda/bin"  # where tools lie that are not on the PATH
ASKED = {  # of nvidia-smi: the name in the report, and its own
    "name": "name",
    "driver": "driver_version",
    "compute capability": "compute_cap",
    "memory, MiB": "memory.total",
    "SM clock at the start, MHz": "clocks.sm",
    "highest SM clock, MHz": "clocks.max.sm",
    "memory clock at the start, MHz": "clocks.mem",
    "power limit, W": "power.limit",
}
PATIENCE = 20  # seconds for a tool that says its version


def missing() -> list[str]:
    """What the report cannot do without, and is not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def first_gpu() -> str:
    """Which GPU CUDA takes first, as nvidia-smi counts: CUDA_VISIBLE_DEVICES may name another."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    return visible or "0"


def gpu() -> dict[str, str]:
    """The first GPU, as nvidia-smi tells of it; {} where there is none."""
    line = [
        "nvidia-smi",
        f"--id={first_gpu()}",
        f"--query-gpu={','.join(ASKED.values())}",
        "--format=csv,noheader,nounits",
    ]
    said = _run(line)
    cells = said.splitlines()[0].split(", ") if said else []
    if len(cells) != len(ASKED):
        return {}
    return dict(zip(ASKED, (cell.strip() for cell in cells), strict=True))


def versions() -> dict[str, str | None]:
    """Python and the packages that matter; None for one that is not installed."""
    found: dict[str, str | None] = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


def tools() -> dict[str, str | None]:
    """The version of each tool; None for one that is not here."""
    found: dict[str, str | None] = {}
    for tool in TOOLS:
        path = shutil.which(tool) or shutil.which(tool, path=CUDA)
        said = _run([path, "--version"]) if path else ""
        number = re.findall(r"\d+\.\d+(?:\.\d+)*", said)
        found[tool] = (number[-1] if number else "unknown version") if path else None
    return found


def system() -> str:
    """ "Linux 6.1, x86_64": no name of this computer."""
    release = ".".join(platform.release().split(".")[:2])
    return f"{sys.platform} {release}, {platform.machine()}"


def _run(line: list[str]) -> str:
    """What a command prints; "" where it is missing, fails or hangs."""
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
