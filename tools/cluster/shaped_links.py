"""The cost model on shaped links, written down: python tools/cluster/shaped_links.py

Hosts are network namespaces on a switch (labkit/distributed/links/switched_hosts.py), which takes
Linux, iproute2 and root's rights; a relay of our own holds segments for the latency. On each link,
pings give latency and bandwidth, and everything else is predicted from these two and then run.
About four minutes; writes chapters/04_distributed/shaped_links.md, and for the lesson
chapters/04_distributed/source/a_cost_model/shaped_links.toml. `--check` only says whether it could.
"""

import argparse
import datetime
import os
import platform
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from hosts_page import ROOT

from labkit.distributed import LaunchError, launch
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.links import switched_hosts
from labkit.distributed.links.link_predictions import Compared, compared, fitted, predict_trials
from labkit.distributed.links.link_trials import (
    LOOPBACK_PINGS,
    PINGS_FOR_A_TRIAL,
    Trials,
    on_an_emulated_link,
    on_the_loopback,
)
from labkit.distributed.links.trials_on_hosts import on_hosts
from labkit.machine_probe import this_machine

PAGE = ROOT / "chapters" / "04_distributed" / "shaped_links.md"
FIGURES = PAGE.parent / "source" / "a_cost_model" / "shaped_links.toml"
GIVEN = Trials()
LARGER_PINGS = (125_000, 250_000, 500_000)  # bytes, where there is no relay
ENOUGH = 600.0  # seconds
KINDS = {
    "shaped and relayed": "hosts on a switch, cables limited by `tc`, segments held by a relay",
    "shaped": "the same without a relay: the latency is what the machine needs",
    "emulated in process": "ranks of one machine, whose receives sleep",
    "loopback": "ranks of one machine, nothing in the way: reported, and no goal",
}
LINKS = (
    ("shaped and relayed", 2),
    ("shaped and relayed", 4),
    ("shaped", 2),
    ("emulated in process", 2),
    ("emulated in process", 4),
    ("loopback", 2),
)

TEXT = """# The cost model on shaped links

Seconds that the alpha-beta model predicts, beside those that were measured, on links of four kinds:

{kinds}

The hosts are network namespaces of one Linux machine: each has its own address and a virtual cable (veth) to a switch (a
bridge of the kernel). At both ends of each cable, `tc` (token bucket filter) lets {bandwidth:,.0f} bytes per second
through. A relay process (`labkit/distributed/connections/relay.py`) on each connection holds every segment for {latency:g} ms, in
both directions. Gloo listens on ports of its own choosing and cannot be led through a relay, so the messages go over
connections of our own (`labkit/distributed/connections/wires.py`). No real cluster was used: the hosts share processor and memory.

Made on {date} by `python tools/cluster/shaped_links.py`, on {machine}
(Linux {kernel}, Python {python}, torch {torch}); load before the first link: {load:.1f}. Of each trial counts the lower
quartile of {repeats}, after a warm-up: other work on the machine can only make it longer.

On each link, pings of {pings} bytes between ranks 0 and 1 (of each size the lower quartile of {count}) give latency and
bandwidth, by least squares of relative errors. Nothing else is fitted, and the collectives have other sizes than the pings. On the loopback pings are of {loopback}
bytes. On the link that is shaped and has no relay, they are of {larger} bytes: after a pause the
filter lets 16 KiB through at once, which a small ping would take for bandwidth. This link and the loopback have two ranks only, and *overlap* and *after* run on two ranks only, to keep the run short.

| link | ranks | latency (fitted) | bandwidth (fitted) |
|---|---|---|---|
{fits}

The relay and the emulated link are given {latency:g} ms, and both shaped and emulated links {bandwidth:,.0f} bytes per second.
What a fit has more is the machine's own work, and grows with its load.

**Star** is an all-reduce through rank 0, **ring** one around a ring; behind the name stand the bytes in each rank.
**Overlap** is a step of {layers} layers with {backward:g} ms of backward and {gradient:,} bytes of gradient each, whose
buckets of {bucket:,} bytes travel during the backward; **after** is the same with an all-reduce for each layer behind
the backward. **Pipeline** is 1F1B with a stage in each rank, {micro_batches} micro-batches, {t_forward:g} ms forward and
{t_backward:g} ms backward. Compute is emulated by sleep: two cores cannot show compute that scales.

| link | ranks | trial | predicted, ms | measured, ms | measured is off by |
|---|---|---|---|---|---|
{rows}

On a relayed link, segments of several messages are held at the same time, so a star takes
2 (latency + (n - 1) S / bandwidth); on an emulated one, a message occupies its cable for the latency as well, so it takes
2 (n - 1) (latency + S / bandwidth). Predictions leave out what a processor needs for waking, adding and copying. On the loopback that
is nearly all there is, so the model does not hold there.
"""  # noqa: E501

HEAD = """\
# The cost model on shaped links, for lesson a_cost_model. tools/cluster/shaped_links.py wrote it;
# chapters/04_distributed/shaped_links.md has the same figures, and says how they were obtained.

date = "{date}"
machine = "{machine}"
load = {load:.1f}
"""


def seconds_on(kind: str, ranks: int) -> tuple[dict[str, float], bool]:
    """The seconds of all trials on a link, and whether its latency is on the way."""
    if kind == "shaped and relayed":
        return on_hosts(ranks, GIVEN), True
    if kind == "shaped":
        return on_hosts(ranks, replace(GIVEN, latency=0.0, pings=LARGER_PINGS)), True
    if kind == "emulated in process":
        return launch(on_an_emulated_link, ranks, GIVEN, timeout=ENOUGH)[0], False
    return launch(on_the_loopback, ranks, GIVEN, timeout=ENOUGH)[0], True


def in_hundredths(seconds: dict[str, float]) -> dict[str, float]:
    """To a hundredth of a millisecond, which is what both files have."""
    return {name: round(value, 5) for name, value in seconds.items()}


def all_links() -> list[tuple[str, int, CostModel, list[Compared]]]:
    """Each link with its model, and its trials."""
    found = []
    for kind, ranks in LINKS:
        seconds, delayed = seconds_on(kind, ranks)
        model = fitted(seconds)
        expected = predict_trials(model, ranks, GIVEN, delayed)
        rows = compared(in_hundredths(expected), in_hundredths(seconds))
        found.append((kind, ranks, model, rows))
        for row in rows:
            print(f"{kind:20} {ranks}  {row.name:14} off by {row.error:+.1f} %", flush=True)
    return found


def page(links: list, load: float) -> str:
    """The whole page."""
    fits = [
        f"| {kind} | {ranks} | {1e3 * model.latency:.2f} ms | {model.bandwidth / 1e6:,.2f} MB/s |"
        for kind, ranks, model, _ in links
    ]
    rows = []
    for kind, ranks, _, trials in links:
        for row in trials:
            milliseconds = f"{1e3 * row.predicted:.2f} | {1e3 * row.measured:.2f}"
            rows.append(f"| {kind} | {ranks} | {row.name} | {milliseconds} | {row.error:+.1f} % |")
    return TEXT.format(
        kinds="\n".join(f"- **{kind}**: {meaning}" for kind, meaning in KINDS.items()),
        bandwidth=GIVEN.bandwidth,
        latency=1e3 * GIVEN.latency,
        date=datetime.date.today().isoformat(),
        machine=this_machine(),
        kernel=platform.release().partition("-")[0],
        python=platform.python_version(),
        torch=torch.__version__,
        load=load,
        repeats=GIVEN.repeats,
        count=PINGS_FOR_A_TRIAL * GIVEN.repeats,
        pings=", ".join(f"{size:,}" for size in GIVEN.pings),
        larger=", ".join(f"{size:,}" for size in LARGER_PINGS),
        loopback=", ".join(f"{size:,}" for size in LOOPBACK_PINGS),
        fits="\n".join(fits),
        layers=GIVEN.layers,
        backward=1e3 * GIVEN.backward,
        gradient=GIVEN.gradient,
        bucket=GIVEN.bucket,
        micro_batches=GIVEN.micro_batches,
        t_forward=1e3 * GIVEN.t_forward,
        t_backward=1e3 * GIVEN.t_backward,
        rows="\n".join(rows),
    )


def figures(links: list, load: float) -> str:
    """The same for the lesson, as TOML."""
    date = datetime.date.today().isoformat()
    parts = [HEAD.format(date=date, machine=this_machine(), load=load)]
    for kind, ranks, model, trials in links:
        parts.append("[[links]]")
        parts.append(f'kind = "{kind}"\nranks = {ranks}')
        parts.append(f"latency = {model.latency:.6f}\nbandwidth = {model.bandwidth:.0f}")
        parts.append("trials = [")
        for row in trials:
            seconds = f"predicted = {row.predicted:.5f}, measured = {row.measured:.5f}"
            parts.append(f'    {{ name = "{row.name}", {seconds} }},')
        parts.append("]\n")
    return "\n".join(parts)


def main(words: Sequence[str] | None = None) -> int:
    """Writes both files; 2, with a sentence, where the hosts cannot be made."""
    parser = argparse.ArgumentParser(prog="shaped_links", description="Try the cost model.")
    parser.add_argument("--check", action="store_true", help="only say whether it could be done")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--figures", type=Path, default=FIGURES)
    asked = parser.parse_args(words)
    if lack := switched_hosts.missing():
        print(f"shaped_links: {lack}", file=sys.stderr)
        return 2
    if asked.check:
        print("Links can be shaped here.")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the hosts are removed
    load = os.getloadavg()[0]
    try:
        links = all_links()
    except LaunchError as problem:
        print(f"shaped_links: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped; the hosts are gone.", file=sys.stderr)
        return 130
    asked.page.write_text(page(links, load), "utf-8")
    asked.figures.write_text(figures(links, load), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
