"""What of a trace a waveform shows: some cycles, values as spans, and what was expected."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from labkit.fpga.arguments import shown, wholes
from labkit.fpga.errors import RTLError
from labkit.fpga.running.traces import Trace

MOST_CYCLES = 40


class Span(NamedTuple):
    """A value that a signal has from the cycle `start` to the one before `stop`."""

    start: int
    stop: int
    value: int
    state: str  # "moves", "waits" or "idle" of a stream; "wrong"; else "plain"


class Window:
    """The cycles of a trace that are shown, and what was expected in some of them."""

    def __init__(
        self,
        trace: Mapping[str, Sequence[int]],
        cycles: Iterable[int] | None,
        wrong: Mapping[tuple[str, int], int],
        parts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Raises RTLError for cycles that the trace does not have, and for more than fit.

        parts   stream -> signals that hold a part of its word: {"terms": ["x", "w"]}
        """
        if not isinstance(trace, Mapping):
            raise RTLError(
                f"The trace is {shown(trace)}: it should be that of a run, `simulate(...).trace`."
            )
        self.first = trace.first if isinstance(trace, Trace) else 0
        self._streams = {part: name for name, held in (parts or {}).items() for part in held}
        self._widths = {}
        if isinstance(trace, Trace):
            self._widths = {name: signal.width for name, signal in trace.signals.items()}
        self.values = {name: list(values) for name, values in trace.items()}
        end = self.first + min((len(values) for values in self.values.values()), default=0)
        asked = list(range(self.first, min(self.first + 16, end)))
        if cycles is not None:
            asked = wholes("cycles", cycles, 0)
        if not asked or not self.first <= min(asked) <= max(asked) < end:
            raise RTLError(f"The trace has the cycles {self.first} to {end - 1}: choose from them.")
        self.cycles = range(min(asked), max(asked) + 1)
        if len(self.cycles) > MOST_CYCLES:
            raise RTLError(f"{len(self.cycles)} cycles do not fit: show {MOST_CYCLES} at most.")
        self.wrong = {place: wrong[place] for place in _places(wrong) if place[1] in self.cycles}

    def value(self, name: str, cycle: int) -> int:
        """The value of a signal in a cycle; raises RTLError for a name that is not there."""
        if name not in self.values:
            raise RTLError(f"{name!r} is not in the trace, which has {', '.join(self.values)}.")
        return int(self.values[name][cycle - self.first])

    def is_bit(self, name: str) -> bool:
        """Whether a signal has one bit; by its values, where the trace knows no widths."""
        if name in self._widths:
            return self._widths[name] == 1
        return all(self.value(name, cycle) in (0, 1) for cycle in self.cycles)

    def state(self, name: str, cycle: int) -> str:
        """What a signal does in a cycle, in a word of `Span`."""
        if (name, cycle) in self.wrong:
            return "wrong"
        stream = self._stream(name)
        valid, ready = f"{stream}_valid", f"{stream}_ready"
        if valid not in self.values or ready not in self.values:
            return "plain"
        if not self.value(valid, cycle):
            return "idle"
        return "moves" if self.value(ready, cycle) else "waits"

    def _stream(self, name: str) -> str | None:
        """The stream whose words a signal holds: as `x_data`, as `x_last`, or as a part."""
        for ending in ("_data", "_last"):
            if name.endswith(ending):
                return name.removesuffix(ending)
        return self._streams.get(name)

    def each_cycle(self, name: str) -> list[Span]:
        """The values of a signal, a span for each cycle."""
        return [
            Span(cycle, cycle + 1, self.value(name, cycle), self.state(name, cycle))
            for cycle in self.cycles
        ]

    def spans(self, name: str) -> list[Span]:
        """The values of a signal; each word that moves, and each wrong value, stands alone."""
        spans: list[Span] = []
        for span in self.each_cycle(name):
            last = spans[-1] if spans else None
            stands_alone = span.state in ("moves", "wrong")
            same = last and (last.value == span.value or span.state == "idle")
            if same and last.state == span.state and not stands_alone:
                spans[-1] = last._replace(stop=span.stop)
            else:
                spans.append(span)
        return spans


def _places(wrong: Mapping[tuple[str, int], int]) -> list[tuple[str, int]]:
    """The keys of what was expected; raises RTLError where they name no signal and cycle."""
    keys = list(wrong) if isinstance(wrong, Mapping) else [None]
    if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        raise RTLError(
            f'wrong is {shown(wrong)}: it should be a dict, such as {{("y_data", 3): 5}}.'
        )
    return keys
