"""How soon one input is answered, on an FPGA and on a GPU: figures of others beside formulas.

No row compares like with like: networks, numbers of bits and kinds of entries differ, and the notes
say how. Lesson timing_and_proof puts a claim on trial with them.
"""

from itertools import pairwise
from math import ceil, log2

from labkit import hardware
from labkit.provenance import Quantity, predicted, published

JET_LAYERS = (16, 64, 32, 32, 5)  # of the network of Duarte et al., 2018: inputs, hidden, outputs
RESNET50_MULTIPLY_ADDS = 4.1e9  # of one image of 224 x 224

DUARTE = 'Duarte et al., 2018, arXiv 1804.06913: "on the scale of 100 ns"'
CUDA_JL = (
    "the documentation of CUDA.jl, Graphs: another network with 4 layers, 16 inputs at once, as "
    "one CUDA graph (about 50 µs kernel by kernel), on a GPU that it does not name"
)
MLPERF = "MLPerf Inference v1.0, 2021, closed, edge, mean"
MOBILINT = f"{MLPERF}: Alveo U250 (Mobilint), 195 MHz, in the category of research and development"
A100 = f"{MLPERF}: A100 (NVIDIA), available"
FINN = (
    "discuss.pynq.io/t/1003, 2020: FINN on an Alveo U250, a ResNet-50 with weights of 1 bit and "
    "activations of 2, 65 % right (top-1)"
)


def tree_stages(layers: tuple[int, ...] = JET_LAYERS) -> int:
    """Clock cycles through a network that is a pipeline: per layer the products, and their tree."""
    return sum(1 + ceil(log2(inputs)) for inputs in layers[:-1])


def rows(clock: Quantity) -> list[list]:
    """[task, FPGA by formula, FPGA by others, GPU by formula, GPU by others], seconds.

    clock   Hz, of a pipeline of adders: one with multipliers may be slower

    A GPU's formula is its peak alone.
    """
    a100 = float(hardware.machine("a100").rate("int8"))  # operations a second
    of_jets = 2 * sum(n * m for n, m in pairwise(JET_LAYERS))
    of_image = 2 * RESNET50_MULTIPLY_ADDS
    by_clock = "stages / the clock of our tree of adders on the ECP5"
    stages = predicted(tree_stages() / float(clock), "s", by_clock)
    by_peak = "operations / peak of an A100"
    return [
        [
            "small network",
            stages,
            published(100e-9, "s", DUARTE),
            predicted(of_jets / a100, "s", by_peak),
            published(16e-6, "s", CUDA_JL),
        ],
        [
            "ResNet-50, for MLPerf",
            None,
            published(17.2e-3, "s", MOBILINT),
            predicted(of_image / a100, "s", by_peak),
            published(0.497e-3, "s", A100),
        ],
        ["ResNet-50, 1 and 2 bits", None, published(2e-3, "s", FINN), None, None],
    ]
