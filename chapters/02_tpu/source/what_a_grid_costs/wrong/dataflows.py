"""Wrong ideas of tpu.dataflows: sizes M, K, N [n], rows, cols -> cycles [n] of ws, is and os."""

from labkit_lessons.tpu.what_a_grid_costs.wrong.cycles import one_tile, right_tiles


def cost(streams, down, across, rows, cols):
    """One tile after the other; as it should be, for what streams and for what is cut."""
    return one_tile(streams, rows, cols) * right_tiles(down, across, rows, cols)


def all_alike(M, K, N, rows, cols):
    """The weights stay, whatever is asked."""
    ws = cost(M, K, N, rows, cols)
    return ws, ws, ws


def only_the_stream(M, K, N, rows, cols):
    """Another size streams, and w is cut as before."""
    sizes = K, N, rows, cols
    return cost(M, *sizes), cost(N, *sizes), cost(K, *sizes)


def exchanged(M, K, N, rows, cols):
    """The sums stay where the inputs should, and the other way round."""
    ws = cost(M, K, N, rows, cols)
    return ws, cost(K, M, N, rows, cols), cost(N, K, M, rows, cols)


def inputs_lie_across(M, K, N, rows, cols):
    """Inputs: M goes down the rows, K along the columns."""
    ws = cost(M, K, N, rows, cols)
    os = cost(K, M, N, rows, cols)
    return ws, cost(N, M, K, rows, cols), os


def sums_lie_across(M, K, N, rows, cols):
    """Sums: N goes down the rows, M along the columns."""
    ws = cost(M, K, N, rows, cols)
    inputs = cost(N, K, M, rows, cols)
    return ws, inputs, cost(K, N, M, rows, cols)


def tiles_of_inputs(M, K, N, rows, cols):
    """Sums: the tiles are those of the inputs."""
    ws = cost(M, K, N, rows, cols)
    inputs = cost(N, K, M, rows, cols)
    return ws, inputs, cost(K, K, M, rows, cols)


def inputs_stream_k(M, K, N, rows, cols):
    """Inputs: K streams past a tile of inputs."""
    ws = cost(M, K, N, rows, cols)
    os = cost(K, M, N, rows, cols)
    return ws, cost(K, K, M, rows, cols), os


def no_drain(M, K, N, rows, cols):
    """The sums are out as soon as they are done."""
    ws = cost(M, K, N, rows, cols)
    inputs = cost(N, K, M, rows, cols)
    tiles = right_tiles(M, N, rows, cols)
    return ws, inputs, cost(K, M, N, rows, cols) - rows * tiles


def drained_once(M, K, N, rows, cols):
    """Only the last tile's sums have to move out."""
    ws, inputs, at_once = no_drain(M, K, N, rows, cols)
    return ws, inputs, at_once + rows


def wrapped(counts):
    """The counts as 32 bits hold them."""
    return tuple(count.astype("int32") for count in counts)


def one_tile_each(M, K, N, rows, cols):
    """Whatever stays is one tile."""
    return tuple(one_tile(streams, rows, cols) for streams in (M, N, K))


def square_by_rows(M, K, N, rows, cols):
    """Inputs: their tiles have as many columns as rows."""
    ws = cost(M, K, N, rows, cols)
    os = cost(K, M, N, rows, cols)
    return ws, cost(N, K, M, rows, rows), os
