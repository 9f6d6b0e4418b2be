"""From what a caller of `simulate` passes to what the driver wants: a job, with its arrays.

Everything is checked here: that each input is given, each name is known, and each value fits.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from labkit.fpga import arguments
from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import to_limbs, words_of_32
from labkit.fpga.ports import (
    CLOCK,
    RESET,
    Port,
    Ports,
)
from labkit.fpga.running.stalls import Stalls, checked, pattern
from labkit.fpga.running.traces import rows_that_fit
from labkit.fpga.toolchain.models import Model

# Which inputs and streams a module has, and whether a caller of `simulate` names just these.


def plain_inputs(ports: Ports, inputs: Mapping[str, object]) -> list[Port]:
    """The inputs that belong to no stream; the reset only where the caller drives it."""
    streams = ports.of_streams()
    ours = {RESET} - set(inputs)
    return [port for port in ports.inputs if port.name not in streams | ours]


def check_names(ports: Ports, inputs: Mapping[str, object], stalls: Mapping[str, object]) -> None:
    """Raises RTLError for an input without a value, or a name that the module does not have."""
    _check_streams(ports)
    plain = [port.name for port in plain_inputs(ports, inputs)]
    lasts = [f"{name}_last" for name in ports.streams_in if f"{name}_last" in ports]
    for name in inputs:
        if name not in [*ports.streams_in, *plain, *lasts]:
            raise RTLError(
                f"{ports.top} has no input {name!r}; it has {listed(ports.streams_in, plain)}. A "
                f"stream {name} would have the ports {name}_valid, {name}_ready and {name}_data."
            )
    for name in [*ports.streams_in, *plain]:
        if name not in inputs:
            hint = f" (Is it the clock? Ours is called {CLOCK}.)" if "cl" in name.lower() else ""
            raise RTLError(f"The input {name} of {ports.top} gets no value: give it one.{hint}")
    for name in stalls:
        if name not in ports.streams_in + ports.streams_out:
            streams = listed(ports.streams_in + ports.streams_out)
            raise RTLError(f"{ports.top} has no stream {name!r} to stall; it has {streams}.")


def _check_streams(ports: Ports) -> None:
    """Raises RTLError for a stream of which a port points the wrong way."""
    for name in ports.streams_in + ports.streams_out:
        inwards = ports[f"{name}_data"].is_input
        if ports[f"{name}_valid"].is_input != inwards or ports[f"{name}_ready"].is_input == inwards:
            raise RTLError(
                f"The ports of the stream {name} of {ports.top} point in directions that do not "
                f"fit: {name}_valid goes with {name}_data, and {name}_ready the other way."
            )


def listed(streams: list[str], plain: Sequence[str] = ()) -> str:
    """Streams and further ports in a sentence."""
    named = [f"the stream {name}" for name in streams]
    return ", ".join([*named, *plain]) or "none"


QUIET = 1000  # cycles without a word moved, after which streams without a stated end are through


class Plan:
    """A job for the driver: numbers, and rows of numbers and arrays, as simulator.py wants them.

    `streams_in`, `streams_out` and `recorded` say what the job's numbers stand for.
    """

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, object],
        words: int | Mapping[str, int] | None,
        cycles: int | None,
        stalls: Stalls | Mapping[str, Sequence[int]] | None,
        limit: int,
        watch: Sequence[str],
        trace: bool,
        again_after: int,
        idle: int,
    ) -> None:
        """The arguments are those of `simulate`; raises RTLError where they do not fit."""
        self.model = model
        self.ports = model.ports
        self.limit = arguments.whole("limit", limit, least=1)
        if cycles is not None:
            cycles = arguments.whole("cycles", cycles, least=0)
        inputs = arguments.mapping("inputs", inputs, '{"x": [1, 2, 3]}')
        watch = arguments.texts("watch", watch, '["count"]')
        self._stalls = checked(stalls)
        self._again_after = again(again_after, self.limit, self.ports, inputs)
        self._idle = arguments.whole("idle", idle, least=0)
        self.streams_in = self.ports.streams_in
        self.streams_out = self.ports.streams_out
        check_names(self.ports, inputs, stalls if isinstance(stalls, Mapping) else {})
        self.offered = {name: self._values(name, inputs) for name in self.streams_in}
        self.wanted = _wanted(self.streams_out, words)
        self.recorded = self._recorded(watch) if trace else []
        plain = [self._plain(port, inputs) for port in plain_inputs(self.ports, inputs)]
        self.job = self._numbers(inputs, cycles, max((row["count"] for row in plain), default=0))
        self.job |= {
            "library": str(model.library),
            "offered": [self._offered(name, inputs) for name in self.streams_in],
            "taken": [self._taken(name) for name in self.streams_out],
            "plain": plain,
            "recorded": [self._record(signal) for signal in self.recorded],
        }

    def _numbers(self, inputs: Mapping[str, object], cycles: int | None, longest: int) -> dict:
        """The numbers of a job; `longest` is the count of values of the longest plain input."""
        if cycles is None and not self.streams_in and not self.streams_out:
            cycles = max(longest, 1)
        return {
            "clock": self.ports.index(CLOCK),
            "reset": -1 if RESET in inputs else self.ports.index(RESET),
            "cycles": -1 if cycles is None else cycles,
            "at_least": longest if longest > 1 else 0,  # a single value is held: it sets no length
            "quiet": QUIET,
            "limit": self.limit if cycles is None else max(self.limit, cycles),
            "rows": rows_that_fit(self.recorded),
            "again_after": self._again_after,
            "idle": self._idle,
        }

    def _values(self, stream: str, inputs: Mapping[str, object]) -> np.ndarray:
        return to_limbs(inputs[stream], self.ports[f"{stream}_data"], f"The stream {stream}")

    def _places(self, stream: str) -> dict[str, int]:
        """Which ports a stream has, by their places, and how many words of 32 bits its data."""
        ends = ("valid", "ready", "data", "last")
        places = {end: self.ports.index(f"{stream}_{end}") for end in ends}
        return {**places, "words": words_of_32(self.ports[f"{stream}_data"])}

    def _stalled(self, stream: str) -> bytes:
        return _bytes(pattern(self._stalls, stream))

    def _offered(self, stream: str, inputs: Mapping[str, object]) -> dict:
        """What a stream in is offered; without its `last`, that is 1 with the last word."""
        values = self.offered[stream]
        lasts = np.zeros(len(values), np.uint8)
        if f"{stream}_last" in inputs:
            lasts[:] = _lasts(inputs[f"{stream}_last"], len(values), stream)
        elif len(values):
            lasts[-1] = 1
        return {
            **self._places(stream),
            "values": _bytes(values),
            "lasts": _bytes(lasts),
            "count": len(values),
            "stalls": self._stalled(stream),
        }

    def _taken(self, stream: str) -> dict:
        wanted = self.wanted.get(stream, -1)
        return {**self._places(stream), "wanted": wanted, "stalls": self._stalled(stream)}

    def _plain(self, port: Port, inputs: Mapping[str, object]) -> dict:
        """The values of an input that belongs to no stream: one that is held, or one a cycle."""
        given = inputs[port.name]
        values = given if np.iterable(given) and not isinstance(given, str) else [given]
        limbs = to_limbs(values, port, f"The input {port.name}")
        if not len(limbs):
            raise RTLError(f"The input {port.name} has no value: give one, or one for each cycle.")
        index, words = self.ports.index(port.name), words_of_32(port)
        return {"port": index, "words": words, "values": _bytes(limbs), "count": len(limbs)}

    def _recorded(self, watch: Sequence[str]) -> list[Port]:
        """All ports but the clock, then the signals inside that are watched."""
        own = [port for port in self.ports.all if port.name != CLOCK]
        return own + [Port(name, False, self.model.width(name), False) for name in watch]

    def _record(self, signal: Port) -> dict:
        index = self.ports.index(signal.name)
        name = signal.name.encode() if index < 0 else None
        return {"name": name, "port": index, "words": words_of_32(signal)}


def _bytes(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _wanted(streams: list[str], words: int | Mapping[str, int] | None) -> dict[str, int]:
    """How many words to wait for on each stream out; raises RTLError for a name not among them."""
    if words is None:
        return {}
    if not isinstance(words, Mapping):
        words = dict.fromkeys(streams, words)
    for name, count in words.items():
        if name not in streams:
            raise RTLError(f"words waits for {name!r}, and the outputs are {listed(streams)}.")
        arguments.whole(f"words, of {name},", count, least=0)
    return dict(words)


def again(cycles: object, limit: int, ports: Ports, inputs: Mapping[str, object]) -> int:
    """The cycles before a second reset; raises RTLError where labkit drives none."""
    cycles = arguments.whole("again_after", cycles, 0, limit)
    if cycles and (RESET in inputs or RESET not in ports):
        raise RTLError(
            f"again_after asks for a second reset, and that needs a port {RESET} which is not "
            "among the inputs."
        )
    return cycles


def _lasts(given: Sequence[int], count: int, stream: str) -> np.ndarray:
    """The `last` of each of `count` words, as bytes; raises RTLError for anything else."""
    row = arguments.bits(f"{stream}_last", given)
    if len(row) != count:
        raise RTLError(f"{stream}_last has {len(row)} values: give one for each of {count} words.")
    return row
