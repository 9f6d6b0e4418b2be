"""What went over a board's bus and streams: a list of events, the latest of them only."""

from collections import deque
from dataclasses import dataclass

MOST_EVENTS = 10_000


@dataclass(frozen=True)
class Event:
    """Something that happened, at a clock cycle since the design was loaded.

    where   "accelerator_0", "send channel" or "receive channel"
    kind    "read" and "write" of a register; "starts", "ends" and "halts" of a transfer
    what    in words: "0x08 = 20", "400 bytes at 0x18000000" and so on
    """

    cycle: int
    where: str
    kind: str
    what: str


class Traffic:
    """The latest events, the oldest first."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=MOST_EVENTS)

    def note(self, cycle: int, where: str, kind: str, what: str) -> None:
        """Adds an event."""
        self._events.append(Event(cycle, where, kind, what))

    def clear(self) -> None:
        """Forgets all events."""
        self._events.clear()

    def events(self) -> list[Event]:
        """All that are still known."""
        return list(self._events)
