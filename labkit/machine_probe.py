"""What this machine is, read from the system's files and tools: cheap, and imports no package."""

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# PCI vendor of Google and devices that are TPUs, as JAX knows them (jax/_src/hardware_utils.py).
_GOOGLE = "0x1ae0"
_TPUS = {"0x0027", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}
_ROOT = Path("/")  # of the system files; tests put another tree here
_PATIENCE = 30.0  # seconds for a command: this only ends one that hangs


@dataclass(frozen=True)
class ThisMachine:
    """The machine at hand, as far as this process may use it."""

    cpu: str  # "Intel Xeon 2.8 GHz"
    cores: int  # usable ones: affinity and a container's limit count
    memory: int  # bytes, a container's limit counts; 0 where unknown
    os: str  # "Linux", "Linux (WSL2)", "macOS"
    python: str
    gpus: tuple[str, ...]  # names of the CUDA GPUs
    tpu_chips: int
    pynq: str  # "Pynq-Z1", or "" where this is no such board
    driver: str = ""  # of NVIDIA's GPUs, "580.65.06"; "" where there is none

    @property
    def name(self) -> str:
        """CPU and cores, the device that a measurement names: "Intel Xeon 2.8 GHz, 2 cores"."""
        plural = "" if self.cores == 1 else "s"
        return f"{self.cpu}, {self.cores} core{plural}"

    @property
    def accelerators(self) -> dict[str, str]:
        """Which of the accelerators that the course is about are here, by kind; "" for none."""
        gpu = " and ".join(self.gpus)
        if gpu and self.driver:
            gpu += f" (driver {self.driver})"
        tpu = f"{self.tpu_chips} TPU chip(s)" if self.tpu_chips else ""
        return {"CUDA GPU": gpu, "TPU": tpu, "Pynq board": self.pynq}

    @property
    def has_cuda(self) -> bool:
        """Whether an NVIDIA GPU is here."""
        return bool(self.gpus)

    @property
    def has_tpu(self) -> bool:
        """Whether a TPU chip is here."""
        return self.tpu_chips > 0

    def __str__(self) -> str:
        memory = f"{self.memory / 2**30:.0f} GiB" if self.memory else "memory unknown"
        here = [found or f"no {kind}" for kind, found in self.accelerators.items()]
        return f"{self.name}, {memory}, {self.os}; {', '.join(here)}"


@cache
def this_machine() -> ThisMachine:
    """The machine this runs on. Looks once and remembers."""
    system = platform.system().replace("Darwin", "macOS")
    if "microsoft" in platform.release().lower():
        system += " (WSL2)"
    gpus, driver = _cuda_gpus()
    return ThisMachine(
        cpu=_cpu_name(),
        cores=_cores(),
        memory=_memory(),
        os=system,
        python=platform.python_version(),
        gpus=gpus,
        tpu_chips=_tpu_chips(),
        pynq=_pynq_board(),
        driver=driver,
    )


def _text(path: str | Path) -> str:
    """A system file's text; "" where there is none."""
    try:
        return (_ROOT / path).read_text(encoding="utf-8", errors="replace").strip("\0 \n")
    except OSError:
        return ""


def _run(*command: str) -> str:
    """What a command prints; "" where it is missing, fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _cpu_name() -> str:
    """The CPU as its maker calls it, without trademarks: "Intel Xeon 2.8 GHz"."""
    if platform.system() == "Darwin":
        name = _run("sysctl", "-n", "machdep.cpu.brand_string")
    else:
        found = re.search(r"^model name\s*:\s*(.+)$", _text("proc/cpuinfo"), re.MULTILINE)
        name = found[1] if found else _text("proc/device-tree/model") or platform.processor()
    name = re.sub(r"\((R|TM|C)\)|\b(CPU|Processor)\b|\d+-Core\b", " ", name, flags=re.IGNORECASE)
    name = re.sub(r"@\s*([\d.]*?\d)0*\s*GHz", r" \1 GHz", name)
    return " ".join(name.split()) or platform.machine() or "unknown CPU"


def _cores() -> int:
    """Cores that this process may use: its affinity, and a container's share of CPU time."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    # "200000 100000" says 200 ms of every 100 ms, so two cores; "max 100000" says no limit.
    quota, _, period = _text("sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdecimal():
        cores = min(cores, -(-int(quota) // int(period)))  # half a core still is a core to run on
    return cores


def _memory() -> int:
    """Bytes of main memory, or a container's smaller limit; 0 where the system does not say."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        memory = int(_run("sysctl", "-n", "hw.memsize") or 0)
    limit = _text("sys/fs/cgroup/memory.max")
    if not limit.isdecimal():  # "max": none
        return memory
    return min(memory, int(limit)) if memory else int(limit)


def _cuda_gpus() -> tuple[tuple[str, ...], str]:
    """The NVIDIA GPUs' names, and their driver's version: its files first, which cost nothing."""
    names = []
    for card in sorted(_ROOT.glob("proc/driver/nvidia/gpus/*/information")):
        model = re.search(r"^Model:\s*(.+?)\s*$", _text(card), re.MULTILINE)
        if model:
            names.append(model[1])
    driver = _text("proc/driver/nvidia/version")
    if not names:
        names, driver = _ask_nvidia_smi()
    version = re.search(r"\b\d+(\.\d+)+", driver) if names else None
    return tuple(names), version[0] if version else ""


def _ask_nvidia_smi() -> tuple[list[str], str]:
    """The GPUs' names and the text with their driver's version, as NVIDIA's own tool tells them."""
    names = []
    versions = []
    said = _run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    for line in said.splitlines():
        name, _, version = line.rpartition(", ")
        names.append(name)
        versions.append(version)
    return names, " ".join(versions)


def _tpu_chips() -> int:
    """TPU chips on the PCI bus."""
    chips = 0
    for device in _ROOT.glob("sys/bus/pci/devices/*"):
        if _text(device / "vendor") == _GOOGLE and _text(device / "device") in _TPUS:
            chips += 1
    return chips


def _pynq_board() -> str:
    """The board's name on a Pynq board, whose image sets BOARD; else ""."""
    board = _text("proc/device-tree/chosen/pynq_board") or os.environ.get("BOARD", "")
    return board if board.lower().startswith("pynq") else ""
