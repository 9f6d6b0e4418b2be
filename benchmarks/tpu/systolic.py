"""The systolic array beside SCALE-Sim 2.0.2 on the same layers, and beside NumPy, in one run.

    python benchmarks/tpu/systolic.py                      SCALE-Sim in an environment for this run
    python benchmarks/tpu/systolic.py --scalesim PYTHON    a Python that has scalesim 2.0.2

SCALE-Sim also simulates memory, which our array does not; so its array alone is timed as well. Its
cycles must be ours less one. It computes no products; ours does, and they are checked. Where it
cannot be had its rows say "not measured". Results go to benchmarks/results/tpu_systolic.json; the
exit code is 1 when a ratio is missed or cycles differ. Seconds alone decide nothing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

RESULTS = Path(__file__).resolve().parent.parent / "results" / "tpu_systolic.json"
VERSION = "2.0.2"
SIDE = 32
TIMES_FASTER = 50
LAYERS = {  # name: M, K, N of its matmul
    "ConvNet conv2, one image": (256, 288, 64),
    "matmul 128 x 128 x 128": (128, 128, 128),
}
FLOWS = ("os", "ws", "is")
CONFIG = """[general]
run_name = run
[architecture_presets]
ArrayHeight: {side}
ArrayWidth: {side}
IfmapSramSzkB: 1024
FilterSramSzkB: 1024
OfmapSramSzkB: 1024
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Dataflow: {flow}
Bandwidth: 10
[run_presets]
InterfaceBandwidth: CALC
"""
# Runs in SCALE-Sim's Python: for each dataflow its cycles, and the seconds of it all and of its
# array alone, which is what it does up to the demands on memory.
CHILD = """
import contextlib, io, json, os, sys, time
from scalesim.scale_sim import scalesim
from scalesim.single_layer_sim import single_layer_sim

def run(config, topology):
    simulator = scalesim(True, False, config, topology, True)
    simulator.run_scale(top_path=os.path.dirname(config))
    (layer,) = simulator.runner.single_layer_sim_object_list
    return layer.get_compute_report_items()[0]

def array(config, topology):
    simulator = scalesim(True, False, config, topology, True)
    layer = single_layer_sim()
    layer.set_params(0, simulator.config, simulator.topo, False)
    operands = layer.op_mat_obj
    parts = operands.get_ifmap_matrix, operands.get_filter_matrix, operands.get_ofmap_matrix
    names = "ifmap_op_mat", "filter_op_mat", "ofmap_op_mat"
    matrices = {name: part()[1] for name, part in zip(names, parts)}
    layer.compute_system.set_params(config_obj=simulator.config, **matrices)
    layer.compute_system.get_prefetch_matrices()
    layer.compute_system.get_demand_matrices()

def timed(call, *args):
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = call(*args)
    return result, time.perf_counter() - start

topology, *configs = sys.argv[1:]
rows = []
for config in configs:
    cycles, whole = timed(run, config, topology)
    _, alone = timed(array, config, topology)
    rows.append([int(cycles), whole, alone])
print(json.dumps(rows))
"""


def scale_sim(python: str, folder: Path, sizes: tuple[int, int, int]) -> dict[str, tuple]:
    """Per dataflow: its cycles, the seconds of its whole run, and those of its array alone."""
    M, K, N = sizes
    topology = folder / "layer.csv"
    topology.write_text(f"Layer, M, N, K,\nlayer, {M}, {N}, {K},\n", "utf-8")
    configs = [folder / f"{flow}.cfg" for flow in FLOWS]
    for flow, config in zip(FLOWS, configs, strict=True):
        config.write_text(CONFIG.format(side=SIDE, flow=flow), "utf-8")
    command = [python, "-c", CHILD, str(topology), *map(str, configs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise SystemExit(f"SCALE-Sim failed:\n{done.stderr[-2000:]}")
    return dict(zip(FLOWS, json.loads(done.stdout.splitlines()[-1]), strict=True))


def installed(folder: Path) -> str | None:
    """The Python of a new environment with SCALE-Sim in it, or None without a network."""
    python = folder / "venv" / "bin" / "python"
    venv.create(folder / "venv", with_pip=True)
    # NumPy as old as SCALE-Sim 2.0.2 expects it.
    packages = [f"scalesim=={VERSION}", "numpy==1.26.4"]
    done = subprocess.run([python, "-m", "pip", "install", "-q", *packages], capture_output=True)
    return None if done.returncode else str(python)


def timed(call: Callable, repeats: int = 5) -> tuple[object, float]:
    """The last result, and the median of the seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return result, statistics.median(seconds)


def anew(call: Callable, *args: object) -> object:
    """The call without the waves that an earlier one kept."""
    from labkit.tpu.matrix_unit.vectorised import wavefront

    wavefront.cache_clear()
    return call(*args)


def compare(python: str | None, folder: Path) -> tuple[list[dict], bool]:
    """Our two engines and SCALE-Sim on every layer in every dataflow."""
    import numpy as np

    from labkit.provenance import measured
    from labkit.tpu.matrix_unit.systolic import SystolicArray

    rng = np.random.default_rng(0)
    array = SystolicArray(SIDE, SIDE)
    rows = []
    ok = True
    for name, (M, K, N) in LAYERS.items():
        a = rng.integers(-128, 128, (M, K)).astype(np.int8)
        b = rng.integers(-128, 128, (K, N)).astype(np.int8)
        theirs = scale_sim(python, folder, (M, K, N)) if python else {}
        for flow in FLOWS:
            fast, vectorised = timed(partial(anew, array.matmul, a, b, flow))
            step, stepped = timed(partial(array.matmul, a, b, flow, engine="stepped"), 3)
            exact = a.astype(int) @ b.astype(int)
            same = np.array_equal(step.result, exact) and np.array_equal(fast.result, exact)
            if not same or not np.array_equal(step.occupancy, fast.occupancy):
                raise SystemExit(
                    "The engines disagree: a time without a right result means nothing."
                )
            row = {"layer": name, "dataflow": flow, "cycles": fast.cycles}
            row |= {"vectorised": measured(vectorised, "s").number}
            row |= {"stepped": measured(stepped, "s").number}
            if python:
                cycles, whole, alone = theirs[flow]
                ok &= cycles + 1 == fast.cycles and whole / vectorised >= TIMES_FASTER
                row |= {"SCALE-Sim's cycles": cycles, "SCALE-Sim": measured(whole, "s").number}
                row |= {"its array alone": measured(alone, "s").number}
                row |= {"times faster": round(whole / vectorised), "at least": TIMES_FASTER}
                row |= {"than its array": round(alone / vectorised)}
            else:
                row |= {"SCALE-Sim": "not measured"}
            rows.append(row)
    return rows, ok


def beside_numpy() -> tuple[list[dict], bool]:
    """Our array alone, beside NumPy doing the least that such a result needs."""
    import numpy as np

    from labkit.provenance import measured
    from labkit.tpu.matrix_unit.systolic import SystolicArray

    rng = np.random.default_rng(1)
    a = rng.integers(-128, 128, (1024, 1024)).astype(np.int8)
    c = rng.integers(-128, 128, (128, 128)).astype(np.int8)
    exact = a.astype(float)
    registers = np.zeros((6, 32, 32), np.int32)
    big = SystolicArray(256, 256)
    small = SystolicArray(32, 32)
    cycles = {
        "schedule": big.schedule(4096, 4096, 4096).cycles,
        "stepped": small.matmul(c, c).cycles,
    }

    def move() -> None:
        for _ in range(cycles["stepped"]):
            registers[:, :, 1:] = registers[:, :, :-1]
            registers[:, 1:] = registers[:, :-1]

    tasks = (
        (
            "occupancy of 4096^3 on 256 x 256",
            partial(anew, big.schedule, 4096, 4096, 4096),
            "a sum over as many cycles",
            partial(np.cumsum, np.ones(cycles["schedule"], int)),
            30,
        ),
        (
            "exact int8 result of 1024^3 on 256 x 256",
            partial(anew, big.matmul, a, a),
            "one float64 product",
            lambda: exact @ exact,
            15,
        ),
        (
            "128^3 stepped on 32 x 32",
            partial(small.matmul, c, c, engine="stepped"),
            "six registers of 32 x 32 moved right and down in each cycle",
            move,
            25,
        ),
    )
    rows = []
    ok = True
    for what, ours, other, theirs, limit in tasks:
        for flow in FLOWS:
            _, own = timed(partial(ours, flow))
            _, least = timed(theirs)
            ok &= own / least <= limit
            row = {"what": what, "dataflow": flow, "time": measured(own, "s").number}
            row |= {other: measured(least, "s").number}
            rows.append(row | {"times as long": round(own / least, 1), "at most": limit})
    return rows, ok


def main() -> int:
    """The command line; returns the exit status."""
    from labkit.hardware import this_machine

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scalesim", metavar="PYTHON", help=f"a Python with scalesim {VERSION}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = options.scalesim or installed(Path(folder))
        layers, fast = compare(python, Path(folder))
    alone, met = beside_numpy()
    for row in layers + alone:
        print("  ".join(f"{key}: {value}" for key, value in row.items()))
    result = {"word": "measured", "device": this_machine().name, "array": f"{SIDE} x {SIDE}"}
    result |= {"SCALE-Sim": VERSION if python else "not measured", "layers": layers, "alone": alone}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0 if fast and met else 1


if __name__ == "__main__":
    sys.exit(main())
