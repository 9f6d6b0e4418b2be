"""The line of one rank process to the referee: it posts, waits, and asks."""

import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from multiprocessing.connection import Connection
from traceback import walk_stack
from types import CodeType
from typing import Any

from labkit.checks.watch.clock import Clock
from labkit.checks.watch.source import line_of, origin
from labkit.distributed.judging.posts import Ask, Done, Post, Wait, Where


class RefereeLine:
    """One for each process; only its main thread may use it.

    clock     of the check: what a rank waits for is not charged to it
    boundary  the code that calls the learner's function
    """

    def __init__(self, rank: int, ranks: int, talk: Connection, boundary: CodeType) -> None:
        self.rank = rank
        self.ranks = ranks
        self.clock: Clock | None = None
        self._talk = talk
        self._boundary = boundary
        self._open: dict[int, Post] = {}
        self._posted = 0

    def post(self, kind: str, name: str, **about: Any) -> int:
        """Begins an operation; returns its number."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError(
                "In a check, only a rank's main thread sends and receives; use async_op=True."
            )
        with self._undisturbed():
            self._posted += 1
            post = Post(self._posted, kind, name, self._where(), **about)
            self._open[post.number] = post
            self._talk.send(post)
        return self._posted

    def wait(self, number: int) -> Done:
        """Returns when the operation is done."""
        with self._undisturbed():
            self._talk.send(Wait(number, self._where()))
            done = self._talk.recv()
            del self._open[number]
        return done

    def test(self, number: int) -> bool:
        """Whether it is done."""
        with self._undisturbed():
            self._talk.send(Ask(number, self._where()))
            return self._talk.recv()

    @property
    def left(self) -> tuple[Post, ...]:
        """What was begun, and never waited for; without its bytes."""
        return tuple(replace(post, data=b"") for post in self._open.values())

    def _undisturbed(self) -> AbstractContextManager:
        return self.clock.paused() if self.clock is not None else nullcontext()

    def _where(self) -> Where:
        """The learner's line that is about to wait, and what it calls."""
        called = ""
        for frame, number in walk_stack(sys._getframe(2)):
            if frame.f_code is self._boundary:
                break
            if origin(frame.f_code, frame.f_globals) == "learner":
                return Where(line_of(frame.f_code, number), called)
            called = frame.f_code.co_name
        return Where(None, called)
