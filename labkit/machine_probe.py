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
        return f"{self.cpu}, {self.cores} core{'s' if self.cores != 1 else ''}"

    @property
    def accelerators(self) -> dict[str, str]:
        """Which of the accelerators that the course is about are here, by kind; "" for none."""
        tpu = f"{self.tpu_chips} TPU chip(s)" if self.tpu_chips else ""
        gpu = " and ".join(self.gpus) + f" (driver {self.driver})" * bool(self.gpus and self.driver)
        return {"CUDA GPU": gpu, "TPU": tpu, "Pynq board": self.pynq}

    @property
    def has_cuda(self) -> bool:
        return bool(self.gpus)

    @property
    def has_tpu(self) -> bool:
        return self.tpu_chips > 0

    @property
    def has_pynq(self) -> bool:
        return bool(self.pynq)

    def __str__(self) -> str:
        memory = f"{self.memory / 2**30:.0f} GiB" if self.memory else "memory unknown"
        here = [found or f"no {kind}" for kind, found in self.accelerators.items()]
        return f"{self.name}, {memory}, {self.os}; {', '.join(here)}"


@cache
def this_machine() -> ThisMachine:
    """The machine this runs on. Looks once and remembers."""
    system = platform.system().replace("Darwin", "macOS")
    system += " (WSL2)" * ("microsoft" in platform.release().lower())
    gpus, driver = _cuda_gpus()
    here = _cpu_name(), _cores(), _memory(), system, platform.python_version()
    return ThisMachine(*here, gpus, _tpu_chips(), _pynq_board(), driver)


def _read(path: str | Path) -> str:
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
        found = re.search(r"^model name\s*:\s*(.+)$", _read("proc/cpuinfo"), re.MULTILINE)
        name = found[1] if found else _read("proc/device-tree/model") or platform.processor()
    name = re.sub(r"\((R|TM|C)\)|\b(CPU|Processor)\b|\d+-Core\b", " ", name, flags=re.IGNORECASE)
    name = re.sub(r"@\s*([\d.]*?\d)0*\s*GHz", r" \1 GHz", name)
    return " ".join(name.split()) or platform.machine() or "unknown CPU"


def _cores() -> int:
    """Cores that this process may use: its affinity, and a container's share of CPU time."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    # "200000 100000" says 200 ms of every 100 ms, so two cores; "max 100000" says no limit.
    quota, _, period = _read("sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdecimal():
        cores = min(cores, -(-int(quota) // int(period)))  # half a core still is a core to run on
    return cores


def _memory() -> int:
    """Bytes of main memory, or a container's smaller limit; 0 where the system does not say."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        memory = int(_run("sysctl", "-n", "hw.memsize") or 0)
    limit = _read("sys/fs/cgroup/memory.max")
    return min(memory or int(limit), int(limit)) if limit.isdecimal() else memory


def _cuda_gpus() -> tuple[tuple[str, ...], str]:
    """The NVIDIA GPUs' names, and their driver's version: its files first, which cost nothing."""
    cards = sorted(_ROOT.glob("proc/driver/nvidia/gpus/*/information"))
    models = [re.search(r"^Model:\s*(.+?)\s*$", _read(card), re.MULTILINE) for card in cards]
    found, said = [model[1] for model in models if model], _read("proc/driver/nvidia/version")
    if not found:
        asked = "--query-gpu=name,driver_version", "--format=csv,noheader"
        rows = [line.rpartition(", ") for line in _run("nvidia-smi", *asked).splitlines()]
        found, said = [name for name, _, _ in rows], " ".join(version for *_, version in rows)
    version = re.search(r"\b\d+(\.\d+)+", said) if found else None
    return tuple(found), version[0] if version else ""


def _tpu_chips() -> int:
    """TPU chips on the PCI bus."""
    devices = _ROOT.glob("sys/bus/pci/devices/*")
    return sum(_read(d / "vendor") == _GOOGLE and _read(d / "device") in _TPUS for d in devices)


def _pynq_board() -> str:
    """The board's name on a Pynq board, whose image sets BOARD; else ""."""
    board = _read("proc/device-tree/chosen/pynq_board") or os.environ.get("BOARD", "")
    return board if board.lower().startswith("pynq") else ""
