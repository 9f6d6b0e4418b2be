"""The exercises of lesson the_network_on_the_board: a job, `last`, who is done, what differs."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from labkit.checks.items import Case
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.fpga.board import designs
from labkit.fpga.board.design import Design
from labkit.fpga.board_exercise import board_exercise
from labkit.fpga.given_modules import NEGATIVE
from labkit.fpga.library import library
from labkit.fpga.rtl_exercise import Drive, rtl_exercise
from labkit.fpga.simulate import Simulation
from labkit_lessons.fpga.the_network_on_the_board import solutions
from labkit_lessons.fpga.the_network_on_the_board.wrong import what_differs as wrong_counts

# --- fpga.run_job

WORDS = 5  # of an image's result


@cache
def small_accelerator(beats: int) -> Design:
    """The registers and streams of the lesson's; an image has so many words, which are added."""
    bench = Path(__file__).with_name("small_accelerator.sv")
    # As `designs.convnet` has them: the same names at the same offsets.
    registers = designs.convnet().registers
    source = [bench, *library("control_registers", "job_control")]
    return Design(source, "accelerator", {"BEATS": beats}, registers, engine="cxxrtl")


def job(rng: np.random.Generator, images: int, beats: int) -> tuple[np.ndarray, int]:
    """The words of a job, and how many images it has."""
    return rng.integers(2**63, size=images * beats, dtype="u8"), images


def results(words: np.ndarray, images: int) -> np.ndarray:
    """The sum of an image's words in two halves, times 1, 2, 3, 4 and 5."""
    sums = words.reshape(images, -1).sum(axis=1, dtype="u8")
    halves = np.stack([sums, sums >> 32], axis=1).astype("u4")
    factors = np.arange(1, WORDS + 1, dtype="u4")
    return (halves[:, None] * factors[:, None]).reshape(images, 2 * WORDS).view("i4")


def of_other_images(words: np.ndarray, images: int) -> bool:
    """Whether a job of three images came before; that is so before one of a single large image."""
    return images == 1 < len(words)


def kept_number(words: np.ndarray, images: int) -> np.ndarray:
    """As if a job of one image left IMAGES as it is: it ends with a word of zeros."""
    return results(words, images) * (not of_other_images(words, images))


def first_image(words: np.ndarray, images: int) -> np.ndarray:
    """As if only one image came: the rest stays 0."""
    found = kept_number(words, images)
    found[1:] = 0
    return found


def halves_swapped(words: np.ndarray, images: int) -> np.ndarray:
    """The upper half of each word first."""
    return results(words, images).reshape(-1, 2)[:, ::-1].reshape(images, 2 * WORDS)


def after_a_job(overlay: Any, words: np.ndarray, images: int) -> None:
    """The job that came before has left the number of its images."""
    if of_other_images(words, images):
        overlay.accelerator_0.register_map.IMAGES = 3


run_job = board_exercise(
    "fpga.run_job",
    design=lambda words, images: small_accelerator(len(words) // images),
    given=lambda overlay: (overlay.accelerator_0, overlay.axi_dma_0),
    before=after_a_job,
    solution=solutions.run_job,
    oracle=results,
    cases=cases_of(
        {"one image": (1, 1), "two": (2, 1), "prime": (7, 1), "ragged": (33, 3), "many": (100, 1)}
        | {"one large image": (1, 3)},
        job,
    ),
    wrong={
        "first_image": first_image,
        "kept_number": kept_number,
        "halves_swapped": halves_swapped,
        "transposed": lambda words, images: results(words, images).reshape(2 * WORDS, images).T,
        "floats": lambda words, images: results(words, images).view("f4"),
    },
    forbidden=(*LIBRARIES, "labkit.fpga.board.convnet_overlay"),
)

# --- fpga.add_tlast


def pixels(rng: np.random.Generator, n: int, length: int) -> tuple[np.ndarray, int]:
    """x[n] of all brightnesses, and how many of them are a packet."""
    x = np.resize(rng.permutation(256), n).astype(np.uint8)
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


def with_last(compute: Callable) -> Callable:
    """A wrong idea of where packets end, with the right pixels."""
    return lambda x, length: (packets(x, length)[0], compute(len(x), length))


WRONG = SimpleNamespace(
    never=with_last(lambda n, length: np.zeros(n, int)),
    always=with_last(lambda n, length: np.ones(n, int)),
    one_early=lambda x, length: packets(x, length, -1),
    one_late=lambda x, length: packets(x, length, 1),
    always_8=lambda x, length: packets(x, 8),
    eight_bits=with_last(
        lambda n, length: (np.arange(1, n + 1) % length == 0).astype(int) * (length <= 256)
    ),
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
        {"one byte": (1, 1), "two": (2, 1), "prime": (11, 3), "ragged": (20, 8)}
        | {"one packet": (23, 23), "many": (61, 5), "a long packet": (3000, 2999)},
        pixels,
    ),
    oracle=packets,
    wrong=vars(WRONG),
    outputs=("out_data", "out_last"),
    cycles=lambda x, length: len(x) + 2,
    keeps=1,
    gates={"ff": 48, "lut": 80, "dsp": 0},
    gate_parameters={"LENGTH": 2999},
)

# --- fpga.who_is_done


def programs(
    rng: np.random.Generator, count: int, length: int, holds: int
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """So many programs, whose numbers lie around the limits; none is there twice."""
    middle = count // 2
    room = length - middle + rng.permutation(count)
    sent = length + holds - middle + rng.permutation(count)
    if count > 1:
        never = int(room.argmin())
        room[never] = 0
        sent[never] = max(holds, 1)
        small = int(np.where(room == 0, length + count, room).argmin())  # it halts, if any does
        if count > 2:
            both = int(room.argmax())  # two packets, and nobody receives the second one
            room[both] = sent[both] = 2 * length
        full = length + holds  # as much as the circuit could take
        sent[sent == full] = sent[small]
        sent[small] = full
    return sent, room, length, holds


def done(sent: np.ndarray, room: np.ndarray, length: int, holds: int) -> tuple:
    """Whether each channel gets done."""
    handed_over = np.minimum(np.minimum(sent, room), length)
    return sent <= handed_over + holds, handed_over == length


def no_end(sent: np.ndarray, room: np.ndarray, length: int, holds: int) -> tuple:
    """As if the receive channel went on behind `last`."""
    handed_over = np.minimum(sent, room)
    return sent <= handed_over + holds, handed_over >= length


def no_room(sent: np.ndarray, room: np.ndarray, length: int, holds: int) -> tuple:
    """As if each buffer were large enough."""
    return done(sent, sent + length, length, holds)


def packets_received(sent: np.ndarray, room: np.ndarray, length: int, holds: int) -> tuple:
    """As if one transfer received as many packets as its buffer has room for."""
    reached = np.minimum(sent, room)
    handed_over = np.where(reached < length, reached, reached // length * length)
    return sent <= handed_over + holds, reached >= length


def with_receive(compute: Callable) -> Callable:
    """A wrong idea of the receive channel."""
    return lambda sent, room, length, holds: (
        done(sent, room, length, holds)[0],
        compute(sent, room, length),
    )


def together(sent: np.ndarray, room: np.ndarray, length: int, holds: int) -> tuple:
    """As if both channels ended together."""
    both = np.logical_and(*done(sent, room, length, holds))
    return both, both


CIRCUITS = {  # how many programs, bytes of a packet, bytes that the circuit holds
    "prime": (7, 11, 2),
    "one program": (1, 8, 1),
    "two": (2, 9, 1),
    "nothing held": (7, 30, 0),
    "a long packet": (20, 3072, 64),
    "many": (33, 100, 16),
}
FIRST_CIRCUIT = {}  # programs -> length and holds in the first such case
for count, *circuit in CIRCUITS.values():
    FIRST_CIRCUIT.setdefault(count, circuit)

who_is_done = exercise(
    "fpga.who_is_done",
    oracle=done,
    cases=cases_of(CIRCUITS, programs),
    wrong={
        "holds_nothing": lambda sent, room, length, holds: done(sent, room, length, 0),
        "takes_all": lambda sent, room, length, holds: (
            np.ones(len(sent), bool),
            done(sent, room, length, holds)[1],
        ),
        "same_circuit": lambda sent, room, *_: done(sent, room, *FIRST_CIRCUIT[len(sent)]),
        "holds_less": lambda sent, room, length, holds: done(sent, room, length, holds - 1),
        "always_1": lambda sent, room, length, holds: done(sent, room, length, 1),
        "always_8": lambda sent, room, length, holds: done(sent, room, 8, holds),
        "turned_round": lambda *given: tuple(np.logical_not(one) for one in done(*given)),
        "no_end": no_end,
        "packets_received": packets_received,
        "no_room": no_room,
        "sent_is_length": with_receive(
            lambda sent, room, length: (sent == length) & (room >= length)
        ),
        "room_alone": with_receive(lambda sent, room, length: room >= length),
        "with_what_is_held": lambda sent, room, length, holds: (
            done(sent, room, length, holds)[0],
            np.minimum(sent, room) + holds >= length,
        ),
        "full_is_done": with_receive(lambda sent, room, length: np.minimum(sent, length) >= room),
        "swapped": lambda sent, room, length, holds: done(sent, room, length, holds)[::-1],
        "together": together,
    },
    outputs=("send", "receive"),
    dtype="any",
    forbidden=LIBRARIES,
)

# --- fpga.what_differs


def photographs(
    rng: np.random.Generator, n: int, labels: int, several_largest: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """right[n,labels] and got[n,labels]: row by row another difference, in an order by chance."""
    right = rng.choice(18_000, (n, labels), replace=False).astype("i4") - 9000
    got = right.copy()
    largest = right.argmax(axis=1)
    smallest = right.argmin(axis=1)
    for row, kind in enumerate(rng.permutation(n) % 5):
        if kind == 1:  # another number, and nothing else
            got[row, smallest[row]] -= 20_000
        elif kind == 2:  # many wrong numbers, whose sum is right, with the same label
            got[row, largest[row]] += 20_000 * (labels - 1)
            got[row, np.arange(labels) != largest[row]] -= 20_000
        elif kind == 3:  # the same numbers in other places
            got[row] = np.roll(right[row], 1)
        elif kind == 4:  # all signs turned round
            got[row] = -right[row] - 60_000 * (labels == 1)
        if several_largest and kind == 0:  # a second largest number before or behind the largest
            got[row, (largest[row] + labels // 2) % labels] = right[row, largest[row]]
    return right, got


def equal_photographs(
    rng: np.random.Generator, n: int, labels: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nothing differs."""
    right, _ = photographs(rng, n, labels)
    return right, right.copy()


def differing(rng: np.random.Generator) -> Iterable[Case]:
    """The cases, one of them again at the end."""
    sizes = {"one photograph": (1, 1), "two": (2, 10), "prime": (7, 3), "twenty": (20, 10)}
    sizes |= {"many": (33, 5), "two again": (2, 10)}
    yield Case("no difference", equal_photographs(rng, 5, 10))
    yield Case("equal largest numbers", photographs(rng, 35, 10, several_largest=True))
    for name, (n, labels) in sizes.items():
        yield Case(name, photographs(rng, n, labels))


what_differs = exercise(
    "fpga.what_differs",
    oracle=wrong_counts.counts,
    cases=differing,
    wrong=wrong_counts.WRONG,
    outputs=("wrong_number", "other_label"),
    dtype="any",
    rtol=0.0,
    atol=0.0,
    forbidden=LIBRARIES,
    general_causes=False,
)

EXERCISES = [run_job, add_tlast, who_is_done, what_differs]
