"""The exercises of lesson the_network_on_the_board: a job, who is done, a circuit's `last`."""

from functools import cache
from types import SimpleNamespace

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.fpga.accelerator_words import SMALL, Folding, job_words
from labkit.fpga.board import designs
from labkit.fpga.board.design import Design
from labkit.fpga.board_exercise import board_exercise
from labkit.fpga.exercises.solutions import the_network_on_the_board as solutions
from labkit.fpga.given_modules import NEGATIVE
from labkit.fpga.integer_layers import IntegerLayer, maxpool2d
from labkit.fpga.rtl_exercise import Drive, rtl_exercise
from labkit.fpga.simulate import Simulation

# --- fpga.run_job: the accelerator for a smaller network, whose jobs are short


@cache
def small_accelerator() -> Design:
    """The same registers and streams as in the lesson."""
    return designs.convnet(shapes=SMALL)


def random_layers(rng: np.random.Generator) -> list[IntegerLayer]:
    """A network of these shapes, with random weights; its layers' outputs fill the bytes."""
    layers = []
    for name, shape in SMALL.weights.items():
        weights = rng.integers(-128, 128, shape).astype(np.int8)
        bias = rng.integers(-50_000, 50_000, shape[0]).astype(np.int32)
        multiplier, shift = None, None
        if name != "fc2":
            multiplier = rng.integers(2**14, 2**16, shape[0]).astype(np.int32)
            shift = 15 + int(np.log2(74 * np.sqrt(np.prod(shape[1:]))))
        ones = np.ones(shape[0])
        layers.append(IntegerLayer(name, weights, bias, multiplier, shift, 1.0, ones, 1.0))
    return layers


def golden(layers: list[IntegerLayer], x: np.ndarray) -> np.ndarray:
    """The results that the integers give, [N,10]."""
    conv1, conv2, fc1, fc2 = layers
    x = maxpool2d(conv1(x))
    x = maxpool2d(conv2(x))
    return fc2.accumulate(fc1(x.reshape(len(x), -1))).astype(np.int32)


# The results of the jobs that were made for cases: an oracle sees only their words.
_RESULTS: dict[bytes, np.ndarray] = {}


def job(rng: np.random.Generator, images: int) -> tuple[np.ndarray, int]:
    """The words of a job, and how many images it has."""
    layers = random_layers(rng)
    x = rng.integers(-128, 128, (images, 3, SMALL.side, SMALL.side)).astype(np.int8)
    words = job_words(layers, x, Folding(), SMALL)
    _RESULTS[words.tobytes()] = golden(layers, x)
    return words, images


def results(words: np.ndarray, images: int) -> np.ndarray:
    """What is right for one of these jobs."""
    return _RESULTS[words.tobytes()].copy()


def first_image(words: np.ndarray, images: int) -> np.ndarray:
    """As if only one image came: the rest stays 0."""
    found = results(words, images)
    found[1:] = 0
    return found


def halves_swapped(words: np.ndarray, images: int) -> np.ndarray:
    """The upper half of each word first."""
    return results(words, images).reshape(-1, 2)[:, ::-1].reshape(images, 10)


run_job = board_exercise(
    "fpga.run_job",
    design=lambda words, images: small_accelerator(),
    given=lambda overlay: (overlay.accelerator_0, overlay.axi_dma_0),
    solution=solutions.run_job,
    oracle=results,
    cases=cases_of(
        {"one image": (1,), "two": (2,), "prime": (7,), "three": (3,), "many": (12,)}, job
    ),
    wrong={
        "nothing": lambda words, images: np.zeros((images, 10), np.int32),
        "first_image": first_image,
        "halves_swapped": halves_swapped,
        "transposed": lambda words, images: results(words, images).reshape(10, images).T,
        "floats": lambda words, images: results(words, images).view("f4"),
    },
    forbidden=(*LIBRARIES, "labkit.fpga.board.convnet_overlay"),
)

# --- fpga.add_tlast


def pixels(rng: np.random.Generator, n: int, length: int) -> tuple[np.ndarray, int]:
    """x[n] of all brightnesses, and how many of them are a packet."""
    x = rng.permutation(256)[:n].astype(np.uint8)
    if n > 10:
        x[[1, 5]] = 0, 255
    return x, length


def drive(x: np.ndarray, length: int) -> Drive:
    """All pixels, one behind the other."""
    return Drive({"in": x}, words={"out": len(x)}, parameters={"LENGTH": length})


def read(simulation: Simulation, x: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The words, and the `last` of each."""
    return simulation.outputs["out"], simulation.lasts["out"]


def packets(x: np.ndarray, length: int, offset: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The negative, and 1 with the last pixel of each packet, or so many pixels later."""
    place = np.arange(1, len(x) + 1) - offset
    return 255 - x.astype(int), ((place % length == 0) & (place > 0)).astype(int)


def with_last(compute: object) -> object:
    """A wrong idea of where packets end, with the right pixels."""
    return lambda x, length: (packets(x, length)[0], compute(len(x), length))


WRONG = SimpleNamespace(
    never=with_last(lambda n, length: np.zeros(n, int)),
    always=with_last(lambda n, length: np.ones(n, int)),
    one_early=lambda x, length: packets(x, length, -1),
    one_late=lambda x, length: packets(x, length, 1),
    longer=lambda x, length: packets(x, length + 1),
    first_of_packet=with_last(lambda n, length: (np.arange(n) % length == 0).astype(int)),
    only_once=with_last(lambda n, length: (np.arange(n) == length - 1).astype(int)),
    unchanged=lambda x, length: (x.astype(int), packets(x, length)[1]),
)

add_tlast = rtl_exercise(
    "fpga.add_tlast",
    top="negative",
    solution=solutions.negative,
    given=NEGATIVE,
    drive=drive,
    read=read,
    cases=cases_of(
        {"one byte": (1, 1), "two": (2, 1), "prime": (11, 3), "ragged": (20, 8)}
        | {"one packet": (23, 23), "many": (61, 5), "a long packet": (200, 199)},
        pixels,
    ),
    oracle=packets,
    wrong=vars(WRONG),
    outputs=("out_data", "out_last"),
    cycles=lambda x, length: len(x) + 2,
    gates={"ff": 48, "lut": 120, "dsp": 0},
)

# --- fpga.who_is_done


def done(sent: int, room: int, length: int, holds: int) -> tuple[bool, bool]:
    """Whether each channel gets done."""
    handed_over = min(sent, room, length)
    return sent <= handed_over + holds, handed_over == length


def without(*names: str) -> object:
    """As if these did not limit what is handed over."""

    def found(sent: int, room: int, length: int, holds: int) -> tuple[bool, bool]:
        limits = {"sent": sent, "room": room, "length": length}
        handed_over = min(value for name, value in limits.items() if name not in names)
        return sent <= handed_over + holds, handed_over >= length

    return found


who_is_done = exercise(
    "fpga.who_is_done",
    oracle=done,
    cases=cases_of(
        {
            "all fits": (8, 8, 8, 1),
            "one byte": (1, 1, 1, 1),
            "one more": (9, 8, 8, 1),
            "two more": (10, 8, 8, 1),
            "a large buffer": (8, 20, 8, 1),
            "too much for a large buffer": (14, 20, 8, 1),
            "too few": (6, 8, 8, 1),
            "a small buffer": (30, 4, 8, 3),
            "little for a small buffer": (4, 4, 8, 3),
            "no receiver": (16, 0, 8, 16),
            "no receiver and one more": (17, 0, 100, 16),
            "a prime packet": (13, 13, 11, 2),
            "holds nothing": (12, 12, 12, 0),
            "holds nothing and one more": (13, 13, 12, 0),
            "many": (3000, 3072, 3072, 64),
        },
        lambda rng, *numbers: numbers,
    ),
    wrong={
        "holds_nothing": lambda sent, room, length, holds: done(sent, room, length, 0),
        "takes_all": lambda sent, room, length, holds: (True, done(sent, room, length, 0)[1]),
        "no_end": without("length"),
        "no_room": without("room"),
        "full_is_done": lambda sent, room, length, holds: (
            done(sent, room, length, holds)[0],
            min(sent, length) >= room > 0,
        ),
        "swapped": lambda sent, room, length, holds: done(sent, room, length, holds)[::-1],
        "together": lambda sent, room, length, holds: (
            all(done(sent, room, length, holds)),
            all(done(sent, room, length, holds)),
        ),
    },
    outputs=("send", "receive"),
    forbidden=LIBRARIES,
)

EXERCISES = [run_job, add_tlast, who_is_done]
