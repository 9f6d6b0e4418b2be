"""Which inputs and streams a module has, and whether a caller of `simulate` names just these."""

from collections.abc import Mapping, Sequence

from labkit.fpga.errors import RTLError
from labkit.fpga.ports import CLOCK, RESET, Port, Ports


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
