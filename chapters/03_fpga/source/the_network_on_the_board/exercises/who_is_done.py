"""Exercise fpga.who_is_done: which channel gets done, and which one waits for ever.

Dense: every idea is a comparison of the same four numbers.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise


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
            few = int(room.argsort()[2])  # less than a packet, and room for less
            sent[few] = max({*range(1, length)} - {*sent.tolist()})
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


def in_the_room(sent: np.ndarray, room: np.ndarray, length: int, holds: int) -> tuple:
    """As if the buffer had room for what the circuit holds, too."""
    return done(sent, room + holds, length, 0)


def with_send(compute: Callable) -> Callable:
    """A wrong idea of the send channel: one that is done needs something else as well."""

    def idea(sent: np.ndarray, room: np.ndarray, length: int, holds: int) -> tuple:
        send, receive = done(sent, room, length, holds)
        return send & compute(sent, room, length), receive

    return idea


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
        "in_the_room": in_the_room,
        "never_received": with_send(lambda sent, room, length: room > 0),
        "halted": with_send(lambda sent, room, length: (room >= length) | (sent <= room)),
        "either": with_receive(lambda sent, room, length: (sent >= length) | (room >= length)),
        "by_sent": with_receive(lambda sent, room, length: sent >= length),
        "at_the_end": with_receive(
            lambda sent, room, length: (
                np.minimum(np.minimum(sent, room), length) >= np.minimum(sent, length)
            )
        ),
        "multiples": with_receive(
            lambda sent, room, length: np.minimum(sent, room) % length + (room == 0) == 0
        ),
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
