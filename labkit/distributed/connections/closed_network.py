"""A network of a process's own, without a way out: for servers that would let anybody in.

    enter()                             # this process and its children have a loopback alone
    print(without_way_out(function))    # what a function prints in a new process that does so

TensorFlow's servers and torchrun's store listen on all interfaces, whatever address they are given,
and ask nobody who he is; what they are sent can run code. Here no interface leads to anybody else.
It is a network namespace of Linux; where the user is not root, in a user namespace of his own.
Lessons faults and restarts_and_monitoring.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from labkit.distributed.errors import LaunchError, NoClosedNetwork

NEW_NETWORK = 0x40000000  # unshare's CLONE_NEWNET
NEW_USER = 0x10000000  # CLONE_NEWUSER
GET_FLAGS, SET_FLAGS = 0x8913, 0x8914  # ioctl's SIOCGIFFLAGS, SIOCSIFFLAGS
UP = 0x1  # an interface's IFF_UP
LOOPBACK = b"lo"
ROUTES = Path("/proc/net")
CALL = "import sys, cloudpickle, labkit.distributed.connections.closed_network as network; "
CALL += "network.enter(); "
CALL += "cloudpickle.load(sys.stdin.buffer)()"
WHAT_TO_DO = (
    "Where your system forbids it, allow it (Ubuntu: `sudo sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0`; Docker: `--cap-add=SYS_ADMIN`); on macOS, "
    "take a virtual machine with Linux."
)


def enter() -> None:
    """Gives this process, which has one thread yet, a new network that its children share.

    Raises NoClosedNetwork, with what to do, where it cannot be had; nothing may be served then.
    """
    if sys.platform != "linux":
        raise NoClosedNetwork(
            _refusal(f"network namespaces are Linux's, and this is {sys.platform}")
        )
    try:
        _unshare()
        _raise_loopback()
    except OSError as error:
        raise NoClosedNetwork(_refusal(f"the system says: {error.strerror}")) from None


def without_way_out(function: Callable[[], None]) -> str:
    """What a function prints in a new process, in a network without a way out.

    Where there is none, it is not called, and the text says why. Raises LaunchError with the last
    line of its traceback where it fails.
    """
    import cloudpickle

    done = subprocess.run(
        [sys.executable, "-P", "-c", CALL],
        input=cloudpickle.dumps(function),
        capture_output=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        kind, _, why = last.partition(": ")
        if kind.endswith(NoClosedNetwork.__name__):
            return f"This was not run here. {why}"
        raise LaunchError(last.removeprefix(f"{LaunchError.__module__}.LaunchError: "))
    return done.stdout.decode("utf-8", "replace").rstrip()


def has_way_out() -> bool:
    """Whether a default route leads out of this process's network; True where nobody can say."""
    try:
        v4 = (ROUTES / "route").read_text("utf-8").splitlines()[1:]
        of_v6 = ROUTES / "ipv6_route"
        v6 = of_v6.read_text("utf-8").splitlines() if of_v6.exists() else []
    except OSError:
        return True
    to_all = [line for line in v4 if line.split()[1] == line.split()[7] == "0" * 8]
    to_all += [line for line in v6 if line.startswith("0" * 32 + " 00 ")]
    return any("lo" not in line.split() for line in to_all)  # lo's is a route to nowhere


def _unshare() -> None:
    """Makes the namespaces; the user keeps his number, and what he may do to his own files."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(NEW_NETWORK) == 0:
        return
    if libc.unshare(NEW_USER | NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    Path("/proc/self/setgroups").write_text("deny", "utf-8")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", "utf-8")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", "utf-8")


def _raise_loopback() -> None:
    """A new network's loopback is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", LOOPBACK, 0)
        flags = struct.unpack("16xH14x", fcntl.ioctl(any_socket, GET_FLAGS, request))[0]
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14x", LOOPBACK, flags | UP))


def _refusal(reason: str) -> str:
    return (
        f"A network without a way out cannot be made ({reason}), and without it strangers could "
        f"reach servers that run whatever they are sent: so they are not started. {WHAT_TO_DO}"
    )
