"""Energy of a training step: what data sheets promise, and what the roofline leaves of it."""

from collections.abc import Sequence

from labkit import convnet
from labkit.gpu.step_cost import roof_time, with_peak
from labkit.hardware import Machine, machine
from labkit.provenance import predicted

BATCH = 64


def laptop_at_base_clock() -> Machine:
    """The laptop's processor at the clock that its 15 W sustain: 6 cores at 2.1 GHz."""
    formula = "cores, Hz, FMA units, lanes, 2 FLOP"
    rate = predicted(6 * 2.1e9 * 2 * 8 * 2, "FLOP/s", formula)
    laptop = machine("laptop_cpu")
    return with_peak(laptop, "fp32", rate)


def promised(gpu: Machine, kind: str) -> float:
    """Peak arithmetic for each joule, FLOP/J."""
    return gpu.rate(kind).value / gpu.power.value


def needed(gpu: Machine, kind: str) -> float:
    """Joules of a step of 64 photographs: the roofline's time, at full published power."""
    costs = convnet.layer_costs(BATCH)
    seconds = roof_time(gpu, costs, kind).value
    return gpu.power.value * seconds


def gains(machines: Sequence[tuple[Machine, str]]) -> list[list]:
    """A row for each machine and format; gains are over the first one.

    [machine, format, promised gain in FLOP/J, the step's time, its share of the peak in %, the
    step's energy, its gain]
    """
    costs = convnet.layer_costs(BATCH)
    flops = sum(float(cost.flops) for cost in costs)
    first = machines[0]
    rows = []
    for gpu, kind in machines:
        time = roof_time(gpu, costs, kind)
        reached = flops / time.value
        share = round(100 * reached / gpu.rate(kind).value)
        joules = needed(gpu, kind)
        energy = predicted(joules, "J", "its published power times this time")
        promise = promised(gpu, kind) / promised(*first)
        gain = needed(*first) / joules
        rows.append([gpu.key, kind, promise, time, share, energy, gain])
    return rows
