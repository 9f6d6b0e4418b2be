"""Orders to the agent of a host (agent.py), which starts and ends TensorFlow's processes there.

The agent ends with the process that gives the orders, even if that is killed. Lesson faults.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.distributed.errors import LaunchError, NoClosedNetwork
from labkit.distributed.tensorflow.agent import CLOSED, READY
from labkit.distributed.tensorflow.run import telling_line

if TYPE_CHECKING:
    from labkit.distributed.links.hosts import Host

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 60.0  # seconds for an agent to end
QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "GRPC_VERBOSITY": "ERROR",
    "CUDA_VISIBLE_DEVICES": "-1",  # six processes would each take the whole GPU
    "OMP_NUM_THREADS": "1",
    "KERAS_BACKEND": "tensorflow",
}


class Agent:
    """The agent of one host (agent.py); None for this machine, in a network without a way out.

    A host has one as it is: a cable to another host, and nothing else.
    """

    def __init__(self, folder: Path, host: Host | None) -> None:
        name = host.name if host else "here"
        self.log = folder / f"agent-{name}"
        temporary = folder / f"temporary-{name}"  # what killed programs leave goes with the folder
        temporary.mkdir()
        enter = ["ip", "netns", "exec", host.name] if host else []
        words = [] if host else [CLOSED]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*enter, sys.executable, "-P", "-m", "labkit.distributed.tensorflow.agent", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | QUIET | {"PYTHONPATH": path, "TMPDIR": str(temporary)},
                start_new_session=True,  # Ctrl-C is the notebook's
            )

    def await_ready(self) -> None:
        """Waits until it has loaded TensorFlow; two agents do so at the same time.

        Raises NoClosedNetwork with its sentence where it starts nothing.
        """
        said = self._answer()
        if said != READY:
            raise NoClosedNetwork(said)

    def ask(self, order: str, *what: Any) -> Any:
        """The agent's answer to an order, one of the methods of `agent.Agent`."""
        with suppress(BrokenPipeError):
            print(json.dumps({"do": order, "with": what}), file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        line = self.process.stdout.readline()
        if not line:
            said = telling_line(self.log.read_text("utf-8", "replace"))
            raise LaunchError(f"The agent that starts TensorFlow's processes has ended: {said}")
        return json.loads(line)

    def end(self) -> None:
        """Closes its input, so that it kills its programs and leaves."""
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()  # Linux ends its programs with it
            self.process.wait()
        self.process.stdout.close()
