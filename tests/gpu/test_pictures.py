"""labkit.gpu.pictures: they show what the addresses say, and no text overlaps or is cut."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from labkit.figures import style
from labkit.gpu import pictures, profile
from numba_simt import cuda

LANE = np.arange(32)


def access(addresses, itemsize=4, block=(0, 0, 0), warp=0, line=7):
    addresses = np.asarray(addresses, np.int64)
    names = {"space": "global", "kind": "load", "array": "x"}
    return SimpleNamespace(
        line=line, block=block, warp=warp, addresses=addresses, itemsize=itemsize, **names
    )


@pytest.fixture
def shown(monkeypatch):
    """What was shown: (figure, alt text), of all pictures so far."""
    found = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: found.append((figure, alt)))
    return found


def texts(figure):
    """(text, its box in pixels) of all that is drawn."""
    FigureCanvasAgg(figure).draw()
    found = [*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())]
    for axes in figure.axes:
        found += [*axes.texts, axes.title, axes._left_title]
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [axis.label, *(label for t in ticks for label in (t.label1, t.label2))]
    return [
        (t.get_text(), t.get_window_extent()) for t in found if t.get_text() and t.get_visible()
    ]


def assert_readable(figure):
    boxes = texts(figure)
    assert boxes
    for i, (text, box) in enumerate(boxes):
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1
        assert inside and box.y1 <= figure.bbox.y1 + 1, f"{text!r} is cut"
        for other, there in boxes[i + 1 :]:
            apart = min(box.x1, there.x1) - max(box.x0, there.x0) < 1
            apart |= min(box.y1, there.y1) - max(box.y0, there.y0) < 1
            assert apart, f"{text!r} and {other!r} overlap"


PICTURES = {
    "names": lambda: pictures.thread_map((2, 2), (4, 4), (7, 8)),
    "blocks": lambda: pictures.thread_map((3, 3), (16, 16), (40, 45)),
    "one row": lambda: pictures.thread_map(4, 8, 30),
    "a short row": lambda: pictures.thread_map(3, 4, 10),
    "many": lambda: pictures.thread_map((4, 4), (8, 8), (32, 32)),
    "really": lambda: pictures.thread_map(1, (16, 2), (4, 16), access(4 * LANE)),
    "sectors": lambda: pictures.sector_map(
        access(4 * LANE), access(128 * LANE), access(8 * LANE, 8)
    ),
    "broadcast": lambda: pictures.sector_map(access(0 * LANE), titles=["one for all"]),
    "nobody": lambda: pictures.sector_map(access(0 * LANE - 1)),
    "banks": lambda: pictures.bank_map(access(4 * LANE), access(128 * LANE), access(16 * LANE, 16)),
    "same bank": lambda: pictures.bank_map(access(256 * (LANE // 2))),
    "no bank": lambda: pictures.bank_map(access(0 * LANE - 1)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_is_cut_or_overlaps(shown, name):
    PICTURES[name]()
    assert_readable(shown[0][0])
    assert style.png(shown[0][0])


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_has_an_alt_text(capsys, name):
    PICTURES[name]()
    assert len(capsys.readouterr().out.split()) >= 5


def cell_texts(figure):
    return [t.get_text() for t in figure.axes[0].texts]


def test_thread_map_names_the_thread_of_each_cell_and_counts_what_is_left_out(shown):
    pictures.thread_map((2, 1), (4, 2), (3, 6))
    figure, alt = shown[0]
    assert cell_texts(figure)[:6] == ["0,0", "1,0", "2,0", "3,0", "0,0", "1,0"]
    assert cell_texts(figure)[16:] == [""] * 8  # no thread comes to the third row
    assert "12 cells with one thread, 6 with none, 0 with more" in alt


def test_along_one_axis_a_block_has_one_number(shown):
    pictures.thread_map(3, 4, 10)
    figure, alt = shown[0]
    assert cell_texts(figure) == 3 * ["0", "1", "2", "3"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == [
        "block 0",
        "block 1",
        "block 2",
    ]
    assert "10 cells with one thread, 0 with none" in alt and "2 threads, hatched" in alt
    assert hatched(figure) == [(10, 0), (11, 0)]


def hatched(figure):
    """The columns and rows of the hatched cells."""
    boxes = [patch for patch in figure.axes[0].patches if patch.get_hatch()]
    return [(box.get_x() + 0.5, box.get_y() + 0.5) for box in boxes]


def test_threads_behind_the_array_are_hatched_along_both_axes(shown):
    pictures.thread_map((2, 2), (4, 2), (3, 7))
    figure, alt = shown[0]
    behind = {(x, y) for x in range(8) for y in range(4) if x == 7 or y == 3}
    assert set(hatched(figure)) == behind and f"{len(behind)} threads, hatched" in alt
    assert "hatched" in figure.axes[0].get_xlabel()
    pictures.thread_map((2, 2), (4, 2), (4, 8))
    figure, alt = shown[1]
    assert not hatched(figure) and "hatched" not in figure.axes[0].get_xlabel() + alt


def test_thread_map_follows_another_index_rule(shown):
    pictures.thread_map(1, (4, 2), (4, 2), cell=lambda x, y: (x, y))
    assert cell_texts(shown[0][0]) == ["0,0", "0,1", "1,0", "1,1", "2,0", "2,1", "3,0", "3,1"]
    pictures.thread_map(2, 4, (1, 4), cell=lambda x, y: (0, x // 2))
    assert cell_texts(shown[1][0]) == ["2×", "2×", "2×", "2×"]


def test_thread_map_of_accesses_shows_the_cells_really_touched(shown):
    where = np.where(LANE < 3, 8 * (LANE + 2), -1)  # float64: cells 2, 3, 4 of rows of 3
    pictures.thread_map((1, 2), (32, 2), (2, 3), access(where, 8, block=(0, 1, 0), warp=1))
    figure, alt = shown[0]
    assert [t for t in cell_texts(figure) if t] == ["0,1", "1,1", "2,1"]
    assert "3 cells with one thread, 3 with none" in alt
    colours = figure.axes[0].images[0].get_array()
    grey = np.array(to_rgb(style.CARD)) * 255
    touched = np.array(to_rgb(pictures.BLOCK_COLOURS[1])) * 255
    assert np.allclose(colours[0], [grey, grey, touched], atol=1)
    assert np.allclose(colours[1], [touched, touched, grey], atol=1)


@pytest.mark.parametrize(
    ("addresses", "itemsize", "said"),
    [
        (4 * LANE, 4, "4 sectors, 128 of 128 bytes used"),
        (4 * LANE + 4, 4, "5 sectors, 128 of 160 bytes used"),
        (128 * LANE, 4, "32 sectors, 128 of 1024 bytes used"),
        (8 * LANE, 8, "8 sectors, 256 of 256 bytes used"),
        (0 * LANE + 40, 4, "1 sector, 4 of 32 bytes used"),
        (np.where(LANE < 8, 4 * LANE, -1), 4, "1 sector, 32 of 32 bytes used"),
        (0 * LANE - 1, 4, "0 sectors, 0 of 0 bytes used"),
    ],
)
def test_sector_map_counts_sectors_and_bytes(shown, addresses, itemsize, said):
    pictures.sector_map(access(addresses, itemsize))
    assert f"line 7, load of x: {said}." in shown[0][1]


@pytest.mark.parametrize(
    ("addresses", "itemsize", "said"),
    [
        (4 * LANE, 4, "1 pass over the banks, 0 conflicts"),
        (8 * LANE, 4, "2 passes over the banks, 1 conflicts"),
        (128 * LANE, 4, "32 passes over the banks, 31 conflicts"),
        (132 * LANE, 4, "1 pass over the banks, 0 conflicts"),  # a padded column
        (0 * LANE, 4, "1 pass over the banks, 0 conflicts"),  # a broadcast
        (LANE, 1, "1 pass over the banks, 0 conflicts"),
        (8 * LANE, 8, "2 passes over the banks, 0 conflicts"),
        (16 * LANE, 16, "4 passes over the banks, 0 conflicts"),
    ],
)
def test_bank_map_counts_passes_and_marks_conflicts(shown, addresses, itemsize, said):
    pictures.bank_map(access(addresses, itemsize))
    figure, alt = shown[0]
    assert said in alt
    fills = [to_rgb(c.get_facecolor()[0]) for c in figure.axes[0].collections]
    assert (to_rgb(style.ORANGE) in fills) == ("0 conflicts" not in said)


@settings(max_examples=10)
@given(st.lists(st.integers(-1, 600), min_size=32, max_size=32), st.sampled_from([4, 8]))
def test_bank_passes_are_those_of_the_definition(slots, itemsize):
    """Each group of lanes needs as many passes as its fullest bank has different words."""
    passes = 0
    for group in np.split(LANE, itemsize // 4):
        words = {
            slots[l] * itemsize // 4 + k
            for l in group
            if slots[l] >= 0
            for k in range(itemsize // 4)
        }
        passes += max([sum(w % 32 == bank for w in words) for bank in range(32)])
    axes = style.canvas()[1]
    addresses = np.array([s * itemsize if s >= 0 else -1 for s in slots])
    said = pictures._draw_banks(axes, access(addresses, itemsize))
    assert said.startswith(f"{passes} pass")


def test_titles_replace_the_names_of_the_first_accesses(shown):
    pictures.sector_map(access(4 * LANE), access(8 * LANE), titles=["coalesced"])
    titles = [axes.get_title(loc="left").split(":")[0] for axes in shown[0][0].axes]
    assert titles == ["coalesced", "line 7, load of x"]


def test_the_check_of_overlaps_finds_one(shown):
    PICTURES["sectors"]()
    shown[0][0].axes[0].text(0.5, 2.5, "over a lane")
    with pytest.raises(AssertionError, match="overlap"):
        assert_readable(shown[0][0])
    PICTURES["banks"]()
    shown[1][0].text(0.97, 0.72, "beyond the edge of it")
    with pytest.raises(AssertionError, match="is cut"):
        assert_readable(shown[1][0])


@cuda.jit
def transpose_tile(x, y, stride):
    tile = cuda.shared.array(32 * 33, np.float32)
    lane, row = cuda.threadIdx.x, cuda.threadIdx.y
    tile[row * stride + lane] = x[row, lane]
    cuda.syncthreads()
    y[row, lane] = tile[lane * stride + row]


@pytest.mark.parametrize(("stride", "passes"), [(32, 32), (33, 1)])
def test_the_maps_agree_with_the_counters_of_a_real_kernel(shown, stride, passes):
    x = np.random.default_rng(0).random((32, 32), dtype=np.float32)
    p = profile(transpose_tile, 1, (32, 32), x, y := np.zeros_like(x), stride)
    assert np.array_equal(y, x.T)
    reads = [a for a in p.accesses if a.array == "tile" and a.kind == "load"]
    pictures.bank_map(reads[3])
    assert f"load of tile: {passes} pass" in shown[-1][1]
    assert p.counters["shared_load_transactions"] == 32 * passes
    rows = [a for a in p.accesses if a.array == "x"]
    pictures.sector_map(rows[0], rows[5])
    assert shown[-1][1].count("4 sectors, 128 of 128 bytes used") == 2
    pictures.thread_map(1, (32, 32), x.shape, *rows)
    assert "1024 cells with one thread, 0 with none, 0 with more" in shown[-1][1]
