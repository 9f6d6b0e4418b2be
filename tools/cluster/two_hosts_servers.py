"""Parameter servers on two hosts, and what befalls them, for chapter 4.

    python tools/cluster/two_hosts_servers.py --out chapters/04_distributed/two_hosts_servers.md

The hosts are network namespaces (labkit/distributed/links/hosts.py), which takes Linux, iproute2
and root's rights. On each cable the same program trains by each rule; then a worker is killed, the
cable is cut, and a server is killed; then TensorFlow's cluster does the same. About ten minutes.
SECTIONS has a function for each part of the page.
"""

import datetime
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from hosts_page import ROOT, environment, write_page
from two_hosts_tensorflow import tensorflow

from labkit.distributed.connections.handshake import new_secret
from labkit.distributed.links import hosts
from labkit.distributed.links.host_programs import Program, programs
from labkit.distributed.links.hosts import Host
from labkit.machine_probe import this_machine

PROGRAM = ROOT / "chapters" / "04_distributed" / "train_ps.py"
CABLES = {"10 Mbit/s": 1.25e6, "1 Gbit/s": 125e6}  # bytes per second
RULES = ("sync", "async", "bounded:2")
STEPS = 150  # of all workers together
WORKERS = 3  # worker 0 beside the servers, the others on the other host
STEP = 0.05  # emulated seconds of a step
LONG_STEP = 0.25  # where a worker is started again: the others are not done before it is back
FAULT = 30  # gradients after which something happens
CUT = 2.0  # seconds without a cable
WEIGHTS = 24_938 * 4  # bytes that a worker pulls in a step, and pushes
ENOUGH = 300.0  # seconds: only ends a hang

HEAD = """# Two hosts: parameter servers

`train_ps.py`, unchanged, on two hosts: two network namespaces of one Linux machine, each with its own
address, joined by a virtual cable (veth) whose bandwidth the kernel limits (`tc`, token bucket filter).
The hosts share processor and memory. No real cluster was used. Host A has both servers and worker 0, host B has
workers 1 and 2. Each of them is one process, started as

    {command}

Made on {date} by `python tools/cluster/two_hosts_servers.py`, on {machine}
(Linux {kernel}, Python {python}, torch {torch}): one thread in each process, {batch} photographs in a step of a worker,
{steps} steps of all workers together, each at least {step:g} s long (emulated with a sleep).

The machine may have done other work meanwhile: measured seconds are rather too long than too short, and
counted numbers do not depend on them.
"""  # noqa: E501

PLAIN = """## Three rules on two cables

| cable | rule | gradients from workers 0, 1, 2 (counted) | updates (counted) | staleness at most (counted) | least seconds for the weights of B's workers: n x {weights:,} / bandwidth (predicted) | seconds from the first update to the last (measured) | bytes on the cable from A (counted by the kernel) | last loss |
|---|---|---|---|---|---|---|---|---|
{rows}

n is the number of gradients from workers 1 and 2. "One machine" is `python train_ps.py --rule ...`, which starts the same roles
by itself: its last loss of the synchronous rule is that of the two hosts, since the rule fixes the arithmetic, not the arrivals. On
the slow cable the synchronous rule makes everybody wait for the cable; by the asynchronous one, worker 0 beside the servers
makes most of the steps.
"""  # noqa: E501

FAULTS = """## Faults

All on the cable of {cable}. The fault comes when server 0 has told of {fault} gradients, and a moment passes until it comes: its
place differs from run to run. What is applied in the end does not. Where a worker is started again, each step takes at least
{long:g} s, so that the others are not done before it is back.

| rule | what happened | how long (measured) | gradients applied of {steps} (counted on server 0, on server 1) | applied twice (counted) | pushes that came again (counted) | what was lost |
|---|---|---|---|---|---|---|
{rows}

A push that came again is one whose acknowledgement did not arrive: the worker's, or the server's, connection had ended. It
carries its worker and its step, and a server that has them already only acknowledges. While the cable is cut, no connection ends: TCP
waits, and sends again what was not confirmed, each time after twice as long, so that the last wait may go on after the cable is back.
A worker or server whose process has died has closed its connections: its partners notice at once, and ask again until
somebody listens at the address.
"""  # noqa: E501


@dataclass(frozen=True)
class Roles:
    """All programs of a training, by their names; `figures` reads what one has written."""

    hosts: tuple[Host, Host]
    running: dict[str, Program]
    begin: Callable[..., None]
    folder: Path

    def wait(self) -> None:
        """Until all have ended well."""
        for program in list(self.running.values()):
            program.wait(ENOUGH)

    def figures(self, name: str) -> dict:
        """What a role has written with --out."""
        return json.loads((self.folder / f"{name}.json").read_text("utf-8"))

    def reached(self, count: int, name: str = "server 0") -> None:
        """Waits until a server tells of so many gradients."""
        self.running[name].wait_for(f"{name}: {count} gradients\n", ENOUGH)


@contextmanager
def training(bandwidth: float, rule: str, *more: str, copy: bool = False):
    """All roles of a training, which have been started on two hosts."""
    with (
        tempfile.TemporaryDirectory() as folder,
        hosts.two_hosts(bandwidth) as pair,
        programs(environment()) as start,
    ):
        first, second = pair
        shared = ["--servers", f"{first.address}:4700,{first.address}:4701", "--rule", rule]
        shared += ["--workers", str(WORKERS), "--steps", str(STEPS), "--seconds", str(STEP), *more]
        secret = Path(folder, "secret")
        secret.touch(0o600)
        secret.write_bytes(new_secret())
        shared += ["--every", "1", "--secret", str(secret)]
        shared += ["--copy", f"{second.address}:4702"] if copy else []
        running: dict[str, Program] = {}

        def begin(name: str, *own: str) -> None:
            role, number = name.split()
            on = first if role == "server" or name == "worker 0" else second
            words = [sys.executable, str(PROGRAM), "--role", role, "--index", number, *shared]
            running[name] = start(on, [*words, "--out", str(Path(folder, f"{name}.json")), *own])

        for name in ("server 0", "server 1", *(["copy 0"] if copy else [])):
            keeps = ["--checkpoint", str(Path(folder, name))] if "--save-every" in more else []
            begin(name, *keeps)
        for number in range(WORKERS):
            begin(f"worker {number}")
        yield Roles(pair, running, begin, Path(folder))


def plain_runs() -> str:
    """Each rule on each cable, and on one machine."""
    rows = []
    for rule in RULES:
        for cable, bandwidth in CABLES.items():
            with training(bandwidth, rule) as roles:
                roles.wait()
                figures, crossed = roles.figures("server 0"), roles.hosts[0].sent()
            rows.append(plain_row(cable, rule, figures, bandwidth, crossed))
            print(rows[-1], flush=True)
        rows.append(plain_row("one machine", rule, on_one_machine(rule), None, None))
        print(rows[-1], flush=True)
    return PLAIN.format(weights=WEIGHTS, rows="\n".join(rows))


def on_one_machine(rule: str) -> dict:
    """What the program writes that starts all roles itself."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        words = [sys.executable, str(PROGRAM), "--rule", rule, "--steps", str(STEPS)]
        words += ["--workers", str(WORKERS), "--seconds", str(STEP), "--out", str(out)]
        subprocess.run(words, check=True, capture_output=True, env=environment(), timeout=ENOUGH)
        return json.loads(out.read_text("utf-8"))


def plain_row(
    cable: str, rule: str, figures: dict, bandwidth: float | None, crossed: int | None
) -> str:
    """A row of the first table."""
    made = [figures["workers"].count(worker) for worker in range(WORKERS)]
    least = f"{sum(made[1:]) * WEIGHTS / bandwidth:.2f}" if bandwidth else "-"
    return row(
        cable,
        rule,
        ", ".join(map(str, made)),
        figures["updates"],
        figures["staleness"],
        least,
        f"{figures['seconds']:.2f}",
        f"{crossed:,}" if crossed else "-",
        f"{figures['loss']:.6f}" if rule == "sync" else f"{figures['loss']:.2f}",
    )


def faults() -> str:
    """A killed worker, a cut cable, and a killed server with a copy and with a checkpoint."""
    cable, bandwidth = "1 Gbit/s", CABLES["1 Gbit/s"]
    rows = []
    happenings = [(killed_worker, rule) for rule in ("sync", "async")]
    happenings += [(cut_cable, rule) for rule in RULES]
    happenings += [(killed_with_copy, "async"), (killed_with_checkpoint, "async")]
    for happens, rule in happenings:
        rows.append(happens(bandwidth, rule))
        print(rows[-1], flush=True)
    return FAULTS.format(
        cable=cable, fault=FAULT, steps=STEPS, long=LONG_STEP, rows="\n".join(rows)
    )


def killed_worker(bandwidth: float, rule: str) -> str:
    """Worker 1 is killed and started again with its number."""
    with training(bandwidth, rule, "--seconds", str(LONG_STEP)) as roles:
        roles.reached(FAULT)
        began = time.monotonic()
        roles.running["worker 1"].kill()
        roles.begin("worker 1")
        roles.running["worker 1"].wait_for("worker 1: ", ENOUGH)
        seconds = time.monotonic() - began
        roles.wait()
        told = f"worker 1 on B was killed, and started again with its number; {others(rule)}"
        long = f"{seconds:.1f} s until it had a gradient again"
        return fault_row(rule, told, long, roles, "server 0", "the gradient that it was computing")


def others(rule: str) -> str:
    """What the other workers did meanwhile."""
    waits = {"sync": "the others waited", "async": "the others went on"}
    return waits.get(rule, "the others went on to the bound, and waited")


def cut_cable(bandwidth: float, rule: str) -> str:
    """The cable is pulled out and put back."""
    with training(bandwidth, rule) as roles:
        roles.reached(FAULT)
        roles.hosts[1].cut()
        before = told_gradients(roles)
        time.sleep(CUT)
        during = told_gradients(roles) - before
        roles.hosts[1].mend()
        roles.wait()
        waits = [roles.figures(f"worker {number}")["longest"] for number in range(WORKERS)]
        long = f"cut for {CUT:g} s; longest wait of workers 0, 1, 2: "
        long += ", ".join(f"{wait:.1f}" for wait in waits) + " s"
        told = f"the cable was cut; server 0 told of {during} more meanwhile"
        told += f": {others(rule)}"
        return fault_row(rule, told, long, roles, "server 0", "nothing")


def told_gradients(roles: Roles) -> int:
    """The count in the last line of server 0."""
    lines = [
        line for line in roles.running["server 0"].printed().splitlines() if "gradients" in line
    ]
    return int(lines[-1].split()[2])


def killed_with_copy(bandwidth: float, rule: str) -> str:
    """Server 0 is killed, and has a copy on the other host."""
    with training(bandwidth, rule, copy=True) as roles:
        roles.reached(FAULT)
        roles.running.pop("server 0").kill()
        roles.wait()
        moments = roles.figures("copy 0")["moments"]
        pause = max(later - one for one, later in pairwise(moments))
        told = "server 0 was killed; its copy on B went on in its place"
        long = f"{pause:.1f} s between two updates, at most"
        return fault_row(rule, told, long, roles, "copy 0", "nothing")


def killed_with_checkpoint(bandwidth: float, rule: str) -> str:
    """Server 0 is killed some 15 gradients after its checkpoint, and comes back with it."""
    with training(bandwidth, rule, "--save-every", str(FAULT)) as roles:
        roles.reached(FAULT + 15)
        roles.running["server 0"].kill()
        before = roles.running["server 0"].printed()
        began = time.monotonic()
        roles.begin("server 0", "--checkpoint", str(roles.folder / "server 0"))
        said = roles.running["server 0"].wait_for("begins with", ENOUGH)
        seconds = time.monotonic() - began
        roles.wait()
        had = int(before.splitlines()[-1].split()[2])
        found = int(said.partition("begins with ")[2].split()[0])
        told = f"server 0 was killed, and started again with its checkpoint of {found} gradients"
        lost = f"{had - found} updates of server 0 after its checkpoint (counted), computed again; "
        lost += "server 1 had them, and up to one step more of each worker, and left out what "
        lost += "came again"
        return fault_row(rule, told, f"{seconds:.1f} s until it was back", roles, "server 0", lost)


def fault_row(rule: str, told: str, long: str, roles: Roles, server: str, lost: str) -> str:
    """A row of the second table."""
    first, second = roles.figures(server), roles.figures("server 1")
    return row(
        rule,
        told,
        long,
        f"{first['gradients']}, {second['gradients']}",
        first["surplus"] + second["surplus"],
        f"{first['repeated']} on {server}, {second['repeated']} on server 1",
        lost,
    )


SECTIONS: list[Callable[[], str]] = [plain_runs, faults, tensorflow]


def row(*cells: object) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def head() -> str:
    """The page's first part."""
    command = "python train_ps.py --role worker --index 1 --servers 10.0.0.1:4700,10.0.0.1:4701 "
    command += f"--workers {WORKERS} --rule ... --steps {STEPS} --seconds {STEP:g} "
    command += "--secret secret"
    return HEAD.format(
        command=command,
        date=datetime.date.today().isoformat(),
        machine=this_machine(),
        kernel=platform.release().partition("-")[0],
        python=platform.python_version(),
        torch=torch.__version__,
        batch=16,
        steps=STEPS,
        step=STEP,
    )


def page() -> str:
    """The head, and each section."""
    return "\n".join([head(), *(section() for section in SECTIONS)])


if __name__ == "__main__":
    told = "Train by parameter servers on two hosts, and write down the figures."
    sys.exit(write_page("two_hosts_servers", told, page))
