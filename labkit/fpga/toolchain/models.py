"""A design compiled for simulation: a shared library with a table of functions in plain C.

`compiled(sources, engine)` compiles it once and keeps it in the cache folder. What clocks it, a
driver, is another library: the streams of `simulate` here, a board's bus and DMA elsewhere.
"""

import ctypes
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Port, Ports, read_ports
from labkit.fpga.sources import Sources
from labkit.fpga.toolchain import cxxrtl, verilated
from labkit.fpga.toolchain.cpp import driver_text, kept
from labkit.fpga.toolchain.lint import lint

ENGINES = {"cxxrtl": cxxrtl, "verilator": verilated}


class Table(ctypes.Structure):
    """`struct Model` of driver/model.h; drivers take a pointer to it."""

    _fields_ = [("ports", ctypes.c_char_p)] + [
        (name, ctypes.c_void_p) for name in ("create", "destroy", "set", "get", "settle", "find")
    ]


@dataclass(frozen=True)
class Model:
    """A compiled design: the library's path and the name of its top module."""

    top: str
    engine: str
    library: Path

    @cached_property
    def table(self) -> "ctypes._Pointer[Table]":
        """The table of functions that a driver clocks the design with."""
        give = ctypes.CDLL(str(self.library)).model
        give.restype = ctypes.POINTER(Table)
        return give()

    @cached_property
    def ports(self) -> Ports:
        """The ports, as they are counted in the table."""
        return Ports(self.top, tuple(Port(*row) for row in json.loads(self.table.contents.ports)))

    def width(self, signal: str) -> int:
        """Bits of a signal inside the design; raises RTLError where there is none of this name."""
        table = self.table.contents
        create = ctypes.CFUNCTYPE(ctypes.c_void_p)(table.create)
        destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table.destroy)
        arguments = (ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int))
        find = ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(table.find)
        design = create()
        width = ctypes.c_int()
        found = find(design, signal.encode(), ctypes.byref(width))
        destroy(design)
        if found < 0:
            raise RTLError(
                f"There is no signal {signal!r} in {self.top} that engine {self.engine!r} can "
                'watch. Engine "cxxrtl" watches wires and registers by their names, with the '
                'instance in front: "stage0 count"; "verilator" watches ports only.'
            )
        return width.value


def compiled(sources: Sources, engine: str, parameters: dict[str, int] | None = None) -> Model:
    """The design compiled by `engine`, "cxxrtl" or "verilator"; from the cache if it is there.

    Raises RTLError for sources that do not lint, for an unknown engine, for a missing tool.
    """
    if not isinstance(engine, str) or engine not in ENGINES:
        raise RTLError(f"There is no engine {engine!r}: take {' or '.join(map(repr, ENGINES))}.")
    tool = ENGINES[engine]
    parameters = parameters or {}

    def make(library: Path) -> None:
        lint(sources, parameters, cpp=tool is cxxrtl)
        ports = read_ports(sources, parameters)
        tool.build(sources, ports, parameters, _header(ports), library)

    parts = [engine, tool.version(), sources.digest, repr(sorted(parameters.items()))]
    return Model(sources.top, engine, kept(f"{sources.top}.so", parts + _own_text(), make))


def _own_text() -> list[str]:
    """Everything of labkit's that decides what a library holds, or whether it is made at all."""
    here = Path(__file__).parent
    names = ("models", "cxxrtl", "verilated", "lint", "subset", "../ports", "elaborate", "yosys")
    return driver_text() + [(here / f"{name}.py").read_text("utf-8") for name in names]


def _header(ports: Ports) -> str:
    rows = [[port.name, port.is_input, port.width, port.signed] for port in ports.all]
    return f"#define PORTS_JSON {json.dumps(json.dumps(rows))}"
