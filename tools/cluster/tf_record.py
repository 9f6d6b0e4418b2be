"""Keeps what the orders of lesson faults come to in a TensorFlow cluster, for recorded.py.

`python tools/cluster/tf_record.py` writes labkit/distributed/tensorflow/record.json; it needs a
network without a way out. Run it again when train_tf_ps.py has changed: a test compares the digest.
"""

import dataclasses
import hashlib
import json
from importlib.metadata import version
from typing import Any

from labkit.distributed.tensorflow import claims as tf_claims
from labkit.distributed.tensorflow import trials
from labkit.distributed.tensorflow.cluster import TfCluster, find_program
from labkit.distributed.tensorflow.recorded import RECORD, name_of, without_ports
from labkit.distributed.tensorflow.run import Tried

SAVED = {"steps": 300, "checkpoint": "saved", "save_every": 100}


def trainings(cluster: TfCluster) -> dict[str, Any]:
    """Of each training what it came to, and who was paused."""
    runs, paused = {}, {}

    def keep(options: dict[str, Any]) -> None:
        run = dataclasses.asdict(cluster.finish())
        rounded = run["losses"] and [round(loss, 4) for loss in run["losses"]]
        runs[name_of(options)] = run | {"weights": None, "losses": rounded}

    def begin(options: dict[str, Any]) -> str:
        cluster.begin(**options)
        if "pause_at" in options:
            paused[name_of(options)] = cluster.paused()
        return paused.get(name_of(options), "")

    calm = {"steps": 100}
    begin(calm)
    keep(calm)
    worker_dies = {"steps": 1500, "pause_at": 700}
    name = begin(worker_dies)
    cluster.kill(name)
    cluster.restart(name)
    keep(worker_dies)
    server_dies = SAVED | {"pause_at": 299}
    begin(server_dies)
    cluster.kill("server 0")
    cluster.release()
    keep(server_dies)
    cluster.restart("server 0")
    begin(SAVED)
    keep(SAVED)
    return {"runs": runs, "paused": paused}


def programs(cluster: TfCluster) -> dict[str, Any]:
    """Of each program of the claims what came of it."""
    found = {}
    try_program = trials.try_program

    def kept(cluster: TfCluster, text: str, **options: Any) -> Tried:
        tried = try_program(cluster, text, **options)
        # Its warnings name this machine's folders.
        lines = [tried.error] if tried.error else tried.printed.splitlines()[-1:]
        said = "\n".join(["Traceback", *lines] if tried.error else lines)
        found[without_ports(text)] = {"said": said, "line": tried.line}
        return tried

    tf_claims.try_program = kept
    claims = (tf_claims.first_failure, tf_claims.with_old_api)
    for claim in (*claims, tf_claims.names_today, tf_claims.one_script):
        claim(cluster)
    return found


def main() -> None:
    """Runs everything once, and writes the record."""
    program = find_program()
    with TfCluster() as cluster:
        record = {
            "source": f"{program.name} with TensorFlow {version('tensorflow')} on Linux",
            "program": hashlib.sha256(program.read_bytes()).hexdigest(),
            **trainings(cluster),
            "programs": programs(cluster),
        }
    RECORD.write_text(json.dumps(record, separators=(",", ":")) + "\n", "utf-8")
    print(f"Wrote {RECORD.name}, {RECORD.stat().st_size:,} bytes.")


if __name__ == "__main__":
    main()
