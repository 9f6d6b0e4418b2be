"""A TensorFlow cluster; where none may start, the record of one that ran elsewhere.

    cluster = tf_cluster(servers=2, workers=3, config=tf_config)
    run = cluster.run(steps=100)            # a TfRun, of processes that run here or of the record

On macOS, and in Docker without SYS_ADMIN, TensorFlow's servers would be open to strangers
(cluster.py). There the lesson reads what its orders came to on a Linux machine: of the same
program, kept by `python tools/cluster/tf_record.py`. Lesson faults.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.distributed.errors import LaunchError, NoClosedNetwork
from labkit.distributed.tensorflow.run import TfRun, Tried

if TYPE_CHECKING:
    from labkit.distributed.tensorflow.cluster import TfCluster

RECORD = Path(__file__).with_name("record.json")


def tf_cluster(**options: Any) -> TfCluster | RecordedCluster:
    """A `TfCluster` of these options; where none may start, the record, and a sentence why."""
    from labkit.distributed.tensorflow import cluster as module

    try:
        return module.TfCluster(**options)
    except NoClosedNetwork as error:
        cluster = RecordedCluster()
        print(f"{error}\n{cluster.source}")
        return cluster


class RecordedCluster:
    """Answers the orders of lesson faults as a TfCluster did; nothing runs."""

    def __init__(self) -> None:
        self.record = json.loads(RECORD.read_text("utf-8"))
        self._name = ""

    @property
    def source(self) -> str:
        """A sentence that says whose numbers these are."""
        return f"So what follows is a record: counted by {self.record['source']}."

    def run(self, **options: Any) -> TfRun:
        """What such a training came to."""
        self.begin(**options)
        return self.finish()

    def begin(self, **options: Any) -> None:
        """Opens the record of a training; raises LaunchError where there is none."""
        self._name = name_of(options)
        if self._name not in self.record["runs"]:
            known = "; ".join(self.record["runs"])
            raise LaunchError(
                f"A training of {self._name} is not in the record, which has {known}."
            )

    def paused(self) -> str:
        """The worker that waited in this training."""
        return self.record["paused"][self._name]

    def finish(self) -> TfRun:
        """What the training came to."""
        return TfRun(**self.record["runs"][self._name])

    def tried(self, text: str) -> Tried:
        """What came of a program, whatever its ports were; LaunchError where it was not tried."""
        found = self.record["programs"].get(without_ports(text))
        if found is None:
            raise LaunchError("This program is not in the record: only those of the lesson are.")
        return Tried(found["said"], found["line"])

    def kill(self, name: str) -> None:
        """The kill is in the record."""

    def restart(self, name: str) -> None:
        """The restart is in the record."""

    def release(self) -> None:
        """The worker went on."""

    def end(self) -> None:
        """Nothing runs."""


def name_of(options: dict[str, Any]) -> str:
    """The name of a training in the record: "steps=1500, pause_at=700"."""
    return ", ".join(f"{option}={value}" for option, value in options.items())


def without_ports(text: str) -> str:
    """A program as the record names it: its ports are other ones each time."""
    return re.sub(r"(?<=localhost:)\d+", "PORT", text)
