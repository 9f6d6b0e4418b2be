"""A compiled kernel: what the front end makes and the machine runs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numba_simt.errors import lacking

RESIDENT = 1024  # blocks that run side by side: MAX_RESIDENT in c/machine.h


class Alias(NamedTuple):
    """Memory of another array of the program, read as other elements."""

    array: int
    kind: str  # "part": of each element; "flat": as one axis; "cast": the last axis in other pieces
    offset: int = 0  # bytes of a part from the element's start


@dataclass
class ArraySpec:
    """An array of a program: an argument, or one that the kernel makes or finds outside."""

    space: str  # "global", "constant", "shared", "dynamic" or "local"
    argument: int | None
    shape: tuple[int | None, ...]
    dtype: np.dtype
    name: str
    value: np.ndarray | None = None  # of constant arrays
    c_order: bool = True  # C-contiguous
    f_order: bool = False  # Fortran-contiguous, and not C-contiguous
    alignment: int = 0  # bytes; 0 if the kernel does not say
    alias: Alias | None = None
    inner: tuple[int, ...] = ()  # of a part that is an array: its shape, the last axes


class Raised(NamedTuple):
    """An exception that a kernel may raise, and what it says."""

    error: type
    arguments: tuple


class Print(NamedTuple):
    """What one print() of a kernel writes."""

    text: str  # a format of Python's, with the newline: "x = %f\n"
    packed: str  # how its numbers lie, 8 bytes each, as the struct module has it: "=d"


class Line(NamedTuple):
    """A line of source; of a function in another file, also the kernel's line that calls it."""

    filename: str
    number: int
    text: str
    function: str
    call: "Line | None" = None


@dataclass(frozen=True)
class Program:
    """A kernel as the machine runs it; frontend.py makes it."""

    __getattr__ = lacking("A compiled kernel", "numba.cuda.compile_ptx shows machine code")

    name: str
    filename: str
    first_line: int
    source: tuple[str, ...]
    code: np.ndarray  # int32 [n, 11]: op, type, o0..o7, index into lines
    lines: tuple[Line, ...]
    vectors: int  # number of registers
    scalars: int
    constants: tuple[tuple[int, int, object], ...]  # scalar register, ops.RT, value
    scalar_arguments: tuple[tuple[int, int, int, object], ...]  # position, register, RT, Numba type
    extents: tuple[tuple[int, int, int], ...]  # array, dimension, scalar register
    arrays: tuple[ArraySpec, ...]
    exceptions: tuple[Raised, ...]
    cooperative: bool  # it needs all blocks of the grid at once
    specials: dict[str, int]  # "threadIdx.x": vector register r; "blockIdx.x": ~ scalar register
    prints: tuple[Print, ...] = ()

    def max_cooperative_grid_blocks(self, blockdim: object, dynsmemsize: int = 0) -> int:
        """How many blocks a grid may have that waits for all of them; here for every block."""
        return RESIDENT
