"""Clock_pictures: a pass a clock, and multiply-adds only of what has been read."""

import pytest

from labkit.figures import style
from labkit_lessons.gpu.tiles import clock_pictures
from tests.gpu.test_pictures import assert_readable


@pytest.mark.parametrize(("rows", "columns", "clocks"), [(1, 1, 16), (2, 2, 16), (2, 1, 15)])
def test_each_clock_has_a_pass_and_work_follows_its_reads(rows, columns, clocks):
    plan = clock_pictures.schedule(rows, columns, clocks)
    reads = rows + columns
    assert sorted(plan.passes) == list(range(clocks))
    assert len(plan.multiply_adds) == clocks * rows * columns / reads
    for (_, clock), warp in plan.multiply_adds.items():
        last_read = max((c for c, of in plan.passes.items() if of == warp), default=-1)
        assert clock > last_read
    slots = {warp: set() for warp in plan.multiply_adds.values()}
    for (slot, _), warp in plan.multiply_adds.items():
        slots[warp].add(slot)
    assert all(len(of_warp) == 1 for of_warp in slots.values()), "a warp starts one in a clock"


def test_the_share_that_is_busy_is_that_of_the_passes():
    for rows, columns, share in ((1, 1, 1 / 8), (2, 2, 1 / 4), (4, 4, 1 / 2)):
        plan = clock_pictures.schedule(rows, columns, 16 * (rows + columns))
        possible = clock_pictures.SLOTS * 16 * (rows + columns)
        assert len(plan.multiply_adds) / possible == share


def test_where_passes_do_not_limit_it_says_so():
    assert clock_pictures.schedule(8, 8, 16)
    with pytest.raises(ValueError, match="keep all 4 slots busy"):
        clock_pictures.schedule(10, 10, 20)


@pytest.mark.parametrize("results", [(1, 1), (2, 2)])
def test_no_text_is_cut_or_overlaps(monkeypatch, results):
    shown = []
    monkeypatch.setattr(clock_pictures, "show", lambda figure, alt: shown.append((figure, alt)))
    clock_pictures.clock_timeline(*results)
    assert_readable(shown[0][0])
    assert style.png(shown[0][0])


def test_each_row_names_its_part_and_its_warps(monkeypatch):
    shown = []
    monkeypatch.setattr(clock_pictures, "show", lambda figure, alt: shown.append(figure))
    clock_pictures.clock_timeline()
    names = [label.get_text() for label in shown[0].axes[0].get_yticklabels()]
    assert names[0] == "shared memory"
    assert names[1] == "part 0: warps 0, 4, ..."
    assert names[-1] == "part 3: warps 3, 7, ..."
    for (slot, _), warp in clock_pictures.schedule(1, 1, 16).multiply_adds.items():
        assert warp % clock_pictures.SLOTS == slot


def test_the_alt_text_counts(capsys):
    clock_pictures.clock_timeline()
    said = capsys.readouterr().out
    assert "serves 16 passes" in said
    assert "starts 8 of 64 possible multiply-adds" in said
