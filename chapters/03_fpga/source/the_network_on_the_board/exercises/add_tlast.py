"""Exercise fpga.add_tlast: a circuit that says where its packets end.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.fpga.judging.given_modules import NEGATIVE
from labkit.fpga.judging.rtl_exercise import Drive, rtl_exercise
from labkit.fpga.simulate import Simulation
from labkit_lessons.fpga.the_network_on_the_board import solutions


def pixels(rng: np.random.Generator, n: int, length: int) -> tuple[np.ndarray, int]:
    """x[n] of all brightnesses, and how many of them are a packet."""
    x = np.resize(rng.permutation(256), n).astype(np.uint8)
    if n > 10:
        x[[1, 5]] = 0, 255
    return x, length


def drive(x: np.ndarray, length: int) -> Drive:
    """All pixels, one behind the other."""
    return Drive(
        {"in": x},
        words={"out": len(x)},
        parameters={"LENGTH": length},
    )


def read(simulation: Simulation, x: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The words, and the `last` of each."""
    return simulation.outputs["out"], simulation.lasts["out"]


def packets(x: np.ndarray, length: int, offset: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The negative, and 1 with the last pixel of each packet, or so many pixels later."""
    place = np.arange(1, len(x) + 1) - offset
    return 255 - x.astype(int), ((place % length == 0) & (place > 0)).astype(int)


def with_last(compute: Callable) -> Callable:
    """A wrong idea of where packets end, with the right pixels."""
    return lambda x, length: (packets(x, length)[0], compute(len(x), length))


WRONG = dict(
    never=with_last(lambda n, length: np.zeros(n, int)),
    always=with_last(lambda n, length: np.ones(n, int)),
    one_early=lambda x, length: packets(x, length, -1),
    one_late=lambda x, length: packets(x, length, 1),
    always_8=lambda x, length: packets(x, 8),
    eight_bits=with_last(
        lambda n, length: (np.arange(1, n + 1) % length == 0).astype(int) * (length <= 256)
    ),
    stays=with_last(lambda n, length: (np.arange(1, n + 1) >= length).astype(int)),
    not_for_1=with_last(
        lambda n, length: (np.arange(1, n + 1) % length == 0).astype(int) * (length > 1)
    ),
    masked=with_last(lambda n, length: (np.arange(n) & length - 1 == length - 1).astype(int)),
    other_sign=lambda x, length: ((x.astype(int) + 1) % 256, packets(x, length)[1]),
    longer=lambda x, length: packets(x, length + 1),
    first_of_packet=with_last(lambda n, length: (np.arange(n) % length == 0).astype(int)),
    only_once=with_last(lambda n, length: (np.arange(n) == length - 1).astype(int)),
    unchanged=lambda x, length: (x.astype(int), packets(x, length)[1]),
    two_complement=lambda x, length: (-x.astype(int) % 256, packets(x, length)[1]),
)

add_tlast = rtl_exercise(
    "fpga.add_tlast",
    top="negative",
    solution=solutions.negative,
    given=NEGATIVE,
    drive=drive,
    read=read,
    cases=cases_of(
        {
            "one byte": (1, 1),
            "two": (2, 1),
            "prime": (11, 3),
            "ragged": (20, 8),
        }
        | {
            "one packet": (23, 23),
            "many": (61, 5),
            "a long packet": (3000, 2999),
        },
        pixels,
    ),
    oracle=packets,
    wrong=WRONG,
    outputs=("out_data", "out_last"),
    cycles=lambda x, length: len(x) + 2,
    keeps=1,
    early_ready=True,
    gates={"ff": 48, "lut": 80, "dsp": 0},
    gate_parameters={"LENGTH": 2999},
)
