"""Values of ports: whole numbers of any width, lanes packed into words, and 32-bit limbs of them.

A port of W bits carries 0 .. 2^W - 1, or -2^(W-1) .. 2^(W-1) - 1 where it is signed. Lane i of a
packed word has the bits i * bits and up, so lane 0 is the lowest
(lesson a_convolution_as_a_stream).

Dense: the bits of a word are shifts and masks, and a line says where one lane lies.
"""

from collections.abc import Sequence

import numpy as np

from labkit.fpga.arguments import shown
from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Port


def pack(values: np.ndarray, bits: int) -> np.ndarray:
    """values[n, lanes], whole numbers of `bits` bits each -> n words of lanes * bits bits.

    Lane 0 is the lowest. A negative value goes in as two's complement. Words of up to 63 bits
    are int64, wider ones Python's ints. Raises RTLError for a value that has more bits.
    """
    values = np.asarray(values)
    if values.ndim != 2:
        raise RTLError(f"pack wants values[n, lanes]; these have the shape {values.shape}.")
    low, high = -(1 << bits - 1), (1 << bits) - 1
    for value in values.flat:
        if not low <= value <= high:
            raise RTLError(f"The value {value} does not fit in a lane of {bits} bits.")
    mask = (1 << bits) - 1
    words = np.zeros(len(values), object)
    for lane in range(values.shape[1]):
        words |= (values[:, lane].astype(object) & mask) << bits * lane
    return _smallest(words, bits * values.shape[1])


def unpack(words: Sequence[int], lanes: int, bits: int, signed: bool = True) -> np.ndarray:
    """n words of lanes * bits bits -> values[n, lanes], int64; two's complement where `signed`."""
    words = np.asarray([int(word) for word in words], object)
    values = np.zeros((len(words), lanes), object)
    for lane in range(lanes):
        values[:, lane] = words >> bits * lane & (1 << bits) - 1
    if signed:
        values[values >> bits - 1 == 1] -= 1 << bits
    return values.astype(np.int64)


def words_of_32(port: Port) -> int:
    """How many 32-bit limbs hold one value of the port."""
    return (port.width + 31) // 32


def to_limbs(values: Sequence[int] | np.ndarray, port: Port, name: str) -> np.ndarray:
    """n values of a port -> limbs[n, L], uint32, the lowest first; zeros above the port's width.

    values[n, lanes] of a NumPy type whose lanes fill the port exactly are packed, lane 0 lowest.
    `name` is what the values are called in messages. Raises RTLError for a value out of range.
    """
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "iu":
        return _lanes_to_limbs(values, port, name)
    values = _checked(values, port, name)
    if values.dtype == object:
        size = 4 * words_of_32(port)
        mask = (1 << port.width) - 1
        data = b"".join((int(value) & mask).to_bytes(size, "little") for value in values)
        return np.frombuffer(data, "<u4").reshape(len(values), words_of_32(port))
    masked = values.astype(np.int64).view(np.uint64) & np.uint64((1 << port.width) - 1)
    limbs = masked.view("<u4").reshape(len(values), 2)
    return np.ascontiguousarray(limbs[:, : words_of_32(port)])


def from_limbs(limbs: np.ndarray, port: Port) -> np.ndarray:
    """limbs[n, L] -> n values: int64, or uint64 where 64 bits are unsigned; Python's ints above."""
    if port.width > 64:
        data = [int.from_bytes(row.tobytes(), "little") for row in limbs]
        values = np.asarray([*data, None], object)[:-1]  # stays a row of objects when empty
        if port.signed:
            values[[value >> port.width - 1 == 1 for value in values]] -= 1 << port.width
        return values
    wide = np.zeros((len(limbs), 2), "<u4")
    wide[:, : limbs.shape[1]] = limbs
    values = wide.view(np.uint64)[:, 0]
    if not port.signed:
        return values if port.width == 64 else values.astype(np.int64)
    unused = 64 - port.width
    return (values << np.uint64(unused)).view(np.int64) >> unused


def _lanes_to_limbs(values: np.ndarray, port: Port, name: str) -> np.ndarray:
    lanes = values.shape[1]
    bits = 8 * values.dtype.itemsize
    if lanes * bits != port.width:
        raise RTLError(
            f"{name} has {lanes} lanes of {values.dtype}, {lanes * bits} bits together, but "
            f"{port.name} has {port.width} bits. For lanes of another width use "
            f"pack(values, bits)."
        )
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    rows = np.zeros((len(values), 4 * words_of_32(port)), np.uint8)
    rows[:, : port.width // 8] = little.view(np.uint8).reshape(len(values), port.width // 8)
    return rows.view("<u4")


def _checked(values: Sequence[int] | np.ndarray, port: Port, name: str) -> np.ndarray:
    """The values as int64, or as Python's ints where the port is wide; all of them in range."""
    if not np.iterable(values):
        raise RTLError(f"{name} is {shown(values)}: give a row of whole numbers, such as [1, 2].")
    array = values if isinstance(values, np.ndarray) else np.asarray([*values, None], object)[:-1]
    if array.ndim != 1:
        raise RTLError(f"{name} has the shape {array.shape}: give one value for each word.")
    if array.dtype == object:
        for value in array:
            if not isinstance(value, int | np.integer | np.bool_):
                raise RTLError(f"{name} holds {value!r}, which is no whole number.")
    elif array.dtype.kind not in "iub":
        raise RTLError(f"{name} is of {array.dtype}: a port carries whole numbers.")
    low = -(1 << port.width - 1) if port.signed else 0
    high = (1 << port.width - port.signed) - 1
    if array.size and not low <= int(array.min()) <= int(array.max()) <= high:
        at = [low <= value <= high for value in array.tolist()].index(False)
        raise RTLError(
            f"{name} does not fit: value {at} is {array[at]}, and {port.name} carries "
            f"{low:,} to {high:,} ({port.width} bits{', signed' * port.signed})."
        )
    return array.astype(object if port.width > 63 else np.int64)


def _smallest(words: np.ndarray, bits: int) -> np.ndarray:
    return words if bits > 63 else words.astype(np.int64)
