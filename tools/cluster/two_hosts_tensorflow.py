"""TensorFlow's parameter servers on two hosts: a section of chapter 4's page.

    python tools/cluster/two_hosts_tensorflow.py

It prints the section; tools/cluster/two_hosts_servers.py writes the whole page.
The hosts are network namespaces (labkit/distributed/links/hosts.py). About two minutes.
"""

import time
from importlib.metadata import version

from labkit.distributed.links import hosts
from labkit.distributed.links.hosts import Host
from labkit.distributed.tensorflow.cluster import TfCluster
from labkit.distributed.tensorflow.run import TfRun

CABLES = {"10 Mbit/s": 1.25e6, "1 Gbit/s": 125e6}  # bytes per second
SERVERS, WORKERS = 2, 3
STEPS = 150  # of all workers together
FAULT = 75  # the step after whose update something happens
SAVE_EVERY = 50
CUT = 2.0  # seconds without a cable

TEXT = """## TensorFlow

`train_tf_ps.py`, unchanged, on the same kind of hosts: the coordinator, server 0, worker 0 and worker 2 on host A, server 1 and
worker 1 on host B, each a process with its own `TF_CONFIG` (TensorFlow {tensorflow}, Keras {keras}). {steps} steps of {batch}
photographs, without emulated seconds. TensorFlow deals whole variables in turn: server 0 holds {first:,} weights, server 1 {second}.

| cable | what happened | steps scheduled, applied (counted) | applied twice (counted) | what was lost | seconds from the first step to the last (measured) | bytes on the cable from A (counted by the kernel) |
|---|---|---|---|---|---|---|
{rows}

A step is scheduled again when its worker has not answered. The killed worker had applied step {fault}, and not yet answered: with that
step, applied are one more than scheduled. A server that dies takes its variables along: the coordinator ends with an error, and a new one
continues from the checkpoint, once a server listens at the address again.
"""  # noqa: E501


def tensorflow() -> str:
    """The section."""
    rows = [on_two_hosts(cable) for cable in CABLES]
    with TfCluster(SERVERS, WORKERS) as cluster:
        run = cluster.run(steps=STEPS)
        rows.append(row("one machine", "nothing", run))
    rows += faults("1 Gbit/s")
    return TEXT.format(
        tensorflow=version("tensorflow"),
        keras=version("keras"),
        steps=STEPS,
        batch=16,
        first=run.on_servers[0],
        second=run.on_servers[1],
        fault=FAULT,
        rows="\n".join(rows),
    )


def on_two_hosts(cable: str) -> str:
    """A run on one of the cables."""
    with hosts.two_hosts(CABLES[cable]) as pair, TfCluster(SERVERS, WORKERS, pair) as cluster:
        before = pair[0].sent()
        run = cluster.run(steps=STEPS)
        return row(cable, "nothing", run, crossed=pair[0].sent() - before)


def faults(cable: str) -> list[str]:
    """A cable that is cut, a killed worker, and a killed server, one after the other."""
    with hosts.two_hosts(CABLES[cable]) as pair, TfCluster(SERVERS, WORKERS, pair) as cluster:
        cut = cut_cable(cluster, pair[1])
        worker = killed_worker(cluster)
        server, resumed = killed_server(cluster)
    where = f"a server with {server.on_servers[0]:,} weights was killed: {server.error}"
    again = f"a new coordinator, resumed at {resumed.resumed_at}"
    count = f"{len(server.lost)} steps after the checkpoint of {server.saved} (counted)"
    return [
        row(cable, f"the cable was cut for {CUT:g} s", cut),
        row(cable, "a worker was killed, and started again at its address", worker),
        row(cable, where, server, lost=count),
        row(cable, again, resumed, lost="nothing more"),
    ]


def cut_cable(cluster: TfCluster, host: Host) -> TfRun:
    """The cable is pulled out in the middle of a run, and put back."""
    cluster.begin(steps=STEPS, pause_at=FAULT)
    cluster.paused()
    host.cut()
    cluster.release()
    time.sleep(CUT)
    host.mend()
    return cluster.finish()


def killed_worker(cluster: TfCluster) -> TfRun:
    """A worker is killed between its update and its answer."""
    cluster.begin(steps=STEPS, pause_at=FAULT)
    name = cluster.paused()
    cluster.kill(name)
    cluster.restart(name)
    return cluster.finish()


def killed_server(cluster: TfCluster) -> tuple[TfRun, TfRun]:
    """Server 0 is killed; the run that it ends, and the one that continues."""
    options = {"steps": STEPS, "checkpoint": "saved", "save_every": SAVE_EVERY}
    cluster.begin(**options, pause_at=FAULT)
    cluster.paused()
    cluster.kill("server 0")
    cluster.release()  # else all others may be done, and the coordinator waits for this one
    ended = cluster.finish()
    cluster.restart("server 0")
    return ended, cluster.run(**options)


def row(
    cable: str, happened: str, run: TfRun, crossed: int | None = None, lost: str = "nothing"
) -> str:
    """A row of the table in Markdown."""
    cells = [
        cable,
        happened,
        f"{run.scheduled}, {sum(run.times[run.resumed_at :])}",
        ", ".join(f"step {number}" for number in run.twice) or "none",
        lost,
        f"{run.seconds:.2f}",
        f"{crossed:,}" if crossed else "-",
    ]
    text = f"| {' | '.join(cells)} |"
    print(text, flush=True)
    return text


if __name__ == "__main__":
    print(tensorflow())
