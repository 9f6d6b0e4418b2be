"""pynq keeps its connection to a board for the life of a process: a new board there is found again.

After a failed call gRPC waits a second or more before it tries anew, and calls fail meanwhile. So
a board's start waits for those connections of this process that lead to it.
"""

import sys
from contextlib import suppress

PATIENCE = 60  # seconds; only ends a hang


def wait_for_clients(address: str, port: int) -> None:
    """Waits until pynq's devices at an address, if there are any, are connected."""
    if "pynq" not in sys.modules:
        return
    import grpc
    from pynq.pl_server import Device

    for device in getattr(Device, "_devices", []):
        here = (getattr(device, "ip_addr", ""), getattr(device, "port", 0))
        if here == (address, port):
            with suppress(grpc.FutureTimeoutError, ValueError):  # ValueError: it was closed
                grpc.channel_ready_future(device.client.channel).result(timeout=PATIENCE)
