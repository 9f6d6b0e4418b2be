"""Programs on a host of `two_hosts`, one by one: started, listened to, killed and waited for.

    with two_hosts(bandwidth=12.5e6) as (first, second), programs(environment) as start:
        server = start(first, [sys.executable, "train_ps.py", "--role", "server"])
        server.wait_for("ready", 60)
        server.kill()

`hosts.run` starts one program on every host and waits until all have ended; here programs die and
come back while others go on. At the end of the block none is left.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from labkit.distributed.errors import LaunchError
from labkit.distributed.links.hosts import Host

LAST_LINES = 30  # of the output, in an error
PAUSE = 0.02  # seconds between two looks


@dataclass(frozen=True)
class Program:
    """A program that was started on a host; what it prints goes to the file `output`."""

    host: Host
    command: tuple[str, ...]
    process: subprocess.Popen
    output: Path

    def printed(self) -> str:
        """What it has printed so far, errors included."""
        return self.output.read_text("utf-8", "replace")

    def kill(self) -> None:
        """Ends it at once and without a clean-up (SIGKILL), as a failing machine would.

        It returns when the processes that the program has started are gone as well: they are sent
        the same signal, but nobody says which of them dies last.
        """
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        while self._relatives():
            time.sleep(PAUSE)

    def wait_for(self, words: str, timeout: float) -> str:
        """Waits until it has printed these words; returns what it has printed.

        Raises LaunchError if it ends before, or does not print them within `timeout` seconds.
        """
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            ended = self.process.poll() is not None
            printed = self.printed()
            if words in printed:
                return printed
            if ended:
                raise LaunchError(self._with_output(f"ended before it said {words!r}"))
            time.sleep(PAUSE)
        raise LaunchError(self._with_output(f"did not say {words!r} within {timeout:g} s"))

    def wait(self, timeout: float) -> str:
        """Waits until it ends well; returns what it has printed.

        Raises LaunchError if it ends badly, or not within `timeout` seconds.
        """
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise LaunchError(self._with_output(f"did not end within {timeout:g} s")) from None
        if code:
            raise LaunchError(self._with_output(f"ended with exit code {code}"))
        return self.printed()

    def _relatives(self) -> list[int]:
        """The ids of the processes of its group that still run; none on a host that is gone."""
        try:
            pids = self.host.processes()
        except LaunchError:
            return []
        relatives = []
        for pid in pids:
            with suppress(ProcessLookupError):
                if os.getpgid(pid) == self.process.pid:
                    relatives.append(pid)
        return relatives

    def _with_output(self, fate: str) -> str:
        """A sentence, and the last lines that it printed."""
        lines = self.printed().splitlines()[-LAST_LINES:]
        return "\n".join([f"`{' '.join(self.command)}` on {self.host.address} {fate}.", *lines])


@contextmanager
def programs(environment: Mapping[str, str]) -> Iterator[Callable[[Host, Sequence[str]], Program]]:
    """Gives `start(host, command) -> Program`; at the end of the block all of them are killed."""
    started: list[Program] = []
    with tempfile.TemporaryDirectory(prefix="labkit-programs-") as folder:

        def start(host: Host, command: Sequence[str]) -> Program:
            output = Path(folder) / str(len(started))
            with output.open("wb") as file:
                process = subprocess.Popen(
                    ["ip", "netns", "exec", host.name, *command],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=dict(environment),
                    start_new_session=True,  # so that its own processes end with it
                )
            started.append(Program(host, tuple(command), process, output))
            return started[-1]

        try:
            yield start
        finally:
            for program in started:
                program.kill()
