"""What the SIMT machine counts: each name with a sentence, its unit and its Nsight Compute metric.

The machine has no caches. Its sectors are those that a warp asks of the L1 cache, as in Nsight
Compute's `l1tex__t_` metrics; on a GPU the hits among them cost no traffic to L2. Atomics are
counted apart: of the bytes below, only `compulsory_bytes` holds theirs.
"""

import re
from collections.abc import Mapping
from math import inf
from typing import NamedTuple

SECTOR, WARP = 32, 32  # bytes in which global memory moves; lanes


class Counter(NamedTuple):
    """`nsight`: a metric, or {several} of them to be added; if None, `why` says what is near."""

    unit: str
    sentence: str
    nsight: str | None
    why: str


# name [unit] sentence | metric of Nsight Compute, or "none: " and what is near
_TABLE = """
instructions [instructions] Warp instructions of this machine; those of a GPU are others.
    | smsp__inst_executed.sum
lanes [lanes] Active lanes, added up over all instructions. | smsp__thread_inst_executed.sum
active_lane_ratio [] Active lanes / (32 x instructions): 1 if no lane ever waits for another.
    | smsp__thread_inst_executed_per_inst_executed.ratio / 32
branches [branches] Branches that warps executed. | smsp__sass_branch_targets.sum
divergent_branches [branches] Branches at which the lanes of one warp went both ways.
    | smsp__sass_branch_targets_threads_divergent.sum
barriers [barriers] Barriers that warps reached.
    | none: smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio tells the waiting
atomics [instructions] Atomic instructions of warps, in global and shared memory.
    | smsp__inst_executed_op_{global_atom, global_red, shared_atom}.sum
atomic_lanes [lanes] Active lanes, added up over all atomic instructions. | none: see atomics
special [calls] Calls of math functions by lanes. | smsp__thread_inst_executed_pipe_xu_pred_on.sum
flops [FLOP] Arithmetic on floats of all sizes. | none: add the three sizes
bank_conflicts [transactions] Passes over the banks beyond the fewest possible.
    | l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
global_bytes [B] Bytes that lanes asked for. | smsp__sass_data_bytes_mem_global_op_{ld, st}.sum
shared_bytes [B] Bytes that lanes asked for. | smsp__sass_data_bytes_mem_shared_op_{ld, st}.sum
traffic_bytes [B] 32 B x sectors: what moves between L1 and L2 if L1 never hits.
    | l1tex__t_bytes_pipe_lsu_mem_global_op_{ld, st}.sum
compulsory_bytes [B] 32 B x unique sectors: what must move even through a perfect cache.
    | none: dram__bytes_{read, write}.sum come near, with cold caches
arithmetic_intensity [FLOP/B] flops / traffic_bytes, inf without traffic. | none: divide the two
"""
_EACH_WAY = """
global_VERB_requests [requests] Global VERB instructions of warps.
    | l1tex__t_requests_pipe_lsu_mem_global_op_WAY.sum
global_VERB_sectors [sectors] 32-byte sectors that global VERBs touch, request by request.
    | l1tex__t_sectors_pipe_lsu_mem_global_op_WAY.sum
global_VERB_bytes [B] Bytes that lanes asked for. | smsp__sass_data_bytes_mem_global_op_WAY.sum
global_VERB_sectors_per_request [sectors/request] For 4-byte values 4 is the best, 32 the worst.
    | l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_WAY.ratio
unique_VERB_sectors [sectors] Sectors that global VERBs touch, each counted once.
    | none: dram__sectors_{read, write}.sum come near, with cold caches
shared_VERB_requests [requests] Shared VERB instructions. | smsp__inst_executed_op_shared_WAY.sum
shared_VERB_transactions [transactions] Passes over the 32 banks.
    | l1tex__data_pipe_lsu_wavefronts_mem_shared_op_WAY.sum
shared_VERB_conflicts [transactions] Passes beyond the fewest possible.
    | l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_WAY.sum
shared_VERB_bytes [B] Bytes that lanes asked for. | smsp__sass_data_bytes_mem_shared_op_WAY.sum
local_VERBs [instructions] VERBs of local arrays. | smsp__inst_executed_op_local_WAY.sum
"""
_EACH_SIZE = """
flops_fpBITS [FLOP] Arithmetic on floats of BITS bits; a fused multiply-add counts as two.
    | smsp__sass_thread_inst_executed_op_{Xadd, Xmul, 2 x Xfma}_pred_on.sum
"""
for _bits, _letter in (("16", "h"), ("32", "f"), ("64", "d")):
    _TABLE += _EACH_SIZE.replace("BITS", _bits).replace("X", _letter)
for _verb, _way in (("load", "ld"), ("store", "st")):
    _TABLE += _EACH_WAY.replace("VERB", _verb).replace("WAY", _way)
COUNTERS = {
    name: Counter(unit, sentence, metric or None, why)
    for name, unit, sentence, metric, why in re.findall(
        r"(\w+) \[(.*?)\] (.*?)\s+\| (.*?)(?:none: (.*))?\n", _TABLE
    )
}


def derive(counts: Mapping[str, int]) -> dict[str, int | float]:
    """All counters, from those of the machine for one line or for a whole launch."""
    n = dict.fromkeys(COUNTERS, 0) | counts
    for way in ("load", "store"):
        requests, sectors = n[f"global_{way}_requests"], n[f"global_{way}_sectors"]
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
        for name in ("unique_load_sectors", "unique_store_sectors", "compulsory_bytes"):
            del n[name]
    return n
