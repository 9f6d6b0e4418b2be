"""What runs in each rank process of a check: the learner's function, watched, among other ranks.

The guard and the clock are those of any check (labkit.checks.watch), in this process: what the
exercise forbids is found here, and a function that does not return is ended by its own work, or
since it waits for something that is no rank. For ranks it waits as long as the referee lets it.
"""

import copy
import faulthandler
import linecache
import os
import pickle
import resource
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from traceback import walk_stack, walk_tb
from types import FrameType, SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import torch

from labkit.checks.watch import Hit
from labkit.checks.watch.clock import Clock, importing
from labkit.checks.watch.escapes import IN_A_RANK
from labkit.checks.watch.guard import Guard
from labkit.checks.watch.leftovers import PROCESS, THREAD, Leftovers
from labkit.checks.watch.memory import limited_memory
from labkit.checks.watch.source import Line, learner_line
from labkit.distributed.connections.tensor_bytes import bytes_of
from labkit.distributed.gradients import asynchronous
from labkit.distributed.judging.carried_in_turn import CarriedInTurn
from labkit.distributed.judging.posts import Ended, Raised, Unfit
from labkit.distributed.judging.referee_line import RefereeLine
from labkit.distributed.judging.refereed_torch import FUNCTIONS, install
from labkit.distributed.launching.rank import end_with, lead_group, speak_through

MOST_MESSAGE = 2_000  # characters of an exception's text
WHOLE = ("torch", "torch.distributed", "torch.distributed.distributed_c10d")


@dataclass(frozen=True)
class RefereedJob:
    """What one rank of a case is to do.

    call         the learner's function, those that may call anything, what turns the inputs into
                 its arguments, and the course's answer; pickled by cloudpickle
    inputs       of this rank alone, pickled; of each call, where there are several
    rank, ranks  which one it is, of how many
    in_place     the function may change its inputs; if it returns None, the first one is its result
    forbidden    what the exercise forbids
    answers      modules that hold the course's answers
    sources      lines of the files that only the checking process has: a notebook's cells
    environment  the environment's variables
    """

    call: bytes
    inputs: tuple[bytes, ...]
    rank: int
    ranks: int
    in_place: bool
    forbidden: tuple[str, ...]
    answers: tuple[str, ...]
    sources: dict[str, list[str]]
    environment: dict[str, str]


def run_refereed(
    job: RefereedJob, talk: Connection, output: Connection, lifeline: Connection
) -> None:
    """The life of a rank: it calls the function, and tells the referee how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the checking process ends the ranks
    lead_group()
    os.environ.clear()
    os.environ.update(job.environment)
    speak_through(output)
    faulthandler.enable(file=sys.stderr)
    watch = threading.Thread(target=end_with, args=(lifeline,), daemon=True)
    watch.start()
    for file, lines in job.sources.items():
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    torch.set_num_threads(1)
    line = RefereeLine(job.rank, job.ranks, talk, _call.__code__)
    install(line)
    asynchronous.CommunicationThread = CarriedInTurn
    ended = _ended(job, line)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # the function may have taken or closed it
            stream.flush()
    talk.send(ended)
    watch.join()


def _ended(job: RefereedJob, line: RefereeLine) -> Ended:
    try:
        function, (free, given, own) = cloudpickle.loads(job.call)
        calls = [_arguments(one, given) for one in job.inputs]
    except Exception as error:
        return Ended(raised=Raised(type(error).__name__, _text(error), None))
    first, value = _called(Watched(job, line, free, own), function, calls[0], job.in_place)
    if first.value is None or first.hit is not None:
        return first
    for inputs in calls[1:]:
        again, _ = _called(Watched(job, line, free, own), function, inputs, job.in_place)
        if again.value is None or again.hit is not None:
            return again
        changed = again.changed if first.changed is None else first.changed
        values = (*first.again, again.value)
        behind = first.behind or again.behind
        first = replace(first, changed=changed, left=again.left, behind=behind, again=values)
    return replace(first, after=pickle.dumps(plain(value)))  # a later call may have written into it


def _arguments(inputs: bytes, given: Callable[..., tuple] | None) -> tuple:
    """What the function gets behind rank and ranks."""
    made = tensors(pickle.loads(inputs))
    return made if given is None else tuple(given(*made))


def _called(
    watched: "Watched", function: Callable, inputs: tuple, in_place: bool
) -> tuple[Ended, object]:
    """How one call ended, and what it returned."""
    before = copy.deepcopy(inputs)
    watched.run(function, inputs)
    hit, left = watched.guard.hit, watched.line.left
    if watched.clock.expired:
        return Ended(endless=watched.place or True, idle=watched.clock.idle, hit=hit), None
    if watched.error is not None:
        raised = Raised(type(watched.error).__name__, _text(watched.error), watched.place)
        return Ended(raised=raised, hit=hit, left=left), None
    value, changed = watched.value, first_changed(before, inputs)
    untouched = value is None and changed is None
    if in_place:
        value, changed = inputs[0] if value is None else value, None
    ended = Ended(pickle.dumps(plain(value)), untouched, hit=hit, changed=changed, left=left)
    return replace(ended, behind=watched.behind), value


class Watched:
    """One call of the learner's function under guard and clock.

    free   functions that may call anything; own: the course's answer, which it may not call
    """

    def __init__(
        self,
        job: RefereedJob,
        line: RefereeLine,
        free: tuple[Callable, ...],
        own: Callable | None,
    ) -> None:
        self.rank, self.ranks = job.rank, job.ranks
        self.line = line
        self.value: object = None
        self.error: BaseException | None = None
        self.place: Line | None = None
        self.behind: tuple[str, str] | None = None
        self.clock = Clock(adapted=True)
        exercise = SimpleNamespace(
            forbidden=_with_all(job.forbidden), oracle=None, fallback=own, adapter=None
        )
        codes = {id(one.__code__) for one in free if hasattr(one, "__code__")}
        self.guard = Guard(exercise, job.answers, frozenset(codes), IN_A_RANK)

    def run(self, function: Callable, inputs: tuple) -> None:
        """Calls it; `value`, or `error` and `place`, say what came of it."""
        self.guard.inspect(function)
        self.line.clock = self.clock

        def job() -> None:
            with self.guard.profile(_call.__code__):
                _call(self, function, inputs)

        before = Leftovers(processes=True)
        aside = warnings.catch_warnings(), self._no_files(), limited_memory(1 / self.ranks)
        with self.guard.stand_ins(), aside[0], aside[1], aside[2]:
            warnings.simplefilter("ignore")
            self.clock.run(job)
        # The rest of this process needs its modules, and its processor.
        behind = before.clear([] if self.clock.expired else self.guard.threads)
        self.behind = behind if behind and behind[0] in (THREAD, PROCESS) else None
        self.line.clock = None

    @contextmanager
    def _no_files(self) -> Iterator[None]:
        """Within the block every file stays empty, and who writes to one is told so.

        A package may try, while it is imported: it goes without.
        """

        def note(_: int, frame: FrameType | None) -> None:
            if self.guard.hit is None and not importing(frame):
                line = learner_line(walk_stack(frame))
                self.guard.hit = Hit("file", "", line)

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, note)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, handler)
            if self.guard.hit == Hit("file", "", None):  # noted when its error was on the way out
                self.guard.hit = Hit("file", "", self.place)


def _call(watched: Watched, function: Callable, inputs: tuple) -> None:
    """The boundary between the course's code and the learner's."""
    try:
        watched.clock.start()
        watched.value = function(watched.rank, watched.ranks, *inputs)
        watched.clock.armed = False
    except BaseException as error:  # the learner's function may raise anything
        watched.clock.armed = False
        watched.error = error
        place = learner_line(reversed([*walk_tb(error.__traceback__)]))
        watched.place = place or watched.clock.place
    watched.clock.stop()


def _with_all(forbidden: tuple[str, ...]) -> tuple[str, ...]:
    """Where all of torch.distributed is forbidden, so are the functions in its place."""
    if not set(WHOLE) & set(forbidden):
        return forbidden
    names = [f"torch.distributed.{function.__name__}" for function in FUNCTIONS]
    return (*forbidden, *names)


def _text(error: BaseException) -> str:
    try:
        return str(error)[:MOST_MESSAGE]
    except Exception:  # an exception class of the learner's own
        return ""


# Inputs and results.


def tensors(value: Any) -> Any:
    """The same with a tensor in the place of each NumPy array."""
    if type(value) is np.ndarray:
        return torch.from_numpy(value.copy())
    if type(value) in (tuple, list):
        return type(value)(map(tensors, value))
    if type(value) is dict:
        return {key: tensors(one) for key, one in value.items()}
    return value


def plain(value: Any) -> Any:
    """The same with a NumPy array in the place of each tensor; what is no number, by its type."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype in (torch.bfloat16, torch.float16):
            value = value.float()
        return np.array(value.numpy())
    if type(value) in (tuple, list):
        return type(value)(map(plain, value))
    if value is None or type(value) in (bool, int, float):
        return value
    if isinstance(value, int | float | np.generic):  # of a class of its own, perhaps
        value = np.array(value)
    if type(value) is np.ndarray and value.dtype.kind in "biufc":
        return value
    return Unfit(type(value).__name__)


def first_changed(before: tuple, after: tuple) -> int | None:
    """The place of the first input that is not what it was."""
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        if changed_at_all(old, new):
            return place
    return None


def changed_at_all(old: Any, new: Any) -> bool:
    """Whether a tensor, or one in plain containers, has changed bit by bit. Others count not."""
    if isinstance(old, torch.Tensor):
        return old.shape != new.shape or bytes_of(old) != bytes_of(new)
    if isinstance(old, list | tuple):
        return len(old) != len(new) or any(map(changed_at_all, old, new))
    if isinstance(old, dict):
        return old.keys() != new.keys() or any(changed_at_all(old[k], new[k]) for k in old)
    return False
