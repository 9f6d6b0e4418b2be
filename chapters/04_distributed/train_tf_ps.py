"""Training through TensorFlow's parameter servers: the same program in every process.

    export TF_CONFIG='{"cluster": {"chief": ["a:7000"], "ps": ["a:7001", "b:7001"],
                                   "worker": ["a:7002", "b:7002"]},
                       "task": {"type": "ps", "index": 0}}'
    python train_tf_ps.py --steps 1500 --report report.json

It runs once for each address, with that address's role and index as the task. A "ps" holds
variables and a "worker" computes; both serve until they are ended. The "chief" coordinates: it
hands steps to whichever worker is free, and hands a step out again when its worker, or for a
moment a server, does not answer. With `--checkpoint`, the same command continues after the last
save.

Every process listens on all network interfaces, whatever address TF_CONFIG names, and runs any
graph that anybody sends it (TensorFlow's SECURITY.md: arbitrary code). So where a route leads out
of this host's network it starts only with `--trusted-network`: say so where no stranger reaches its
ports, behind a firewall or in a cluster of one's own.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from labkit.distributed.connections import closed_network
from labkit.distributed.tensorflow.config import Place, TfConfigError, await_others, read
from labkit.distributed.tensorflow.keras_twin import batch, keras_twin, photographs, to_flat

# Seconds before a training is taken up: a server may just have come back, and whoever found it gone
# is told so without a new try for a second. Three such answers would end the coordinator.
FOUND_AGAIN = 3.0
OPEN = (
    "TensorFlow's servers run whatever anybody sends them, and listen on all interfaces; and a "
    "route leads out of this network. Add --trusted-network if no stranger reaches this host."
)


def serve(place: Place) -> None:
    """The life of a server or a worker: it does what it is told, until it is ended."""
    threads = len(place.cluster["worker"]) + 1  # with fewer, steps could wait for each other
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=threads)
    server = tf.distribute.Server(place.cluster, place.role, place.index, config=config)
    server.join()  # never returns


class Training:
    """What the chief holds; the variables themselves lie on the servers."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        self.strategy = tf.distribute.ParameterServerStrategy(self.resolver)
        with self.strategy.scope():  # the servers get the variables in turn
            self.model = keras_twin()
            self.optimizer = keras.optimizers.SGD(options.rate)
            self.optimizer.build(self.model.trainable_variables)
            self.losses = tf.Variable(tf.zeros(options.steps))
            self.applied = tf.Variable(tf.zeros(options.steps, tf.int32))  # how often each step was
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)
        self.checkpoint = tf.train.Checkpoint(
            model=self.model, optimizer=self.optimizer, losses=self.losses, applied=self.applied
        )
        self.saves = None
        if options.checkpoint:  # a save goes to new files: while it is written, the last one stays
            self.saves = tf.train.CheckpointManager(self.checkpoint, options.checkpoint, 2)
        # By default each server would write its part to the disk of its own host.
        self.by_chief = tf.train.CheckpointOptions(experimental_io_device="/job:chief/task:0")

    def step_function(self) -> tf.types.experimental.PolymorphicFunction:
        """The step, as a graph that a worker runs: `step(number, chosen)`."""
        images, labels = photographs()
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

        def one_step(number: tf.Tensor, chosen: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                outputs = self.model(tf.gather(images, chosen))  # fetches the weights
                loss = loss_of(tf.gather(labels, chosen), outputs)
            weights = self.model.trainable_variables
            self.optimizer.apply(tape.gradient(loss, weights), weights)
            self.losses.scatter_update(tf.IndexedSlices(loss, number))
            # Only what uses the same variable keeps its order: these reads wait for the updates.
            changed = [tf.gather(weight.value, [0]) for weight in weights]
            with tf.control_dependencies(changed):
                self.applied.scatter_add(tf.IndexedSlices(1, number))
            if number == self.options.pause_at and self.applied[number] == 1:
                wait_for_go_on(self.applied, number)

        @tf.function
        def step(number: tf.Tensor, chosen: tf.Tensor) -> None:
            self.strategy.run(one_step, args=(number, chosen))

        return step

    def run(self) -> dict:
        """Schedules all steps; the report on them."""
        begin = self.restore()
        report = {
            "steps": self.options.steps,
            "resumed_at": begin,
            "scheduled": 0,
            "saved": begin,
            "error": None,
        }
        step = self.step_function()
        began = time.monotonic()
        try:
            for number in range(begin, self.options.steps):
                chosen = batch(number, self.options.batch)
                self.coordinator.schedule(step, args=(tf.constant(number), tf.constant(chosen)))
                report["scheduled"] += 1
                if self.saves and (number + 1) % self.options.save_every == 0:
                    self.coordinator.join()  # waits until all scheduled steps are done
                    self.saves.save(options=self.by_chief)
                    report["saved"] = number + 1
            self.coordinator.join()
        except tf.errors.UnavailableError as error:  # a server is gone, and with it its variables
            report["error"] = str(error)
        report["seconds"] = time.monotonic() - began
        return report | self.variables()

    def restore(self) -> int:
        """Takes up the checkpoint, if there is one; how many steps it holds."""
        if self.saves and self.saves.latest_checkpoint:
            time.sleep(FOUND_AGAIN)
            self.checkpoint.restore(self.saves.latest_checkpoint, options=self.by_chief)
        return int(tf.math.count_nonzero(self.applied))

    def variables(self) -> dict:
        """What the servers hold in the end; None for what lay on a server that is gone."""
        numbers = [0] * len(self.resolver.cluster_spec().as_dict()["ps"])
        for weight in self.model.weights:
            server = tf.DeviceSpec.from_string(weight.value.device).task
            numbers[server] += weight.value.shape.num_elements()
        return {
            "numbers_on_servers": numbers,
            "weights": held(lambda: to_flat(self.model.get_weights())),
            "losses": held(self.losses.numpy),
            "applied": held(self.applied.numpy),
        }


def wait_for_go_on(applied: tf.Variable, number: tf.Tensor) -> None:
    """Within a step: the worker waits for the file `go-on`.

    It writes the file `paused` once all steps up to this one are applied.
    """
    # All that is looked at needs the time, or it would be looked at only once.
    while tf.size(tf.io.matching_files(tf.where(tf.timestamp() > 0, "go-on", ""))) == 0:
        steps = tf.where(tf.timestamp() > 0, tf.range(number + 1), 0)
        if tf.reduce_min(tf.gather(applied, steps)) > 0:
            tf.io.write_file("paused", "")


def held(read_variables: Callable[[], np.ndarray]) -> list | None:
    """What comes from the servers, as a list; None if one of them is gone."""
    try:
        return read_variables().tolist()
    except tf.errors.UnavailableError:
        return None


def command_line() -> argparse.Namespace:
    """What the program was told."""
    parser = argparse.ArgumentParser(description="Train through TensorFlow's parameter servers.")
    parser.add_argument("--steps", type=int, default=300, help="of all workers together")
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--batch", type=int, default=16, help="photographs in a step")
    parser.add_argument("--checkpoint", help="a folder; training continues from its last save")
    parser.add_argument("--save-every", type=int, default=500, help="steps from save to save")
    parser.add_argument("--report", type=Path, help="a file for the figures, as JSON")
    parser.add_argument("--patience", type=float, default=60, help="seconds, for hosts to answer")
    parser.add_argument(
        "--pause-at", type=int, default=-1, help="the worker that has applied this step waits there"
    )
    parser.add_argument("--trusted-network", action="store_true", help="no stranger reaches us")
    options = parser.parse_args()
    for name in ("steps", "batch", "save_every"):
        if getattr(options, name) < 1:
            parser.error(f"{name} is {getattr(options, name)}; it has to be at least 1.")
    return options


def main() -> None:
    """One process's life, in each role."""
    options = command_line()
    if closed_network.has_way_out() and not options.trusted_network:
        sys.exit(f"train_tf_ps: {OPEN}")
    try:
        place = read(os.environ.get("TF_CONFIG"))
        if place.role != "chief":
            return serve(place)
        await_others(place, options.patience)
        report = Training(options).run()
    except TfConfigError as error:
        sys.exit(f"train_tf_ps: {error}")
    except tf.errors.UnavailableError as error:
        sys.exit(f"train_tf_ps: a process is gone before the first step. {error}")
    if options.report:
        options.report.write_text(json.dumps(report), "utf-8")
    if report["error"]:
        sys.exit(f"train_tf_ps: a server is gone. {report['error']}")
    print(f"{report['scheduled']} steps scheduled, {sum(report['applied'])} applied")


if __name__ == "__main__":
    main()
