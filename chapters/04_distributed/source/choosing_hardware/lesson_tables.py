"""The tables of lesson choosing_hardware, each as (heads, rows) for `figures.table`."""

from collections.abc import Callable, Iterable

import numpy as np

from labkit.distributed.chooser.answer import Answer, choose
from labkit.distributed.chooser.even import EvenWorkload
from labkit.distributed.chooser.fits import Fit
from labkit.distributed.chooser.images import image
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.offers import cluster_of
from labkit.distributed.chooser.serving import serve
from labkit.distributed.chooser.workload import LinksUnknownError, Workload
from labkit.distributed.costs.cost_model import CostModel
from labkit.distributed.costs.language_models import language_model
from labkit.hardware import Machine, machine
from labkit.provenance import Quantity, predicted, published

Table = tuple[list[str], list[list]]
PARTS = ("compute", "bandwidth", "links")
CORES = {"a100": 6_912, "a6000": 10_752, "h100": 16_896, "h200": 16_896}
CORES_OF = (
    "NVIDIA's architecture white papers: multiprocessors x cores of each. "
    "The H200 has the H100's chip"
)
PROMPT = 1000  # tokens
TOKENS = 2048  # of each request, where as many as fit are served at once
BY_BYTES = (
    "Memory: labkit/hardware.toml, with sources. A dash: eight of them do not hold it, or one of "
    "a CPU or of a kind whose links are not in our table."
)
IN_TIME = Limits(seconds=0.001)


def beside_the_chooser(
    answer: Answer, machines_needed: Callable, step_parts: Callable, tokens: list[int]
) -> Table:
    """A learner's number of machines and parts of a step, beside those of the chooser.

    For the machines whose memory says how many, and whose links our table has. Numbers have
    two bytes.
    """
    workload = answer.workload
    model = language_model("llama31_8b")
    token_cache = model.kv_bytes_per_token(2)
    rows = []
    for row in answer.rows:
        ring = _ring(workload, row.fit)
        if ring is None or row.fit.reason == "for the time limit":
            continue
        one, plan = row.machine, row.fit.plan
        n = machines_needed(
            model.parameters,
            2,
            np.array(tokens),
            token_cache,
            answer.limits.memory * float(one.memory),
            answer.limits.most,
        )
        work = (
            workload.flops.value,
            workload.moved.value,
            workload.all_reduces,
            workload.reduced.value,
        )
        rates = (float(one.rate(workload.number_format)), float(one.bandwidth))
        counts = np.array([n])
        parts = step_parts(*work, counts, *rates, ring.latency, ring.bandwidth)[:, 0]
        binds = PARTS[int(np.argmax(parts[:3]))]
        same = bool(np.isclose(parts[3], plan.seconds.value))
        rows.append([one.name, n, n == plan.count, binds, binds == plan.binds, same])
    heads = ["machine", "how many", "as the chooser", "binds", "as the chooser", "step the same"]
    return heads, rows


def _ring(workload: EvenWorkload, fit: Fit) -> CostModel | None:
    """The ring of a plan's machines, or None where there is no plan or our table has no links."""
    if fit.plan is None:
        return None
    try:
        cluster_of(fit.machine, 2)
        return workload.ring(fit.machine, fit.plan.count)
    except LinksUnknownError:
        return None


def offers(answer: Answer) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Of the machines that can do it: keys, how many, seconds of a step, and USD/h or nan."""
    can = [row for row in answer.rows if row.fit.plan is not None]
    keys = [row.machine.key for row in can]
    counts = np.array([row.fit.plan.count for row in can])
    seconds = np.array([row.fit.plan.seconds.value for row in can])
    prices = np.array([float(row.machine.price or np.nan) for row in can])
    return keys, counts, seconds, prices


def cheapest_key(workload: Workload, seconds: float) -> str:
    """The machine that the chooser calls cheapest within a time limit; "none" if there is none."""
    row = choose(workload, Limits(seconds=seconds)).cheapest
    return row.machine.key if row else "none"


def an_image_on_each(formats: dict[str, str]) -> Table:
    """One image of the ConvNet on machines of different kinds, each in its own format."""
    rows = []
    for key, number_format in formats.items():
        row = choose(image(number_format), IN_TIME, [key]).rows[0]
        energy = row.energy.quantity if row.energy else None
        rows.append(
            [row.machine.name, number_format, row.time.quantity, row.fit.binds, row.in_time, energy]
        )
    return ["machine", "format", "an image", "binds", "within 1 ms", "a million images"], rows


def by_cores() -> Table:
    """Llama 3.1 8B on four GPUs: cores and memory, and what the model needs of them.

    The next token in fp32, for one request; and in bf16, for as many requests as fit.
    """
    flops = language_model("llama31_8b").forward_flops(PROMPT)
    rows = []
    for row in choose(serve("llama31_8b", "fp32"), among=CORES).rows:
        one = row.machine
        cores = published(CORES[one.key], "cores", CORES_OF)
        prompts = [_prompt(one, flops, number_format) for number_format in ("fp32", "bf16")]
        told = [row.time.quantity, row.fit.binds, *prompts, *_full(one)]
        rows.append([one.key, cores, _gigabytes(one), *told])
    heads = ["", "CUDA cores", "memory", "next token", "binds", "prompt, fp32", "prompt, bf16"]
    return [*heads, "requests that fit", "tokens/s of all"], rows


def _full(one: Machine) -> tuple[Quantity, Quantity]:
    """Requests whose cache fits beside the weights in bf16, and tokens a second of all of them."""
    model = language_model("llama31_8b")
    room = Limits().memory * float(one.memory) - model.weight_bytes(2)
    requests = int(room // (TOKENS * model.kv_bytes_per_token(2)))
    plan = serve(model, "bf16", requests, TOKENS).plan(one, 1, 1.0)
    fit = predicted(requests, "requests", "(the task's memory - weights) / cache of a request")
    return fit, predicted(requests / plan.seconds.value, "tokens/s", "requests / step")


def _prompt(one: Machine, flops: float, number_format: str) -> Quantity | None:
    """Seconds of a prompt's FLOPs at the peak; None in a format without a peak."""
    if number_format not in one.peak:
        return None
    return predicted(flops / float(one.rate(number_format)), "s", "FLOPs / peak")


def by_bytes(keys: Iterable[str]) -> Table:
    """Bytes to hold and bytes each second, and Llama 3.1 70B in fp32."""
    rows = []
    for row in choose(serve("llama31_70b", "fp32"), among=keys).rows:
        one, plan = row.machine, row.fit.plan
        once = predicted(float(one.memory) / float(one.bandwidth), "s", "memory / bandwidth")
        more = float(one.bandwidth) / float(machine("server_cpu").bandwidth)
        times = predicted(more, "times", "bandwidth / that of the server CPU")
        token = None
        if row.time:
            token = predicted(row.time.value, "s", "the chooser")
        rows.append([one.name, _gigabytes(one), times, once, plan.count if plan else None, token])
    heads = ["machine", "memory", "bandwidth", "all memory read in", "70B: how many", "next token"]
    return heads, rows


def _gigabytes(one: Machine) -> str:
    """ "80 GB", whose source stands in the table of machines."""
    return f"{float(one.memory) / 1e9:.3g} GB"
