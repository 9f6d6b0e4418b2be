"""A design for the board: a module in SystemVerilog, and what the board puts around it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from labkit.fpga.board.bitstream import bit_file
from labkit.fpga.board.hardware.registers import Register
from labkit.fpga.board.hardware.wires import Wires, wires
from labkit.fpga.board.hwh import handoff
from labkit.fpga.sources import Source, Sources, read_sources
from labkit.fpga.toolchain.models import Model, compiled


@dataclass(frozen=True, eq=False)
class Design:
    """A module and its surroundings.

    source       its text or files, as `simulate` takes them
    top          its name
    parameters   of the module
    registers    what `register_map` shows of it
    engine       "verilator" or "cxxrtl"
    leds         how many there are
    buttons      how many there are
    length_bits  of the DMA's LENGTH register, which limits a transfer; Vivado's default is 14

    Raises RTLError for a module that a board cannot be wired to, or that does not compile.
    """

    source: Source
    top: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    registers: Sequence[Register] = ()
    engine: str = "verilator"
    leds: int = 4
    buttons: int = 4
    length_bits: int = 26

    @cached_property
    def sources(self) -> Sources:
        """The files."""
        return read_sources(self.source, self.top)

    @cached_property
    def model(self) -> Model:
        """The compiled module; the first time takes seconds."""
        return compiled(self.sources, self.engine, dict(self.parameters))

    @cached_property
    def wires(self) -> Wires:
        """What of the module is wired to the board."""
        return wires(self.model.ports)

    @property
    def has_dma(self) -> bool:
        """Whether it has a stream."""
        return bool(self.wires.in_bytes or self.wires.out_bytes)

    @property
    def instance(self) -> str:
        """The module's name in `ip_dict`."""
        return f"{self.top}_0"

    @cached_property
    def hwh(self) -> str:
        """The hardware handoff: what is at which address, as Vivado would say it."""
        return handoff(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the circuit and its surroundings: other designs have another one."""
        parts = [self.sources.digest, repr(sorted(self.parameters.items())), self.engine, self.hwh]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def name(self) -> str:
        """Of its files: the module's name and the digest's beginning."""
        return f"{self.top}_{self.digest[:12]}"

    def write(self, folder: Path) -> Path:
        """Writes its .bit and .hwh into a folder; the path of the .bit."""
        path = Path(folder) / f"{self.name}.bit"
        path.write_bytes(bit_file(self.name, self.digest))
        path.with_suffix(".hwh").write_text(self.hwh, "utf-8")
        return path
