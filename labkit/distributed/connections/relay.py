"""A relay: a process that forwards connections, and holds each segment for alpha seconds.

    with relayed(("10.0.0.1", 5000), seconds=0.01) as address:
        connection = socket.create_connection(address)   # to 10.0.0.1, 10 ms later each way

The kernel can delay packets by itself (netem), but many are built without. The relay needs nothing:
it reads what has come, notes when it is due, and hands it on then, in order. What has come later is
held meanwhile, too, so a relay adds latency and leaves the bandwidth as it is. Lesson a_cost_model.

It asks no secret. Any user of this computer may call it, and who holds MOST_CONNECTIONS keeps new
callers out until they end; those that are there are served on.
"""

import argparse
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from labkit.distributed.connections.door import listening
from labkit.distributed.errors import LaunchError

SEGMENT = 64 << 10  # bytes that are read at once, at most
MOST_HELD = 1024  # segments on their way in one direction
END = b""  # what a connection's end reads as
MOST_CONNECTIONS = 64  # at a time; a further caller reads the end at once
PAUSE = 0.05  # seconds after a connection that could not be accepted
PATIENCE = 10.0  # seconds for a process to end by itself

Address = tuple[str, int]


@contextmanager
def relayed(target: Address, seconds: float) -> Iterator[Address]:
    """The address of a relay to `target`, in the `with` block; its process ends with the block.

    seconds   that each segment is held, in each direction

    Each connection to the address becomes one to the target. Raises ValueError for seconds below
    0, and LaunchError where the process does not start.
    """
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"A relay holds segments for 0 seconds or more, not {seconds!r}.")
    command = [sys.executable, "-P", "-m", __name__, target[0], str(target[1]), str(seconds)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            said = process.stdout.readline()
            if not said:
                raise LaunchError(f"The relay to {target[0]}:{target[1]} did not start.")
            yield "127.0.0.1", int(said)
        finally:
            process.stdin.close()  # which it waits for
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def forward(source: socket.socket, target: socket.socket, seconds: float) -> None:
    """Hands on what comes from the source, each segment `seconds` later, until the end is through.

    The end counts as a segment. A target that is gone ends the source as well.
    """
    held: queue.Queue[tuple[float, bytes]] = queue.Queue(MOST_HELD)
    gone = threading.Event()
    reader = threading.Thread(target=_read, args=(source, held, seconds, gone), daemon=True)
    reader.start()
    segment = b"something"
    while segment != END:
        due, segment = held.get()
        _sleep_until(due)
        try:
            if segment == END:
                target.shutdown(socket.SHUT_WR)
            elif not gone.is_set():
                target.sendall(segment)
        except OSError:
            gone.set()
            with suppress(OSError):  # which wakes a reader that waits
                source.shutdown(socket.SHUT_RDWR)
    reader.join()


def _read(source: socket.socket, held: queue.Queue, seconds: float, gone: threading.Event) -> None:
    """Puts every segment, and at last the end, beside the moment at which it is due."""
    segment = b"something"
    while segment != END:
        try:
            segment = source.recv(SEGMENT)
        except OSError:
            segment = END
        if gone.is_set():
            segment = END
        held.put((time.monotonic() + seconds, segment))


def connect(here: socket.socket, target: Address, seconds: float) -> None:
    """Serves one connection to the relay, in both directions, and closes both ends at last.

    A caller that has said all may still be answered. A target that has said all ends both: a caller
    who then neither speaks nor leaves would keep a place for ever.
    """
    with here:
        try:
            there = socket.create_connection(target)
        except OSError:
            return  # the caller reads the end at once
        with there:
            for end in (here, there):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=answer, args=(there, here, seconds), daemon=True)
            back.start()
            forward(here, there, seconds)
            back.join()


def answer(there: socket.socket, here: socket.socket, seconds: float) -> None:
    """Hands on what the target says, until it ends; then nothing more is read from the caller."""
    forward(there, here, seconds)
    with suppress(OSError):  # the caller has left by itself
        here.shutdown(socket.SHUT_RD)  # what it had sent before goes on to the target


def serve(target: Address, seconds: float) -> None:
    """Prints the port that it listens on; serves until the standard input ends, then exits."""
    listener = listening(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=_accept, args=(listener, target, seconds), daemon=True).start()
    sys.stdin.read()  # ends when whoever started it closes it, or is gone
    os._exit(0)  # whatever the threads wait for


def _accept(listener: socket.socket, target: Address, seconds: float) -> None:
    """For ever: a caller that has left, or too many open files, pass."""
    free = threading.Semaphore(MOST_CONNECTIONS)

    def serve_one(here: socket.socket) -> None:
        with suppress(OSError):
            connect(here, target, seconds)
        free.release()

    while True:
        try:
            here, _ = listener.accept()
        except OSError:
            time.sleep(PAUSE)
            continue
        if free.acquire(blocking=False):
            threading.Thread(target=serve_one, args=(here,), daemon=True).start()
        else:
            here.close()


def _sleep_until(moment: float) -> None:
    while (left := moment - time.monotonic()) > 0:
        time.sleep(left)


def main(words: Sequence[str] | None = None) -> None:
    """The command line: HOST PORT SECONDS."""
    parser = argparse.ArgumentParser(prog="relay", description="Forward, alpha seconds later.")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("seconds", type=float)
    given = parser.parse_args(words)
    serve((given.host, given.port), given.seconds)


if __name__ == "__main__":
    main()
