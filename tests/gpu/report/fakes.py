"""Tools that a machine with a GPU has, faked: programs that print what the real ones print."""

import os
from pathlib import Path

from labkit.gpu.report.sections import counters, nsight, planted, sanitizer

# What a GPU must count, by hand. Lanes 32, sectors of 32 B; the arrays begin at a sector.
# kernel: loads and stores of global memory (requests, sectors, bytes), then of shared memory
# (requests, transactions, conflicts), FLOP. 10,000 = 312 warps and 16 lanes; 5,001 = 156 and 9.
BY_HAND = {
    "shifted copy": [(313, 312 * 5 + 3, 40000), (313, 1250, 40000), (0, 0, 0), (0, 0, 0), 0],
    "strided copy": [(157, 156 * 8 + 3, 20004), (157, 156 * 4 + 2, 20004), (0, 0, 0), (0, 0, 0), 0],
    "transpose": [(192, 768, 24576), (192, 768, 24576), (192, 6144, 5952), (192, 192, 0), 0],
    "padded transpose": [(192, 768, 24576), (192, 768, 24576), (192, 192, 0), (192, 192, 0), 0],
    "polynomial": [(313, 1251, 40004), (313, 1251, 40004), (0, 0, 0), (0, 0, 0), 40004],
}
WAYS = ("global_load", "global_store", "shared_load", "shared_store")
KINDS = {
    "global": ("requests", "sectors", "bytes"),
    "shared": ("requests", "transactions", "conflicts"),
}
NCU = """#!/bin/sh
case "$LC_ALL" in C) ;; *) exit 8 ;; esac
case "$*" in *{unknown}*) echo "==ERROR== Failed to find metric {unknown}"; exit 9 ;; esac
case "$*" in *"--clock-control none"*) echo "==PROF== Connected to process 1" ;; esac
cat {table}
echo "==PROF== Disconnected from process 1"
[ -z "$LAUNCH" ] && exit ${{STATUS:-0}}
shift $(($# - 4))
LABKIT_CUDA=simt exec "$@"
"""
FINDINGS = {  # of each tool, in the form that the real one prints
    "racecheck": """\
========= Error: Race reported between Write access at {name}(Array<float>)+0x1b0
=========     and Read access at {name}(Array<float>)+0x200 [64 hazards]
=========""",
    "memcheck": """\
========= Invalid __global__ read of size 4 bytes
=========     at _ZN6labkit7planted{name}B2v1E5ArrayIfLi1E+0x1f0
=========     by thread (63,0,0) in block (0,0,0)
=========     Access at 0x7fd3ea000100 is out of bounds
=========     Host Frame: launch in somewhere [0x1234]
=========""",
    "synccheck": """\
========= Barrier error detected. Divergent thread(s) in warp
=========     at {name}+0x90
=========     by thread (0,0,0) in block (0,0,0)
=========""",
    "initcheck": """\
========= Uninitialized __global__ memory read of size 4 bytes
=========     at {name}+0xb0
=========     by thread (0,0,0) in block (0,0,0)
=========""",
}
HEAD = "========= COMPUTE-SANITIZER"
TAIL = "========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call to cuLaunch.\n"
TAIL += "========= ERROR SUMMARY: 3 errors"
SMI = "NVIDIA H200, 580.65.06, 9.0, 143771, 345, 1980, 3201, 700.00"


def program(folder: Path, name: str, script: str) -> None:
    """A program of this name, which a shell runs."""
    path = folder / name
    path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def on_the_path(folder: Path) -> str:
    """PATH with the folder first."""
    return f"{folder}:{os.environ['PATH']}"


def metric(counter: str) -> str:
    """The one metric of a counter."""
    ((_, name),) = nsight.terms(counter)
    return name


def metric_values(name: str, counts) -> dict[str, float]:
    """metric -> value of one launch: by hand where we have it, else what the machine counts."""
    found = {}
    for counter in counters.COMPARED:
        terms = nsight.terms(counter)
        found |= dict.fromkeys((metric for _, metric in terms), 0)
        found[terms[0][1]] = counts[counter]
    for way, verb in (("ld", "load"), ("st", "store")):
        sectors = counts[f"global_{verb}_sectors"]
        found[f"l1tex__t_bytes_pipe_lsu_mem_global_op_{way}.sum"] = 32 * sectors
    found |= {"lts__t_bytes_srcunit_tex.sum": counts["traffic_bytes"] / 2}
    found |= {"dram__bytes_read.sum": 1000, "dram__bytes_write.sum": 24}
    if name in BY_HAND:
        *ways, flops = BY_HAND[name]
        for way, numbers in zip(WAYS, ways, strict=True):
            for kind, number in zip(KINDS[way.partition("_")[0]], numbers, strict=True):
                found[metric(f"{way}_{kind}")] = number
        for op, number in (("fadd", 0), ("ffma", flops // 2)):
            found[f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum"] = number
    return found


def ncu(folder: Path, machine, change=lambda rows: rows, unknown: str = "none_such") -> None:
    """`ncu`, which tells the counters of `machine`: name -> counters of the SIMT machine."""
    rows = []
    for i, (name, counts) in enumerate(machine.items()):
        rows += [[str(i), name, f"{n:,.0f}"] for name, n in metric_values(name, counts).items()]
    lines = ['"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"']
    lines += [f'"{i}","k","{name}","inst","{value}"' for i, name, value in change(rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    program(folder, "ncu", NCU.format(table=folder / "table.csv", unknown=unknown))


def compute_sanitizer(folder: Path, finds=None, script: str = 'cat "{folder}/$2"') -> None:
    """`compute-sanitizer`, whose tools find finds[tool], or else what they should."""
    for tool in sanitizer.TOOLS:
        stated = {one.name for one in planted.PLANTED if tool in one.tools}
        lines = [HEAD]
        for one in planted.PLANTED:
            lines.append(f"LAUNCH {one.name}")
            if one.name in (finds or {}).get(tool, stated):
                lines.append(FINDINGS[tool].format(name=one.name))
            lines.append(f"ENDED {one.name}")
        (folder / tool).write_text("\n".join([*lines, TAIL, ""]))
    program(folder, "compute-sanitizer", script.format(folder=folder))


def nvidia_smi(folder: Path) -> None:
    """`nvidia-smi` of an H200."""
    program(folder, "nvidia-smi", f'echo "{SMI}"')
