"""A session: looks on at launches, watches the first of each kind, and keeps what they show."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from numba_simt.errors import KernelError
from numba_simt.execution.machine import Outcome, TooLong
from numba_simt.launching import dispatcher
from numba_simt.launching.dispatcher import LaunchConfiguration
from numba_simt.watching.findings import Finding, Launch, finding_of

WATCHED = 3  # launches of each kernel, types of arguments, grid and block
# After so much `--fast` gives up a watched launch, about a second: instructions in loops, and for
# each block that begins 64, and the bytes of half of a warp's local memory.
FAST = 1_000_000


@dataclass
class KernelRecord:
    """What became of a kernel's launches."""

    name: str
    file: str
    line: int
    watched: int = 0
    in_part: int = 0  # watched at first, and then run again plain, as that took too long
    plain: int = 0
    too_large: int = 0  # of the plain ones: those that took too much memory to be watched
    shapes: int = 0
    unwatched: set[str] = field(default_factory=set)  # arrays too large to be watched
    lines: dict[tuple[str, int], Counter] = field(default_factory=dict)
    total: Counter = field(default_factory=Counter)

    def count(self, outcome: Outcome) -> None:
        """Adds the counters of a watched launch."""
        for place, counts in outcome.by_line.items():
            self.lines.setdefault(place, Counter()).update(counts)
        self.total.update(outcome.counters)


@dataclass
class _Shape:
    """Launches that are alike; it keeps the program alive, by whose identity it is found."""

    launch: Launch
    record: KernelRecord
    left: int  # launches that are still to be watched


@dataclass
class Refusal:
    """A launch that the machine refused, or a kernel that it could not compile."""

    kernel: str
    file: str
    line: int
    text: str
    sentence: str
    count: int = 1


class Session:
    """Watches the launches of a script or a test: `with session.looking_on(): ...`.

    `launches`: how many of each kernel, types, grid and block are watched. `fast`: a watched
    launch that takes too long is begun again, plain. `keep_counters`: by kernel and line.
    """

    def __init__(
        self, launches: int = WATCHED, fast: bool = False, keep_counters: bool = False
    ) -> None:
        self.launches = launches
        self.fast = fast
        self.keep_counters = keep_counters
        self.findings: dict[tuple, Finding] = {}
        self.refusals: dict[tuple, Refusal] = {}
        self.kernels: dict[tuple, KernelRecord] = {}
        self.refused_last: KernelError | None = None
        self.interrupted = ""  # the launch that Ctrl-C ended
        self._shapes: dict[tuple, _Shape] = {}

    @contextmanager
    def looking_on(self) -> Iterator["Session"]:
        """All launches of this process come here."""
        before, dispatcher.onlooker = dispatcher.onlooker, self.run
        try:
            yield self
        finally:
            dispatcher.onlooker = before

    def run(self, configuration: LaunchConfiguration, arguments: tuple) -> Outcome:
        """One launch; raises what it raises, after noting it."""
        try:
            program, given = configuration.prepare(arguments)
        except KernelError as error:
            self.note_refusal(error, configuration.kernel.py_func)
            raise
        key = id(program), configuration.grid, configuration.block
        shape = self._shapes.get(key)
        if shape is None:
            launch = Launch(program, configuration.grid, configuration.block)
            shape = self._shapes[key] = self._new_shape(launch)
        try:
            if shape.left > 0:
                outcome = self._watched(configuration, shape, program, given)
            else:
                outcome = configuration.execute(program, given)
                shape.record.plain += 1
        except KeyboardInterrupt as stopped:
            self.interrupted = str(shape.launch)
            if outcome := getattr(stopped, "outcome", None):
                self._keep(outcome, shape)
            raise
        if outcome.hazards:
            self._keep(outcome, shape)
        return outcome

    def _new_shape(self, launch: Launch) -> _Shape:
        program = launch.program
        place = program.name, program.filename, program.first_line
        record = self.kernels.setdefault(place, KernelRecord(*place))
        record.shapes += 1
        return _Shape(launch, record, self.launches)

    def _watched(
        self, configuration: LaunchConfiguration, shape: _Shape, program: object, given: list
    ) -> Outcome:
        """A launch that is watched, or plain where that takes too long or too much memory."""
        record = shape.record
        shape.left -= 1
        most = FAST if self.fast else None
        try:
            outcome = configuration.execute(program, given, watch=True, partly=True, most=most)
        except (TooLong, MemoryError) as gone:
            shape.left = 0
            if isinstance(gone, TooLong):
                self._keep(gone.outcome, shape)
                record.in_part += 1
            else:
                record.plain += 1
                record.too_large += 1
            return configuration.execute(program, given)
        record.watched += 1
        record.unwatched |= set(outcome.unwatched)
        if self.keep_counters:
            record.count(outcome)
        return outcome

    def _keep(self, outcome: Outcome, shape: _Shape) -> None:
        """Takes in the hazards of a launch; those alike are one finding."""
        fresh: dict[tuple, Finding] = {}
        for hazard in outcome.hazards:
            one = finding_of(hazard, shape.launch)
            if one.same_as() in fresh:
                one.launches = 0
                fresh[one.same_as()].add(one)
            else:
                fresh[one.same_as()] = one
        for one in fresh.values():
            self.add(one)

    def add(self, finding: Finding) -> None:
        """Takes in a finding, which may be known."""
        known = self.findings.setdefault(finding.same_as(), finding)
        if known is not finding:
            known.add(finding)

    def note_refusal(
        self, error: KernelError, function: object = None, place: tuple[str, int] = ("", 0)
    ) -> None:
        """Keeps what was refused, once for each place: in a function, or at a place."""
        self.refused_last = error
        code = getattr(function, "__code__", None)
        sentence = str(error)
        named = re.match(r"line (\d+): `(.*?)`: ", sentence, re.DOTALL)
        line, text = (int(named[1]), named[2]) if named else (0, "")
        refusal = Refusal(
            kernel=getattr(function, "__name__", ""),
            file=getattr(error, "filename", "") or (code.co_filename if code else place[0]),
            line=line or (code.co_firstlineno if code else place[1]),
            text=text,
            sentence=sentence[named.end() :] if named else sentence,
        )
        kept = self.refusals.setdefault((refusal.file, refusal.line, sentence), refusal)
        if kept is not refusal:
            kept.count += 1
