"""A compiled module, clocked cycle by cycle from Python: for a bench that answers what it sees."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_int, c_uint32, c_void_p

from labkit.fpga.toolchain.models import Model


class Stepped:
    """A module of a model with ports `clk` and `rst`, after its reset; values up to 32 bits."""

    def __init__(self, model: Model) -> None:
        table = model.table.contents
        self.ports = model.ports
        access = CFUNCTYPE(None, c_void_p, c_int, POINTER(c_uint32))
        self._set, self._get = access(table.set), access(table.get)
        self._settle = CFUNCTYPE(c_int, c_void_p)(table.settle)
        self._destroy = CFUNCTYPE(None, c_void_p)(table.destroy)
        self._design = CFUNCTYPE(c_void_p)(table.create)()
        for port in self.ports.inputs:
            self[port.name] = 0
        self["rst"] = 1
        self.clock()
        self["rst"] = 0

    def __setitem__(self, name: str, value: int) -> None:
        self._set(self._design, self.ports.index(name), ctypes.byref(c_uint32(value)))

    def __getitem__(self, name: str) -> int:
        value = c_uint32()
        self._get(self._design, self.ports.index(name), ctypes.byref(value))
        return value.value

    def settle(self) -> None:
        assert self._settle(self._design)

    def clock(self) -> None:
        """The next rising edge."""
        for level in (0, 1):
            self["clk"] = level
            self.settle()
        self["clk"] = 0
        self.settle()

    def close(self) -> None:
        self._destroy(self._design)
