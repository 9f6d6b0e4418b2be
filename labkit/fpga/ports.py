"""The ports of a module, as Yosys reads them: names, directions, widths, signs, and streams.

A stream NAME is three or four ports that belong together: NAME_valid, NAME_ready, NAME_data and,
where the end of a packet matters, NAME_last. A word moves in each cycle in which valid and ready
are both 1 (lesson a_multiply_accumulate_array).
"""

from dataclasses import dataclass

from labkit.fpga.errors import RTLError
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain.elaborate import elaborated

CLOCK, RESET = "clk", "rst"


@dataclass(frozen=True)
class Port:
    """One port: `width` bits, read as two's complement where `signed`."""

    name: str
    is_input: bool
    width: int
    signed: bool


@dataclass(frozen=True)
class Ports:
    """All ports of a module in the order of its declaration."""

    top: str
    all: tuple[Port, ...]

    def __getitem__(self, name: str) -> Port:
        """The port `name`; raises RTLError with the ports there are."""
        for port in self.all:
            if port.name == name:
                return port
        there = ", ".join(port.name for port in self.all)
        raise RTLError(f"The module {self.top} has no port {name!r}; its ports are {there}.")

    def __contains__(self, name: str) -> bool:
        return any(port.name == name for port in self.all)

    @property
    def inputs(self) -> list[Port]:
        """The input ports, without the clock."""
        return [port for port in self.all if port.is_input and port.name != CLOCK]

    @property
    def outputs(self) -> list[Port]:
        """The output ports."""
        return [port for port in self.all if not port.is_input]

    @property
    def streams_in(self) -> list[str]:
        """The names of the streams that the module takes."""
        return [name for name in self._streams() if self[f"{name}_data"].is_input]

    @property
    def streams_out(self) -> list[str]:
        """The names of the streams that the module gives."""
        return [name for name in self._streams() if not self[f"{name}_data"].is_input]

    def _streams(self) -> list[str]:
        names = [port.name.removesuffix("_data") for port in self.all if port.name[-5:] == "_data"]
        return [n for n in names if f"{n}_valid" in self and f"{n}_ready" in self]

    def index(self, name: str) -> int:
        """The place of a port in the order of declaration, from 0; -1 if there is none."""
        names = [port.name for port in self.all]
        return names.index(name) if name in names else -1

    def of_streams(self) -> set[str]:
        """The names of all ports that belong to a stream."""
        ends = ("valid", "ready", "data", "last")
        return {f"{name}_{end}" for name in self._streams() for end in ends}


def read_ports(
    sources: Sources, parameters: dict[str, int] | None = None, cpp: bool = False
) -> Ports:
    """The ports of the top module, with its parameters as given.

    cpp   whether the module's C++ is wanted soon: Yosys writes it in the same process

    Raises RTLError when Yosys refuses a source, or a port is neither an input nor an output.
    """
    described = elaborated(sources, parameters, cpp).ports
    if not any(port["direction"] == "output" for port in described.values()):
        raise RTLError(f"The module {sources.top} has no output, so nothing that it does shows.")
    return Ports(sources.top, tuple(_port(sources, name, p) for name, p in described.items()))


def _port(sources: Sources, name: str, described: dict) -> Port:
    if described["direction"] not in ("input", "output"):
        raise RTLError(f"The port {name} of {sources.top} is an inout: use an input and an output.")
    is_input = described["direction"] == "input"
    return Port(name, is_input, len(described["bits"]), bool(described.get("signed", 0)))
