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
ASKED = {  # of nvidia-smi: the name in the report, its own, and the unit
    "name": ("name", ""),
    "driver": ("driver_version", ""),
    "compute capability": ("compute_cap", ""),
    "memory": ("memory.total", "MiB"),
    "SM clock at the start": ("clocks.sm", "MHz"),
    "highest SM clock": ("clocks.max.sm", "MHz"),
    "memory clock at the start": ("clocks.mem", "MHz"),
    "power limit": ("power.limit", "W"),
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
    asked = ",".join(query for query, _ in ASKED.values())
    line = ["nvidia-smi", f"--id={first_gpu()}", f"--query-gpu={asked}"]
    said = _run([*line, "--format=csv,noheader,nounits"])
    cells = said.splitlines()[0].split(", ") if said else []
    if len(cells) != len(ASKED):
        return {}
    found = {}
    for (name, (_, unit)), cell in zip(ASKED.items(), cells, strict=True):
        found[name] = f"{cell.strip()} {unit}".strip()
    return found


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
