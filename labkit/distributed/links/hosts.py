"""Two hosts on one machine: network namespaces of Linux, joined by a cable of a chosen bandwidth.

    with two_hosts(bandwidth=12.5e6) as hosts:             # bytes per second
        said = run(hosts, lambda node: torchrun(hosts, node, 1, "train_ddp.py"))

`Host.cut` pulls the cable out and `Host.mend` puts it back; host_programs.py starts and kills
programs one by one. Each host has its own network: one cable to the other, one address, and nothing
else. Programs on them find each other as on two computers, and the kernel counts what crosses the
cable. Processor, memory and files are shared. It takes Linux, the programs `ip` and `tc`, and
root's rights; `available` tells. Whatever happens, processes and namespaces are gone at the end of
the block.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labkit.distributed.errors import LaunchError
from labkit.distributed.launching.schedulers import PORT

DEVICE = "eth0"
PROGRAMS = ("ip", "tc")
PATIENCE = 60.0  # seconds for a command that takes milliseconds
LEAST_BURST = 64 << 10  # bytes that the shaper lets through at once


@dataclass(frozen=True)
class Host:
    """A namespace's name, and its address on the cable."""

    name: str
    address: str

    def sent(self) -> int:
        """Bytes that have left this host over the cable, headers included, as the kernel counts."""
        told = _call("ip", "-n", self.name, "-s", "-json", "link", "show", DEVICE)
        return json.loads(told)[0]["stats64"]["tx"]["bytes"]

    def processes(self) -> list[int]:
        """The ids of all processes that run on this host now."""
        return [int(pid) for pid in _call("ip", "netns", "pids", self.name).split()]

    def cut(self) -> None:
        """Pulls the cable out: nothing leaves or reaches this host until `mend`.

        No program is told. A connection that stands waits, and what it has sent is sent again by
        TCP once the cable is back; a new one is refused here, and is never answered there.
        """
        _call("ip", "-n", self.name, "link", "set", DEVICE, "down")

    def mend(self) -> None:
        """Puts the cable back; it carries as much per second as before."""
        _call("ip", "-n", self.name, "link", "set", DEVICE, "up")


def available() -> bool:
    """Whether there can be two hosts here; `missing` says why not."""
    return missing() is None


@cache
def missing() -> str | None:
    """What two hosts lack here, in a sentence; None if nothing. It tries, once in a process."""
    if sys.platform != "linux":
        return f"Network namespaces are a part of Linux, and this is {sys.platform}."
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"The program `{program}` is missing: install the package iproute2."
    try:
        with two_hosts(1e6):
            return None
    except LaunchError as error:
        return f"{error} It takes root's rights (CAP_SYS_ADMIN and CAP_NET_ADMIN)."


@contextmanager
def two_hosts(bandwidth: float) -> Iterator[tuple[Host, Host]]:
    """Two hosts and their cable, in the `with` block.

    bandwidth   bytes per second that each of them can send

    Raises LaunchError where it cannot be done, with the command that failed, and ValueError for a
    bandwidth that is not above 0.
    """
    if not bandwidth > 0:
        raise ValueError(f"two_hosts: bandwidth is above 0 bytes per second, not {bandwidth!r}.")
    mark = secrets.token_hex(4)
    first, second = (Host(f"labkit-{mark}-{i}", f"10.0.0.{i + 1}") for i in range(2))
    try:
        for host in (first, second):
            _call("ip", "netns", "add", host.name)
        cable = f"link add {DEVICE} netns {first.name} type veth peer name {DEVICE} netns"
        _call("ip", *cable.split(), second.name)
        for host in (first, second):
            _connect(host, bandwidth)
        yield first, second
    finally:
        for host in (first, second):
            _remove(host)


def run(
    hosts: Sequence[Host],
    command: Callable[[int], list[str]],
    timeout: float = 600.0,
    environment: dict[str, str] | None = None,
) -> list[str]:
    """What `command(i)` prints on host i, run on all hosts at once.

    timeout   seconds, after which all are ended

    Raises LaunchError with the output if one fails, or does not end in time; the others are ended.
    """
    environment = dict(os.environ if environment is None else environment)
    environment["GLOO_SOCKET_IFNAME"] = DEVICE  # the machine's name leads Gloo to no cable
    with tempfile.TemporaryDirectory(prefix="labkit-hosts-") as folder:
        outputs = [Path(folder) / host.name for host in hosts]
        processes = []
        try:
            for node, host in enumerate(hosts):
                words = ["ip", "netns", "exec", host.name, *command(node)]
                processes.append(_started(words, outputs[node], environment))
            fate = _awaited(processes, timeout)
        finally:
            for process in processes:
                process.kill()  # on a busy machine it may not have got as far as its host
            for host in hosts:
                _end_processes(host)
            for process in processes:
                process.wait()
        said = [output.read_text("utf-8", "replace") for output in outputs]
    if fate:
        raise LaunchError("\n".join([fate, *_by_host(said)]))
    return said


def torchrun(hosts: Sequence[Host], node: int, ranks: int, *program: str) -> list[str]:
    """The command that starts `ranks` ranks of a program on host `node`, to meet on host 0."""
    return [
        sys.executable,
        "-P",
        "-m",
        "torch.distributed.run",
        f"--nnodes={len(hosts)}",
        f"--node-rank={node}",
        f"--nproc-per-node={ranks}",
        f"--master-addr={hosts[0].address}",
        f"--master-port={PORT}",
        *program,
    ]


def _connect(host: Host, bandwidth: float) -> None:
    """Gives the host its address, and limits what it sends."""
    _call("ip", "-n", host.name, "address", "add", f"{host.address}/24", "dev", DEVICE)
    for device in ("lo", DEVICE):
        _call("ip", "-n", host.name, "link", "set", device, "up")
    burst = max(LEAST_BURST, round(bandwidth / 100))  # what 10 ms may bring: a tick of the kernel
    shaper = f"qdisc add dev {DEVICE} root tbf rate {round(8 * bandwidth)}bit burst {burst}"
    _call("tc", "-n", host.name, *shaper.split(), "latency", "400ms")


def _remove(host: Host) -> None:
    """Ends what runs on the host and removes it, with its end of the cable."""
    with suppress(LaunchError, FileNotFoundError):  # it may never have been made
        _end_processes(host)
        _call("ip", "netns", "delete", host.name)


def _end_processes(host: Host) -> None:
    """Ends every process on the host, also those that have left their parent's session."""
    while pids := host.processes():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _started(words: list[str], output: Path, environment: dict[str, str]) -> subprocess.Popen:
    with output.open("wb") as file:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C is ours: it ends the block
        )


def _awaited(processes: Sequence[subprocess.Popen], timeout: float) -> str | None:
    """Waits for all to end well, or one badly; then says which, or that it took too long."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        codes = [process.poll() for process in processes]
        for node, code in enumerate(codes):
            if code:
                return f"Host {node} ended with exit code {code}, so that all were ended."
        if None not in codes:
            return None
        time.sleep(0.02)
    return f"Not all hosts ended within {timeout:g} s, so that they were ended."


def _by_host(outputs: Sequence[str]) -> list[str]:
    """The last lines of each host's output, behind its number."""
    lines = []
    for node, text in enumerate(outputs):
        lines += [f"[host {node}] {line}" for line in text.splitlines()[-30:]]
    return lines


def _call(*words: str) -> str:
    """What a command prints; raises LaunchError with what it says when it fails."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise LaunchError(f"`{' '.join(words)}` failed: {reason}.".replace("..", "."))
    return done.stdout
