"""What the SIMT machine counts: each name with a sentence, its unit and its Nsight Compute metric.

The machine has no caches. Its sectors are those that a warp asks of the L1 cache, as in Nsight
Compute's `l1tex__t_` metrics; on a GPU the hits among them cost no traffic to L2. Atomics are
counted apart: of the bytes in counters.toml, only `compulsory_bytes` holds theirs.
"""

import tomllib
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import NamedTuple

SECTOR = 32  # bytes in which global memory moves
WARP = 32  # lanes


class Counter(NamedTuple):
    """`nsight`: a metric, or {several} of them to be added; if None, `why` says what is near."""

    unit: str
    sentence: str
    nsight: str | None = None
    why: str = ""


_TABLE = tomllib.loads(Path(__file__).with_name("counters.toml").read_text("utf-8"))
COUNTERS = {name: Counter(**row) for name, row in _TABLE.items()}
_OF_LAUNCHES = ("unique_load_sectors", "unique_store_sectors", "compulsory_bytes")


def derive(counts: Mapping[str, int]) -> dict[str, int | float]:
    """All counters, from those of the machine for one line or for a whole launch."""
    n = dict.fromkeys(COUNTERS, 0) | counts
    for way in ("load", "store"):
        requests = n[f"global_{way}_requests"]
        sectors = n[f"global_{way}_sectors"]
        n[f"global_{way}_sectors_per_request"] = sectors / max(1, requests)
        n["traffic_bytes"] += SECTOR * sectors
        n["compulsory_bytes"] += SECTOR * n[f"unique_{way}_sectors"]
        n["bank_conflicts"] += n[f"shared_{way}_conflicts"]
        for space in ("global", "shared"):
            n[f"{space}_bytes"] += n[f"{space}_{way}_bytes"]
    n["flops"] = n["flops_fp16"] + n["flops_fp32"] + n["flops_fp64"]
    n["active_lane_ratio"] = n["lanes"] / max(1, WARP * n["instructions"])
    n["arithmetic_intensity"] = n["flops"] / n["traffic_bytes"] if n["traffic_bytes"] else inf
    if "unique_load_sectors" not in counts:  # which sectors were new is known of launches only
        for name in _OF_LAUNCHES:
            del n[name]
    return n
