"""The trials of `link_trials` on hosts that are network namespaces, one rank on each.

    seconds = on_hosts(4, Trials(latency=0.02, bandwidth=12.5e6))

The kernel limits what each cable carries, and a relay on each connection holds segments for the
latency; with a latency of 0 there is no relay. It takes what `switched_hosts.missing` names. Lesson
a_cost_model.
"""

import json
import os
import sys
from pathlib import Path

from labkit.distributed.links import hosts
from labkit.distributed.links.link_trials import Trials, command
from labkit.distributed.links.switched_hosts import switched_hosts

ROOT = Path(__file__).resolve().parents[3]
ENOUGH = 600.0  # seconds: ends a hang, nothing else


def on_hosts(ranks: int, given: Trials) -> dict[str, float]:
    """The seconds of each trial; LaunchError where hosts cannot be made, or a rank fails."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with switched_hosts(ranks, given.bandwidth) as pair:
        addresses = [host.address for host in pair]

        def words(node: int) -> list[str]:
            return [sys.executable, *command(node, addresses, given)]

        said = hosts.run(pair, words, ENOUGH, environment)
    return json.loads(said[0].splitlines()[-1])
