"""Any number of hosts on a switch: network namespaces, each with a cable of a chosen bandwidth.

    with switched_hosts(4, bandwidth=25e6) as hosts:
        said = run(hosts, lambda node: [sys.executable, "program.py", str(node)])

As `hosts.two_hosts`, but with a switch (a bridge of the kernel) in the middle, and with a limit at
both ends of each cable: what a host sends, and what it is sent. So many who send to one share its
cable, as on a real switch. The limit is `tc`'s token bucket filter. Lesson a_cost_model.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from labkit.distributed.errors import LaunchError
from labkit.distributed.links import hosts
from labkit.distributed.links.hosts import DEVICE, Host

BURST = 16 << 10  # bytes that may pass at once after a pause: little beside a message
MOST_HOSTS = 16
INSTEAD = "The same trials run on links emulated in process (benchmarks/cost_model.py)."


@cache
def missing() -> str | None:
    """What switched hosts lack here, and what there is instead; None if nothing is missing."""
    if lack := hosts.missing():
        return f"{lack} {INSTEAD}"
    try:
        with switched_hosts(1, 1e6):
            return None
    except LaunchError as error:
        return f"{error} The kernel may lack bridges. {INSTEAD}"


@contextmanager
def switched_hosts(count: int, bandwidth: float) -> Iterator[tuple[Host, ...]]:
    """So many hosts and their switch, in the `with` block; nothing of them is left behind it.

    bandwidth   bytes per second in each direction of each host's cable

    Raises LaunchError where it cannot be done, with the command that failed; ValueError for a
    bandwidth that is not above 0, and for less than one host or more than 16.
    """
    if not bandwidth > 0:
        raise ValueError(f"switched_hosts: bandwidth is above 0 bytes/s, not {bandwidth!r}.")
    if not 1 <= count <= MOST_HOSTS:
        raise ValueError(f"switched_hosts: from 1 to {MOST_HOSTS} hosts, not {count!r}.")
    mark = secrets.token_hex(4)
    switch = Host(f"labkit-{mark}-switch", "")
    found = tuple(Host(f"labkit-{mark}-{i}", f"10.0.0.{i + 1}") for i in range(count))
    try:
        _ip("netns", "add", switch.name)
        _ip("-n", switch.name, "link", "add", "switch", "type", "bridge")
        _ip("-n", switch.name, "link", "set", "switch", "up")
        for place, host in enumerate(found):
            _ip("netns", "add", host.name)
            _plug_in(host, switch, f"port{place}", bandwidth)
        yield found
    finally:
        for host in (*found, switch):
            with suppress(LaunchError, FileNotFoundError):  # it may never have been made
                hosts._remove(host)


def _plug_in(host: Host, switch: Host, port: str, bandwidth: float) -> None:
    """A cable from the host to the switch, shaped at both ends; the host's address."""
    cable = f"link add {DEVICE} netns {host.name} type veth peer name {port} netns {switch.name}"
    _ip(*cable.split())
    _ip("-n", switch.name, "link", "set", port, "master", "switch")
    _ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", DEVICE)
    for name, device in ((host.name, "lo"), (host.name, DEVICE), (switch.name, port)):
        _ip("-n", name, "link", "set", device, "up")
    for name, device in ((host.name, DEVICE), (switch.name, port)):
        shaper = f"qdisc add dev {device} root tbf rate {round(8 * bandwidth)}bit burst {BURST}"
        hosts._call("tc", "-n", name, *shaper.split(), "latency", "400ms")


def _ip(*words: str) -> None:
    hosts._call("ip", *words)
