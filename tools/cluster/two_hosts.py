"""Train on two hosts, and write the figures down: python tools/cluster/two_hosts.py --out FILE

The hosts are network namespaces (labkit/distributed/links/hosts.py), which takes Linux, iproute2
and root's rights. On each cable the same program runs with each compression of its gradients; then
it runs on one machine. About three minutes; what it writes is chapters/04_distributed/two_hosts.md.
"""

import datetime
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import torch
from hosts_page import ROOT, environment, write_page

from labkit.distributed.links import hosts
from labkit.machine_probe import this_machine

PROGRAM = ROOT / "chapters" / "04_distributed" / "train_ddp.py"
CABLES = {"100 Mbit/s": 12.5e6, "1 Gbit/s": 125e6}  # bytes per second
COMPRESSIONS = ("nothing", "half", "top-k", "low-rank")
STEPS = 12
PREPARING = 2  # steps that are not counted
BATCH = 16

TEXT = """# Two hosts

`train_ddp.py`, unchanged, on two hosts under `torchrun --nnodes=2`: two network namespaces of one Linux
machine, each with its own address, joined by a virtual cable (veth) whose bandwidth the kernel limits
(`tc`, token bucket filter). The hosts share processor and memory. No real cluster was used.

The program is data parallel with the buckets and the overlap of lesson 4: a full bucket goes around our ring
while the backward goes on. It is not PyTorch's `DistributedDataParallel`, which does the same in C++.

Made on {date} by `python tools/cluster/two_hosts.py`, on {machine}
(Linux {kernel}, Python {python}, torch {torch}): one thread in each rank, one rank on each host, {batch} images per step in all. Each host was given

    {command}

with `--node-rank=1` on the second, and `GLOO_SOCKET_IFNAME=eth0`.

| cable | gradients travel as | bytes from each rank in a step (counted) | least seconds for them: bytes / bandwidth (predicted) | seconds per step (measured, median of {counted}) | bytes on the cable from host 0 in all {steps} steps (counted by the kernel) | loss of the last step |
|---|---|---|---|---|---|---|
{rows}

The kernel counts more than {steps} times the third column: rank 0 also hands out the weights at the
beginning, torchrun's agents talk, and every packet has headers. "One machine" is the same program by
`torchrun --standalone --nproc-per-node=2`, through the loopback, which has no limit. Its losses are those of
the two hosts, digit for digit, wherever the gradients travel in the same form.

The losses say that the hosts compute what one machine computes, and nothing about how well a network learns
from compressed gradients: a network that only guesses has a loss of ln 10 = 2.303, and 12 steps of 16 images
lead none of these away from it. What compression does to learning is shown in lesson 5, on a longer training.

The machine may have done other work meanwhile: the measured column is rather too long than too short, and the
counted ones do not depend on it. Without a limit, the step's time is that of the processor, which both ranks share; on the slow cable it is
that of the bytes. Where compressed gradients need less than the processor does, fewer bytes save nothing more.
"""  # noqa: E501


def on_two_hosts(bandwidth: float, compress: str, out: Path) -> int:
    """Runs the program; the bytes that the kernel saw leave host 0."""
    program = [str(PROGRAM), *options(compress, out)]
    with hosts.two_hosts(bandwidth) as pair:
        command = lambda node: hosts.torchrun(pair, node, 1, *program)  # noqa: E731
        hosts.run(pair, command, environment=environment())
        return pair[0].sent()


def on_one_machine(compress: str, out: Path) -> None:
    """Runs the program with two ranks on this machine."""
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words += [str(PROGRAM), *options(compress, out)]
    subprocess.run(words, check=True, capture_output=True, env=environment())


def options(compress: str, out: Path) -> list[str]:
    """What the program is told."""
    words = ["--steps", str(STEPS), "--batch", str(BATCH), "--compress", compress]
    return [*words, "--out", str(out)]


def row(cable: str, compress: str, out: Path, bandwidth: float | None, crossed: int | None) -> str:
    """A row of the table, from what the program has written."""
    by_rank = json.loads(out.read_text("utf-8"))
    steps = list(zip(*by_rank, strict=True))
    sent = max(rank["sent"] for rank in steps[-1])
    seconds = median(max(rank["seconds"] for rank in step) for step in steps[PREPARING:])
    loss = sum(rank["loss"] for rank in steps[-1]) / len(by_rank)
    cells = [
        cable,
        compress.replace("nothing", "they are"),
        f"{sent:,}",
        f"{sent / bandwidth:.4f}" if bandwidth else "-",
        f"{seconds:.4f}",
        f"{crossed:,}" if crossed else "-",
        f"{loss:.6f}",
    ]
    return f"| {' | '.join(cells)} |"


def text(rows: list[str]) -> str:
    """The whole page."""
    command = "torchrun --nnodes=2 --node-rank=0 --master-addr=10.0.0.1 --nproc-per-node=1 "
    command += f"train_ddp.py --steps {STEPS} --batch {BATCH} --compress ..."
    return TEXT.format(
        date=datetime.date.today().isoformat(),
        machine=this_machine(),
        kernel=platform.release().partition("-")[0],
        python=platform.python_version(),
        torch=torch.__version__,
        batch=BATCH,
        steps=STEPS,
        counted=STEPS - PREPARING,
        command=command,
        rows="\n".join(rows),
    )


def page() -> str:
    """All runs, each on two hosts and on one machine, as the page tells them."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        for compress in COMPRESSIONS:
            for cable, bandwidth in CABLES.items():
                crossed = on_two_hosts(bandwidth, compress, out)
                rows.append(row(cable, compress, out, bandwidth, crossed))
            on_one_machine(compress, out)
            rows.append(row("one machine", compress, out, None, None))
            print(*rows[-3:], sep="\n", flush=True)
    return text(rows)


if __name__ == "__main__":
    sys.exit(write_page("two_hosts", "Train on two hosts, and write down the figures.", page))
