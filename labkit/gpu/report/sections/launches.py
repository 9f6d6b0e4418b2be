"""What a launch costs, and a copy: pinned memory and streams, as in two lessons on training."""

import statistics
from collections.abc import Callable
from functools import partial
from time import perf_counter

import torch
from torch.nn.functional import cross_entropy

from labkit import convnet
from labkit.gpu import cuda
from labkit.gpu.ladder_speeds import miss
from labkit.gpu.report.rows import NotHere, Row, Work
from labkit.gpu.report.sections.peaks import this_gpu
from labkit.gpu.report.tasks import Bench
from labkit.gpu.step_cost import bus
from labkit.gpu.training import feeding
from labkit.gpu.training.tensors import launch
from labkit.provenance import Quantity, predicted

COPIES = "a_training_step_on_the_gpu"  # the lesson that predicts their time
PHOTOGRAPHS = 64
IMAGE = (3, 32, 32)
LARGE = 2**26  # bytes


@cuda.jit
def nothing(x):
    """Does nothing."""
    return  # Numba wants a statement


def work(bench: Bench, earlier: dict) -> Work:
    """Launches, then copies."""
    yield "a launch of ours", partial(launch_row, bench, our_launch)
    yield "a launch of PyTorch's", partial(launch_row, bench, their_launch)
    yield "a launch in a CUDA graph", partial(graph_row, bench)
    yield "64 photographs to the GPU", partial(copy_row, bench, PHOTOGRAPHS * 4 * 3 * 32 * 32)
    yield "64 MiB to the GPU", partial(copy_row, bench, LARGE)
    yield "a step that waits for its batch, or not", partial(feeding_row, bench)


def median(bench: Bench, function: Callable[[], object], repeats: int) -> float:
    """Seconds of a call, the median of several; the first ones warm up."""
    found = []
    for _ in range(bench.size(repeats, 2)):
        start = perf_counter()
        function()
        found.append(perf_counter() - start)
    return statistics.median(found[len(found) // 5 :])


def wait(bench: Bench) -> None:
    """Until the device has done what was queued."""
    if not bench.dry:
        torch.cuda.synchronize()


def our_launch(bench: Bench) -> Callable[[], object]:
    """Launches a kernel that does nothing, as the layers of the course launch theirs."""
    x = torch.zeros(4, device=bench.device.torch_device)
    return lambda: launch((nothing, 1, 32), x)


def their_launch(bench: Bench) -> Callable[[], object]:
    """Lets PyTorch add to four numbers."""
    x = torch.zeros(4, device=bench.device.torch_device)
    return lambda: x.add_(1)


def launch_row(bench: Bench, prepare: Callable[[Bench], Callable[[], object]]) -> Row:
    """How long the host is busy with a launch, and how long it takes to its end."""
    run = prepare(bench)
    count = bench.size(200, 2)

    def many() -> None:
        for _ in range(count):
            run()

    def one() -> None:
        run()
        wait(bench)

    many()
    wait(bench)
    queued = median(bench, many, 10) / count
    wait(bench)
    whole = median(bench, one, 200)
    numbers = {"queued": bench.measured(queued, "s"), "to its end": bench.measured(whole, "s")}
    return Row(numbers, None, "the first is how long the host is busy, the second until it is done")


def graph_row(bench: Bench) -> Row:
    """A hundred launches of PyTorch's, recorded once and replayed."""
    if bench.dry:
        raise NotHere("CUDA graphs need a GPU.")
    count = 100
    x = torch.zeros(4, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # PyTorch wants a warm-up on another stream
        x.add_(1)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            x.add_(1)

    def replayed() -> None:
        graph.replay()
        wait(bench)

    seconds = median(bench, replayed, 50) / count
    return Row({"to its end": bench.measured(seconds, "s")})


def copy_row(bench: Bench, size: int) -> Row:
    """From pinned memory and from ordinary memory, beside what the lesson predicts of the bus."""
    if bench.dry:
        raise NotHere("Copies to a GPU need one.")
    count = size // 4
    ordinary = torch.rand(count)
    pinned = ordinary.pin_memory()
    there = torch.empty(count, device="cuda")
    times: dict[str, float] = {}
    for name, source in (("pinned", pinned), ("ordinary", ordinary)):

        def copy(source: torch.Tensor = source) -> None:
            there.copy_(source, non_blocking=True)
            torch.cuda.synchronize()

        times[name] = median(bench, copy, 50)
        if not torch.equal(there.cpu(), source):
            raise RuntimeError("The copy is not what was sent.")
        there.zero_()
    numbers = {
        "pinned": bench.measured(times["pinned"], "s"),
        "pinned, rate": bench.measured(size / times["pinned"], "B/s"),
        "ordinary": bench.measured(times["ordinary"], "s"),
    }
    said = f"pinned is {times['ordinary'] / times['pinned']:.1f} times as fast"
    try:
        numbers["by the bus"] = predicted_copy(bench, size)
    except (KeyError, NotHere):
        return Row(numbers, None, f"{said}; no prediction for this GPU's bus", COPIES)
    said += f"; the time by the bus is {miss(numbers['by the bus'], numbers['pinned'])}"
    return Row(numbers, None, said, COPIES)


def predicted_copy(bench: Bench, size: int) -> Quantity:
    """Seconds for so many bytes, by the rate of the bus; KeyError if we do not know it."""
    return predicted(size / float(bus(this_gpu(bench))), "s", "the bus")


def feeding_row(bench: Bench) -> Row:
    """Steps of the ConvNet, each batch copied before its step, and beside the one before."""
    steps = bench.size(60, 2)
    on = bench.device.torch_device
    images = torch.randn(steps * PHOTOGRAPHS, *IMAGE)
    truth = torch.randint(0, 10, (steps * PHOTOGRAPHS,)).to(on)
    batches = list(torch.arange(steps * PHOTOGRAPHS).split(PHOTOGRAPHS))
    seconds: dict[str, float] = {}
    losses: dict[str, float] = {}
    for name in ("warm-up", "in turn", "fed"):
        model = convnet.torch_model(convnet.init(0)).to(on)
        update = torch.optim.SGD(model.parameters(), 0.01)
        start = perf_counter()
        fetched = feeding.fed(images, batches, on)
        if name != "fed":
            fetched = (images[rows].to(on) for rows in batches)
        for rows, x in zip(batches, fetched, strict=True):
            loss = cross_entropy(model(x), truth[rows.to(on)])
            update.zero_grad()
            loss.backward()
            update.step()
        losses[name] = loss.item()
        seconds[name] = (perf_counter() - start) / steps
    numbers = {name: bench.measured(seconds[name], "s") for name in ("fed", "in turn")}
    same = abs(losses["fed"] / losses["in turn"] - 1) < 1e-3
    said = f"{seconds['in turn'] / seconds['fed']:.2f} times as fast; the same loss: {same}"
    return Row(numbers, same, "" if bench.dry else said, "training")
