"""Seals: what the two ends of a connection say, and nobody in between has changed.

    ours, theirs = Seals(key, calls=True), Seals(key, calls=False)    # at its two ends
    seal = ours.seal(frame)           # travels behind the frame
    theirs.check(frame, seal)         # raises ForgedError

A seal is HMAC-SHA256(key, who speaks, the frame's number, the frame). So a frame that somebody has
written, altered, left out, repeated, moved, or turned back to who sent it has a wrong one. Whoever
stands in between can still read all frames, keep them back, and end the connection.
"""

import hmac

SEAL = 32  # bytes of HMAC-SHA256
NUMBER = 8  # bytes


class ForgedError(ConnectionError):
    """What came is not what the other end has sent next: the connection is of no more use."""


class Seals:
    """One end's: it seals what it says, and checks what it hears.

    key     of this connection alone, which nobody but its two ends knows
    calls   whether this end has called the other one
    """

    def __init__(self, key: bytes, calls: bool) -> None:
        self._key = key
        self._own, self._other = (b"caller", b"listener") if calls else (b"listener", b"caller")
        self._sent = self._received = 0

    def seal(self, frame: bytes) -> bytes:
        """The seal of the frame that is sent next."""
        seal = self._seal(self._own, self._sent, frame)
        self._sent += 1
        return seal

    def check(self, frame: bytes, seal: bytes) -> None:
        """Raises ForgedError unless the other end has sent this frame next."""
        if not hmac.compare_digest(seal, self._seal(self._other, self._received, frame)):
            raise ForgedError("A frame came that the other end has not sent, or not now.")
        self._received += 1

    def _seal(self, speaker: bytes, number: int, frame: bytes) -> bytes:
        made = hmac.new(self._key, speaker + number.to_bytes(NUMBER, "big"), "sha256")
        made.update(frame)
        return made.digest()
