"""torchrun, as long as somebody holds its standard input open: python -m ... instead of torchrun.

Who starts it keeps a pipe to its standard input. When the pipe closes, by whatever end of the one
who started it, the agent ends itself as Ctrl-C would end it, and its workers first. So no worker
outlives an interrupted cell or a notebook whose kernel was killed.

All of them share a network without a way out: torchrun's store listens on all interfaces.
"""

import os
import signal
import sys
import threading

from labkit.distributed.connections import closed_network
from labkit.distributed.errors import LaunchError

NOT_STARTED = 77  # exit code: there is no closed network, and the output says why


def main() -> None:
    """torchrun with the arguments of the command line; which rank failed, in a line."""
    try:
        closed_network.enter()  # before anything starts a thread
    except LaunchError as error:
        print(error)
        raise SystemExit(NOT_STARTED) from None
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main as torchrun

    threading.Thread(target=_end_with_the_pipe, daemon=True).start()
    try:
        torchrun()
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise SystemExit(f"Rank {rank} ended first, with exit code {failure.exitcode}.") from None


def _end_with_the_pipe() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
