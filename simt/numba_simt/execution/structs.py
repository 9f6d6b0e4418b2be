"""The structures that Python fills for the machine: twins of those in c/machine.h."""

import ctypes

from numba_simt.ops import MAX_DIMENSIONS

INT32 = ctypes.c_int32
INT64 = ctypes.c_int64
POINTER = ctypes.c_void_p
WARP = 32  # lanes
# Bits of HazardRecord.seen: the round of the other access, and how far away its thread is
SAME_ROUND, OTHER_EARLIER, OTHER_LATER, IN_WARP, IN_BLOCK, IN_GRID = (1 << i for i in range(6))


class Array(ctypes.Structure):
    """Where an array lies; in shared and local memory `base` is an offset into what they have."""

    _fields_ = [
        ("base", POINTER),
        ("offset", INT64),  # global: bytes from the allocation's start to element 0
        ("shape", INT64 * MAX_DIMENSIONS),
        ("strides", INT64 * MAX_DIMENSIONS),  # bytes
        ("dimensions", INT32),
        ("space", INT32),
        ("memory_type", INT32),
        ("allocation", INT32),
    ]


class Allocation(ctypes.Structure):
    """A piece of global memory, and what a profile remembers of it."""

    _fields_ = [
        ("size", INT64),  # bytes
        ("shift", INT64),  # 2^shift bytes a cell
        ("cells", POINTER),
        ("sectors", POINTER),
    ]


class HazardRecord(ctypes.Structure):
    """Something wrong that the machine found; -1 is what a kind of hazard does not have."""

    _fields_ = [
        ("kind", INT32),
        ("line", INT32),
        ("other_line", INT32),
        ("array", INT32),
        ("atomic", INT32),
        ("other_atomic", INT32),
        ("write", INT32),
        ("other_write", INT32),
        ("warp", INT32),
        ("lane", INT32),
        ("other_warp", INT32),
        ("other_lane", INT32),
        ("space", INT32),
        ("axis", INT32),
        ("offset", INT64),
        ("index", INT64),
        ("length", INT64),
        ("count", INT64),
        ("seen", INT64),  # bits: SAME_ROUND and its like
    ]


class AccessRecord(ctypes.Structure):
    """One warp's request to memory."""

    _fields_ = [
        ("line", INT32),
        ("array", INT32),
        ("kind", INT32),
        ("warp", INT32),
        ("block", INT32),
        ("space", INT32),
        ("itemsize", INT64),
        ("addresses", INT64 * WARP),
    ]


class Machine(ctypes.Structure):
    """A launch: the program, its memory, and where the machine notes what it counts and finds."""

    _fields_ = [
        ("code", POINTER),
        ("arrays", POINTER),
        ("allocations", POINTER),
        ("scalars", POINTER),
        ("n_vectors", INT64),
        ("n_scalars", INT64),
        ("shared_bytes", INT64),
        ("shared_shift", INT64),
        ("local_bytes", INT64),
        ("grid", INT64 * 3),
        ("block", INT64 * 3),
        ("special", INT64 * 7),
        ("watch", INT64),
        ("max_steps", INT64),
        ("independent_threads", INT64),
        ("counters", POINTER),
        ("executed", POINTER),
        ("hazards", POINTER),
        ("n_hazards", INT64),
        ("max_hazards", INT64),
        ("accesses", POINTER),
        ("n_accesses", INT64),
        ("max_accesses", INT64),
        ("printed", POINTER),
        ("n_printed", INT64),
        ("max_printed", INT64),
        ("printed_width", INT64),
        ("state", POINTER),
    ]
