"""What is asked of a module in a proof: assumptions on its inputs, assertions on its outputs.

A SystemVerilog module around the learner's one. In the first cycle it holds the reset, and
afterwards anything may come in, with one exception: who offers a word keeps it until it is taken.
"""

from collections.abc import Iterator

from labkit.fpga.errors import RTLError
from labkit.fpga.ports import CLOCK, RESET, Ports
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain.around import instance, wrapped

BENCH = "proof"
PROPERTIES = "properties.sv"  # the name of the learner's text in messages


def bench(
    sources: Sources, ports: Ports, parameters: dict[str, int] | None, properties: str
) -> Sources:
    """The sources with the module that asks: valid and data hold until ready, and `properties`.

    Raises RTLError for a module that has no stream out where there are no properties either.
    """
    if not ports.streams_out and not properties.strip():
        raise RTLError(
            f"There is nothing to prove of {ports.top}: it gives no stream (ports NAME_valid, "
            "NAME_ready and NAME_data), and no property is asked for."
        )
    lines = ["`default_nettype none", f"module {BENCH} ("]
    lines.append(",\n".join(_declarations(ports)))
    lines += [");", instance(ports, parameters, {})]
    lines += ["    logic started = 0;", f"    always_ff @(posedge {CLOCK}) started <= 1;"]
    if RESET in ports:
        lines.append(f"    always_comb assume ({RESET} == !started);")
    for stream in (*ports.streams_in, *ports.streams_out):
        lines += _waiting(ports, stream)
    for stream in ports.streams_in:
        lines += [f"    always_comb if ({stream}_waits) assume ({_held(ports, stream)});"]
    for stream in ports.streams_out:
        lines += _asserted(ports, stream)
    lines += _asked(properties)
    lines += ["endmodule", ""]
    return wrapped(sources, BENCH, "\n".join(lines))


def words_of(ports: Ports, stream: str) -> list[str]:
    """The ports that must hold while a word waits, beside valid: data, and last if there is one."""
    return [f"{stream}_data"] + [name for name in (f"{stream}_last",) if name in ports]


def _declarations(ports: Ports) -> Iterator[str]:
    if CLOCK not in ports:
        yield f"    input logic {CLOCK}"
    for port in ports.all:
        yield f"    {'input' if port.is_input else 'output'} logic [{port.width - 1}:0] {port.name}"


def _waiting(ports: Ports, stream: str) -> Iterator[str]:
    """Registers that say whether a word waited at the last clock edge, and which."""
    yield f"    logic {stream}_waits = 0;"
    running = f" && !{RESET}" if RESET in ports else ""
    edge = f"    always_ff @(posedge {CLOCK})"
    yield f"{edge} {stream}_waits <= {stream}_valid && !{stream}_ready{running};"
    for word in words_of(ports, stream):
        yield f"    logic [{ports[word].width - 1}:0] {word}_before;"
        yield f"{edge} {word}_before <= {word};"


def _held(ports: Ports, stream: str) -> str:
    same = [f"{word} == {word}_before" for word in words_of(ports, stream)]
    return " && ".join([f"{stream}_valid", *same])


def _asserted(ports: Ports, stream: str) -> Iterator[str]:
    """Valid and data hold; and that a word waits, and that one moves, must be possible at all.

    All is checked at clock edges, as the learner's statements are, so that an assumption among
    these holds in the cycle that is judged.
    """
    edge = f"    always_ff @(posedge {CLOCK})"
    yield f"{edge} if ({stream}_waits) begin"
    yield f"        {stream}_valid_holds: assert ({stream}_valid);"
    for word in words_of(ports, stream):
        yield f"        {word}_holds: assert (!{stream}_valid || {word} == {word}_before);"
    yield f"        {stream}_can_wait: cover (1);"
    yield "    end"
    yield f"{edge} if (started && {stream}_valid && {stream}_ready) {stream}_can_move: cover (1);"


def _asked(properties: str) -> Iterator[str]:
    """The learner's statements, checked at each clock edge after the first.

    What follows counts as theirs, so that a bracket left open is found in their last line.
    """
    yield f"    always_ff @(posedge {CLOCK}) if (started) begin"
    yield f'`line 1 "{PROPERTIES}" 1'
    yield properties
    yield "        can_run: cover (1);"
    yield "    end"
