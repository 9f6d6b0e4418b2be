"""The command line of the programs that write a page on two hosts: --out, and an end for all.

The hosts are network namespaces (labkit/distributed/links/hosts.py), which takes Linux, iproute2
and root's rights. Used by two_hosts.py and two_hosts_servers.py.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from labkit.distributed import LaunchError
from labkit.distributed.links import hosts

ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """One thread in each process; labkit is found where it stands."""
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def write_page(
    name: str, description: str, page: Callable[[], str], words: Sequence[str] | None = None
) -> int:
    """Writes what page() returns to the file of --out; returns the exit status.

    name    of the program, before what it says of an error
    """
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument("--out", type=Path, required=True, help="the page, as Markdown")
    out = parser.parse_args(words).out
    if not hosts.available():
        print(f"{name}: {hosts.missing()}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the hosts are removed
    try:
        out.write_text(page(), "utf-8")
    except (LaunchError, OSError, subprocess.SubprocessError) as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped; the hosts are gone.", file=sys.stderr)
        return 130
    return 0
