"""labkit.gpu.tile_pictures: they mark what is read, and no text overlaps or is cut."""

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from labkit.figures import grids, style
from labkit.gpu import tile_pictures
from tests.gpu.test_pictures import assert_readable


@pytest.fixture
def shown(monkeypatch):
    """What was shown: (figure, alt text), of all pictures so far."""
    found = []
    for module in (tile_pictures, grids):
        monkeypatch.setattr(module, "show", lambda figure, alt: found.append((figure, alt)))
    return found


PICTURES = {
    "fetches": lambda: tile_pictures.who_fetches(4, tile=2),
    "fetches of more": lambda: tile_pictures.who_fetches(6, tile=2),
    "patch": lambda: tile_pictures.thread_patch((5, 2), k=3),
    "first patch": lambda: tile_pictures.thread_patch((0, 0), k=0),
    "last patch": lambda: tile_pictures.thread_patch((31, 7), k=31),
    "tiles": lambda: tile_pictures.matmul_tiles(
        M=96, K=128, N=128, tile=32, block=(1, 2), start=32
    ),
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


def colours(figure, colour):
    """(x, y) of the cells that have this colour."""
    patches = figure.axes[0].patches
    return {p.get_xy() for p in patches if to_hex(p.get_facecolor()) == to_hex(colour)}


def test_matmul_tiles_says_what_its_colours_mean(shown):
    PICTURES["tiles"]()
    figure, alt = shown[0]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["tile of this step", "tiles of the other steps", "results of the block"]
    assert "columns 32 to 63 of those rows of a, and rows 32 to 63 of those columns of b" in alt


def test_who_fetches_names_the_threads_that_need_an_element(shown):
    tile_pictures.who_fetches(4, tile=2)
    figure, alt = shown[0]
    texts = [t.get_text() for t in figure.axes[0].texts]
    named = [text for text in texts if "\n" in text]
    assert sorted(set(named)) == ["0,0\n0,1", "0,0\n1,0", "0,1\n1,1", "1,0\n1,1"]
    assert [named.count(threads) for threads in sorted(set(named))] == [4, 4, 4, 4]
    assert "4 threads x,y: 32 fetches of 16 different numbers" in texts
    assert "2 rows of a and 2 columns of b" in alt
    assert len(colours(figure, style.ORANGE)) == 8
    assert len(colours(figure, style.SKY)) == 8
    assert {xy for xy in colours(figure, style.ORANGE) if xy[0] < 4} == {
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
    }


def test_the_fetches_grow_with_the_tile(shown):
    tile_pictures.who_fetches(6, tile=3)
    texts = [t.get_text() for t in shown[0][0].axes[0].texts]
    assert texts.count("0,0\n0,1\n0,2") == 6
    assert "9 threads x,y: 108 fetches of 36 different numbers" in texts


@pytest.mark.parametrize("thread", [(5, 2), (0, 0), (31, 7)])
def test_thread_patch_marks_the_threads_own_results(shown, thread):
    tx, ty = thread
    tile_pictures.thread_patch(thread, k=3)
    figure, alt = shown[0]
    marks = [
        collection.get_paths()[0].get_extents()
        for collection in figure.axes[0].collections
        if isinstance(collection, PolyCollection)  # not the legend's own mark
        and to_hex(collection.get_facecolor()[0]) == to_hex(style.ORANGE)
    ]
    assert len(marks) == 8 + 2 + 16
    texts = [t.get_text() for t in figure.axes[0].texts]
    assert [t for t in texts if t.startswith("row")] == [f"row {ty + 8 * i}" for i in range(8)]
    assert {f"column {tx}", f"column {tx + 32}"} <= set(texts)
    assert f"rows {ty}, {ty + 8}, ..., {ty + 56} and columns {tx} and {tx + 32}" in alt
