"""Asks the tools of `compute-sanitizer` what they find in the kernels of `planted`."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from labkit.gpu.report.sections.nsight import program
from labkit.gpu.report.sections.planted import PLANTED

TOOLS = ("racecheck", "memcheck", "synccheck", "initcheck")
PROGRAM = "labkit.gpu.report.sections.planted"
PATIENCE = 110  # seconds for a tool; all run at the same time
BLOCK = re.compile(r"^========= (?! )(.*(?:\n=========  .*)*)", re.MULTILINE)
NO_FINDING = (
    "COMPUTE-SANITIZER",
    "ERROR SUMMARY",
    "RACECHECK SUMMARY",
    "LEAK SUMMARY",
    "Program hit",
)
FINDING = re.compile(
    r"race|hazard|invalid|uninitialized|misaligned|barrier|divergent|out of bounds", re.IGNORECASE
)


class ToolReport(NamedTuple):
    """What a tool said: its finding in each kernel, which it came to, and which were stopped."""

    findings: dict[str, str]  # kernel -> the first line of the first finding
    launched: frozenset[str]
    stopped: frozenset[str]
    ended: frozenset[str]

    @property
    def stuck(self) -> frozenset[str]:
        """Those whose launch had no end, for which their program was ended."""
        return self.launched - self.stopped - self.ended


def ask(tool: str) -> ToolReport:
    """What a tool says of the kernels. NotHere without it; RuntimeError if it says nothing.

    A launch that was stopped or stuck is the last of its program: another goes on behind it.
    """
    end = time.monotonic() + PATIENCE
    said = ""
    left = [planted.name for planted in PLANTED]
    while left:
        printed = watched(tool, left, end - time.monotonic())
        said += printed
        done = read(printed).launched
        if not done.intersection(left):
            break
        left = [name for name in left if name not in done]
    found = read(said)
    if not found.ended or "=========" not in said:  # such as "Device not supported"
        raise RuntimeError(f"it could watch no launch: {' '.join(said.split())[:200]}")
    return found


def watched(tool: str, names: Sequence[str], seconds: float) -> str:
    """All that a tool, and the program that it watches, print about these kernels."""
    command = [program("compute-sanitizer"), "--tool", tool, "--print-limit", "1000"]
    if tool == "memcheck":
        command += ["--destroy-on-device-error", "kernel"]  # what follows is launched all the same
    command += [sys.executable, "-P", "-m", PROGRAM, *names]
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LABKIT_CUDA": "gpu"}
    done = subprocess.run(
        command, env=os.environ | env, capture_output=True, text=True, timeout=seconds
    )
    return done.stdout + done.stderr + "\n"


def ask_all() -> dict[str, Callable[[], ToolReport]]:
    """Starts all tools at the same time; tool -> what waits for its answer, or raises its error."""
    pool = ThreadPoolExecutor(len(TOOLS))
    started = {tool: pool.submit(ask, tool) for tool in TOOLS}
    pool.shutdown(wait=False)
    return {tool: future.result for tool, future in started.items()}


def read(printed: str) -> ToolReport:
    """The findings, kernel by kernel, from what a tool printed."""
    launched, stopped, ended = (
        frozenset(re.findall(rf"^{word} (\w+)", printed, re.MULTILINE))
        for word in ("LAUNCH", "STOPPED", "ENDED")
    )
    findings: dict[str, str] = {}
    for block in BLOCK.findall(printed):
        head = block.splitlines()[0].strip()
        if head.startswith(NO_FINDING) or not FINDING.search(head):
            continue
        for name in launched:
            if name in block:
                findings.setdefault(name, in_short(head))
    return ToolReport(findings, launched, stopped, ended)


def in_short(head: str) -> str:
    """The finding without addresses and the kernel's long name: "Invalid read of size 4 bytes"."""
    plain = re.split(r" at | between | by thread", re.sub(r"^(Error|Warning): ", "", head))[0]
    return re.sub(r"\s*0x[0-9a-f]+", "", plain).strip(" .:")
