"""The SIMT machine beside Numba's own simulator, both in one run: `make bench`.

    python benchmarks/gpu/simt.py                    all of it; results go to results/gpu_simt.json
    python benchmarks/gpu/simt.py --beside FOLDER    beside another checkout's machine, in turn

Every launch gets fresh inputs and its result is compared with NumPy. The simulator is a subprocess,
since NUMBA_ENABLE_CUDASIM must be set before Numba is imported. A training step of the ConvNet,
which is too much for the simulator, stands beside a matmul on the same machine, each per
instruction; the exit code is 1 when it takes more than its share.

How many times faster than the simulator the machine is differs by two between computers, so those
goals only inform. What tells whether it became slower is --beside: the exit code is 1 when a kernel
takes SLOWER times as long as the other checkout's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("LABKIT_CUDA", "simt")  # also on a machine with a GPU: two simulators
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its threads spin for a while after a product

from matmuls import KERNELS, inputs, right

RESULTS = Path(__file__).resolve().parent.parent / "results" / "gpu_simt.json"
GOALS = {"launch": 300, "profile": 100}  # times faster than the simulator
SLOWER = 1.1  # times as long as another checkout, the fastest of ROUNDS each
ROUNDS = 5
STEP = 3  # at most as many times the time of a matmul, per instruction
REPEATS, BATCH = 7, 16


def timed(run: Callable, seed: int) -> float:
    a, b, c = inputs(seed)
    start = time.perf_counter()
    run(a, b, c)
    seconds = time.perf_counter() - start
    if not right(a, b, c):
        raise SystemExit("The result is not a @ b: a time without a right result means nothing.")
    return seconds


def simulator() -> dict[str, float]:
    """Seconds of one launch each, in a process of its own."""
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, __file__, "--simulator"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def run_simulator() -> None:
    print(json.dumps({n: timed(k[g, b], 0) for n, (k, g, b) in KERNELS.items()}))


def machine() -> dict[str, dict[str, float]]:
    """Seconds of the first launch (the kernel is compiled), of later ones, and of a profile."""
    from labkit.gpu import profile

    seconds = {}
    for name, (kernel, grid, block) in KERNELS.items():
        first = timed(kernel[grid, block], 0)
        launches = [timed(kernel[grid, block], seed) for seed in range(1, REPEATS + 1)]
        profiles = [
            timed(lambda *args, k=kernel, g=grid, b=block: profile(k, g, b, *args), seed)
            for seed in range(1, REPEATS + 1)
        ]
        medians = statistics.median(launches), statistics.median(profiles)
        seconds[name] = dict(zip(("first", "launch", "profile"), (first, *medians), strict=True))
    return seconds


def training(matmul: float) -> dict:
    """A step of the ConvNet, per instruction, beside `matmul` seconds of the tiled matmul."""
    import torch

    from labkit import convnet
    from labkit.datasets import cifar10
    from labkit.gpu import profile
    from labkit.gpu.training import autograd
    from labkit.provenance import counted, measured
    from numba_simt.execution import machine

    kernel, grid, block = KERNELS["tiled matmul"]
    instructions = profile(kernel, grid, block, *inputs(0)).counters["instructions"]
    train, model = cifar10("sample").train, autograd.ConvNet(convnet.init(0))
    images = torch.from_numpy(convnet.normalise(train.images[:BATCH]))
    labels = torch.from_numpy(train.labels[:BATCH])
    optimizer, executed, run = autograd.SGD(model.parameters(), 1e-3), [], machine.run

    def step() -> float:
        start = time.perf_counter()
        optimizer.zero_grad()
        autograd.cross_entropy(model(images), labels).backward()
        optimizer.step()
        return time.perf_counter() - start

    def watched(*given: object, **named: object) -> object:
        outcome = run(*given, **(named | {"watch": True}))
        executed.append(outcome.counters["instructions"])
        return outcome

    machine.run = watched
    step()  # compiles, and counts
    machine.run = run
    seconds = statistics.median(step() for _ in range(3))
    ratio = (seconds / sum(executed)) / (matmul / instructions)
    return {
        "what": f"training step of {BATCH} images",
        "machine": measured(seconds, "s").number,
        "instructions": counted(sum(executed), "instructions", "the SIMT machine").number,
        "per instruction, times the tiled matmul's": round(ratio, 2),
        "at most": STEP,
    }


def in_folder(folder: Path) -> dict[str, dict[str, float]]:
    """`machine()` in a process that imports labkit from that folder."""
    env = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'simt'}"}
    command = [sys.executable, __file__, "--machine", str(folder)]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"labkit of {folder} could not be timed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def run_machine(folder: Path) -> None:
    import labkit

    if not Path(labkit.__file__).is_relative_to(folder):
        raise SystemExit(f"{labkit.__file__} would be timed, which is not in {folder}.")
    print(json.dumps(machine()))


def beside(folder: Path) -> int:
    """Print both checkouts' times; 1 if a kernel is slower here."""
    root = RESULTS.parents[2]
    here, there = zip(*((in_folder(root), in_folder(folder)) for _ in range(ROUNDS)), strict=True)
    slower = False
    for name in KERNELS:
        for what in GOALS:
            ours, theirs = (min(run[name][what] for run in side) for side in (here, there))
            slower |= ours > SLOWER * theirs
            times = f"here {ours * 1e3:7.2f} ms, there {theirs * 1e3:7.2f} ms"
            print(f"{name + ', ' + what:<36} {times}, ratio {ours / theirs:.2f}")
    return 1 if slower else 0


def main() -> int:
    from labkit.hardware import this_machine
    from labkit.provenance import measured

    ours, theirs = machine(), simulator()
    rows = []
    for name, seconds in ours.items():
        for what, goal in GOALS.items():
            ratio = theirs[name] / seconds[what]
            rows.append(
                {
                    "kernel": f"{name}, 128 x 128 x 128",
                    "what": {"launch": "launch", "profile": "with hazards and counters"}[what],
                    "simulator": measured(theirs[name], "s").number,
                    "machine": measured(seconds[what], "s").number,
                    "first launch": measured(seconds["first"], "s").number,
                    "times faster": round(ratio),
                    "goal": goal,
                }
            )
    step = training(ours["tiled matmul"]["launch"])
    ok = step["per instruction, times the tiled matmul's"] <= step["at most"]
    rows.append(step)
    for row in rows:
        print("  ".join(f"{key}: {value}" for key, value in row.items()))
    result = {"word": "measured", "device": this_machine().name, "rows": rows}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0 if ok else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The SIMT machine beside Numba's simulator.")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--simulator", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--machine", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    options = arguments()
    if options.simulator:
        sys.exit(run_simulator())
    if options.machine:
        sys.exit(run_machine(options.machine))
    sys.exit(beside(options.beside.resolve()) if options.beside else main())
