"""The solutions of lesson 02_tpu/14_what_fills_the_memory. Written by `labkit build` from

chapters/02_tpu/source/what_fills_the_memory/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""


def peak_bytes(arguments, results, donated, temporary):
    """bytes [n], bytes [m], bool [n]: is it donated?, bytes -> bytes, a whole number"""
    places = arguments[donated].tolist()
    shared = 0
    for size in results.tolist():
        if size in places:
            places.remove(size)
            shared += size
    return int(arguments.sum() + results.sum() - shared + temporary)


def kept_bytes(outputs, block):
    """bytes [n], layers of a block -> bytes, a whole number"""
    most = 0
    ends = 0  # bytes of the last outputs of the blocks before
    for start in range(0, len(outputs), block):
        own = outputs[start : start + block]
        most = max(most, ends + own.sum())
        ends += own[-1]
    return int(most)


SOLUTIONS = {
    "tpu.peak_bytes": peak_bytes,
    "tpu.kept_bytes": kept_bytes,
}
