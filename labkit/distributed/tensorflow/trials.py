"""Any program in the coordinator's place of a TensorFlow cluster: what it says, where it waits.

    tried = try_program(cluster, "import tensorflow as tf; tf.train.Server")
    tried.error                                              # the last line of its traceback
    tried = try_program(cluster, text, until="ready")        # ended when it waits after this word
    tried.line                                               # the line in which it waits

Lesson faults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from labkit.distributed.tensorflow.cluster import PATIENCE, TfCluster
from labkit.distributed.tensorflow.own_configs import COORDINATOR
from labkit.distributed.tensorflow.recorded import RecordedCluster
from labkit.distributed.tensorflow.run import Tried
from labkit.distributed.tensorflow.turns import free_ports, repeated

LOOKS = 20  # at a program, before we say that it stays where it is
_STACK = re.compile(r"^(Current thread|Thread) 0x.*\n(  File .*\n)*\n?", re.MULTILINE)


def try_program(
    cluster: TfCluster | RecordedCluster,
    text: str,
    until: str | Callable[[], bool] = "",
    timeout: float = PATIENCE,
) -> Tried:
    """Runs a Python program, to its end; of a recorded cluster, what came of it.

    until   words: once the program has printed them and then stays in one line, it is ended, and
            the line is told. Or a function, which is true from that moment on
    """
    if isinstance(cluster, RecordedCluster):
        return cluster.tried(text)
    cluster.refuse_two()
    path = cluster.folder / "program.py"
    path.write_text(text, "utf-8")
    (cluster.folder / COORDINATOR / "log").unlink(missing_ok=True)
    cluster.start("chief", 0, path)
    begun = until if callable(until) else lambda: bool(until) and until in cluster.log(COORDINATOR)
    lines: list[int | None] = []
    for _ in repeated(timeout):
        if cluster.code(COORDINATOR) is not None or _stays(lines):
            break
        if lines or begun():
            lines.append(cluster.where(COORDINATOR))
    ended = cluster.code(COORDINATOR) is not None
    cluster.kill(COORDINATOR)
    said = _STACK.sub("", cluster.log(COORDINATOR))
    return Tried(said, None if ended or not lines else lines[-1])


def with_free_ports(text: str) -> str:
    """A program with its ports replaced, each "localhost:12222" by one at which nobody listens."""
    ports = free_ports()
    found = sorted(set(re.findall(r"(?<=localhost:)\d+", text)))
    free = {port: str(next(ports)) for port in found}
    return re.sub(r"(?<=localhost:)\d+", lambda port: free[port[0]], text)


def _stays(lines: Sequence[int | None]) -> bool:
    """Whether the last looks at a program all found it in the same line; None is no answer."""
    last = lines[-LOOKS:]
    return len(last) == LOOKS and len(set(last)) == 1 and None not in last
