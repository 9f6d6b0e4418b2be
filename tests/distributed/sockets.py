"""Which sockets of a process, and of all that it has started, others could reach; on Linux."""

import ipaddress
import os
from contextlib import suppress
from pathlib import Path

import psutil

LISTENS = "0A"


def reachable(root: int | None = None) -> list[str]:
    """Of a process and its descendants: "1234 (python) 0.0.0.0:80", if it listens for others.

    Others reach no loopback, and nothing in a network namespace that has no other interface.
    """
    top = psutil.Process(root)
    found = []
    for process in [top, *top.children(recursive=True)]:
        with suppress(OSError, psutil.Error):
            if _interfaces(process.pid) != {"lo"}:
                open_ones = [place for place in listening(process.pid) if not _is_loopback(place)]
                found += [f"{process.pid} ({process.name()}) {place}" for place in open_ones]
    return found


def listening(pid: int) -> list[str]:
    """Where a process listens, as "127.0.0.1:40123"."""
    own = {os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir() if file.is_symlink()}
    places = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text("utf-8").splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS and f"socket:[{words[9]}]" in own:
                address, port = words[1].split(":")
                places.append(f"{_address(address)}:{int(port, 16)}")
    return places


def _interfaces(pid: int) -> set[str]:
    lines = Path(f"/proc/{pid}/net/dev").read_text("utf-8").splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines}


def _address(digits: str) -> str:
    """The kernel writes each four bytes as a number of this machine's byte order."""
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def _is_loopback(place: str) -> bool:
    address = ipaddress.ip_address(place.rpartition(":")[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
