"""Wrong ideas of `fpga.send_rows`: base, address, x [R, C], first, count -> addresses, values.

Dense: each wrong idea is one formula of an address or a register.
"""

import numpy as np


def _writes(base: int, start: int, length: int) -> tuple:
    return np.array([base, base + 0x18, base + 0x28]), np.array([1, start, length])


def _row(x: np.ndarray) -> int:
    return x.shape[1] * x.itemsize


def elements(base, address, x, first, count):
    """Counts in elements, not in bytes."""
    return _writes(base, address + first * x.shape[1], count * x.shape[1])


def start_in_elements(base, address, x, first, count):
    """The address counts elements, the length bytes."""
    return _writes(base, address + first * x.shape[1], count * _row(x))


def length_in_elements(base, address, x, first, count):
    """The address counts bytes, the length elements."""
    return _writes(base, address + first * _row(x), count * x.shape[1])


def four_bytes(base, address, x, first, count):
    """Each element has 4 bytes."""
    row = 4 * x.shape[1]
    return _writes(base, address + first * row, count * row)


def bits(base, address, x, first, count):
    """The length in bits."""
    return _writes(base, address + first * _row(x), 8 * count * _row(x))


def never_run(base, address, x, first, count):
    """0 for the control register."""
    addresses, values = _writes(base, address + first * _row(x), count * _row(x))
    return addresses, values * [0, 1, 1]


def from_the_start(base, address, x, first, count):
    """Begins with row 0."""
    return _writes(base, address, count * _row(x))


def to_the_end(base, address, x, first, count):
    """Sends all rows from the first one on."""
    return _writes(base, address + first * _row(x), (len(x) - first) * _row(x))


def last_row(base, address, x, first, count):
    """Takes the count for the row behind the last one."""
    return _writes(base, address + first * _row(x), (count - first) * _row(x))


def receives(base, address, x, first, count):
    """Writes to the registers of the receive channel."""
    addresses, values = _writes(base + 0x30, address + first * _row(x), count * _row(x))
    return addresses, values


def length_first(base, address, x, first, count):
    """Writes LENGTH, which starts the transfer, before the address."""
    addresses, values = _writes(base, address + first * _row(x), count * _row(x))
    return addresses[[0, 2, 1]], values[[0, 2, 1]]


def offsets(base, address, x, first, count):
    """Gives the registers' offsets, without the base."""
    return _writes(0, address + first * _row(x), count * _row(x))


def rows_added(base, address, x, first, count):
    """The address counts rows."""
    return _writes(base, address + first, count * _row(x))


def up_to_the_last(base, address, x, first, count):
    """The length is counted from row 0 on."""
    return _writes(base, address + first * _row(x), (first + count) * _row(x))


def last_byte(base, address, x, first, count):
    """The number of the last byte for the length."""
    return _writes(base, address + first * _row(x), count * _row(x) - 1)


def end_address(base, address, x, first, count):
    """The address behind the last byte for the length."""
    return _writes(base, address + first * _row(x), address + (first + count) * _row(x))


def to_the_row(base, address, x, first, count):
    """`count` is the number of the last row."""
    return _writes(base, address + first * _row(x), (count - first + 1) * _row(x))


def in_words(base, address, x, first, count):
    """The length in words of the DMA."""
    return _writes(base, address + first * _row(x), count * _row(x) // 4)


def decimal(base, address, x, first, count):
    """The offsets as decimal numbers."""
    _, values = _writes(base, address + first * _row(x), count * _row(x))
    return np.array([base, base + 18, base + 28]), values


def rows_of(length):
    """Each row has so many bytes: the example's 8, or 1 or 2 for an element."""

    def idea(base, address, x, first, count):
        row = length(x)
        return _writes(base, address + first * row, count * row)

    return idea
