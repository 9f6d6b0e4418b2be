"""What solutions use of pynq, which is imported when it is called, and not before.

pynq asks when it is imported whether a board is far away, and takes half a second for it. So the
modules of solutions, which every lesson of the chapter loads, take these in its place.
"""

from typing import Any

from labkit.fpga.board.private import load_pynq


def allocate(*given: Any, **named: Any) -> Any:
    """`pynq.allocate`."""
    load_pynq()
    import pynq

    return pynq.allocate(*given, **named)


def MMIO(*given: Any, **named: Any) -> Any:
    """`pynq.MMIO`."""
    load_pynq()
    import pynq

    return pynq.MMIO(*given, **named)


def Overlay(*given: Any, **named: Any) -> Any:
    """`pynq.Overlay`."""
    load_pynq()
    import pynq

    return pynq.Overlay(*given, **named)
