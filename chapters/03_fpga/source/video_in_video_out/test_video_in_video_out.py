"""This lesson: its numbers follow from the board, the golden model, the answers and the sources."""

import re

import numpy as np
import pytest

from labkit import figures
from labkit.fpga.board import VirtualBoard
from labkit.fpga.board.pynq_package import pynq_cache
from labkit.fpga.convnet.published import DESIGNS
from labkit_lessons.fpga.video_in_video_out.video import frames
from labkit_lessons.fpga.video_in_video_out.video_frame import Box
from tests.fpga.circuits.cycles import filter_cycles
from tests.notebooks.running import Run

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")

CLIP, CROP, FILTER = "clip = list", "boxes give back", "video_pictures.exact"
LIVE, RATE, BOXES = "screen.write", "for camera in 60, 500", "def count_right"
WATCH, TRIAL = "def watch", "by_processor, processor"


@pytest.fixture(scope="module")
def lesson():
    """Its board stays, so that cells can run again; an address given up may be taken meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VirtualBoard, "stop", lambda board: None)
        run = Run("03_fpga", "9_video_in_video_out")
        yield run
    run.namespace["board"].stop()


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def row(said, name):
    """The numbers behind a name, in the one line that begins with it."""
    (line,) = (line.strip() for line in said.splitlines() if line.strip().startswith(name))
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", line[len(name) :])]


def test_the_published_numbers_at_the_top():
    fpga, processor = DESIGNS["cnv_w1a1"], DESIGNS["cnv_w1a1_arm"]
    assert round(1e6 * float(fpga.latency)) == 1_584 < round(1e6 / 60) == 16_667
    assert round(1e6 * float(processor.latency)) == 821_773 > 16_667
    assert fpga.board == processor.board and "C++" in processor.name
    assert "June 2017" in fpga.latency.source and "June 2017" in processor.latency.source


def test_the_frames(lesson):
    said = printed(lesson, CLIP)
    assert "(480, 640, 3)" in said and "width=192, height=192" in said and 6 * 32 == 192
    clip = list(frames("scene", count=20, stay=2))
    assert len({frame.photograph.tobytes() for frame in clip}) == 10


def test_the_box_by_hand(lesson):
    left = [[10, 20, 30, 0, 0, 0], [40, 50, 64, 0, 1, 5], [7, 7, 7, 9, 9, 9], [7, 7, 7, 9, 9, 9]]
    frame = np.array(left, np.uint8)[..., None]
    small = lesson.namespace["crop_and_resize"](frame, (0, 0, 6, 4), 2)
    assert small.tolist() == [[[36, 1], [7, 9]]]
    assert round((10 + 20 + 30 + 40 + 50 + 64) / 6, 2) == 35.67


def test_the_photographs_come_back(lesson):
    assert "20 of 20 boxes" in printed(lesson, CROP)
    said, _ = lesson.again(CROP, check=lambda id, f: lambda *given: np.zeros((3, 32, 32), np.uint8))
    assert "0 of 20 boxes" in said


def test_the_taps_by_hand(lesson):
    taps, shift = lesson.namespace["taps_and_shift"](np.array([[0.1, 0.8, -0.35]]))
    assert taps.tolist() == [[13, 102, -45]] and shift == 7
    assert taps[0] @ np.array([100, 50, 20]) == 5_500 and round(5_500 / 128, 2) == 42.97
    assert round(0.1 * 100 + 0.8 * 50 - 0.35 * 20, 9) == 43


def test_the_filter_on_the_board(lesson):
    said = printed(lesson, FILTER)
    assert row(said, "blur") == [114, 10, 0.778, 308_330]
    assert row(said, "edges") == [64, 4, 0.5, 308_330]
    assert round(100 * (9 * 114 / 1_024 - 1), 1) == 0.2
    assert filter_cycles(480, 640) == 481 * 641 + 9 == 308_330
    assert round(100_000_000 / 308_330) == 324


def test_the_labels_of_the_live_video_are_the_accelerators(lesson):
    assert len(lesson.namespace["labels"]) == 20
    golden, clip = lesson.namespace["golden"], lesson.namespace["clip"]
    assert lesson.namespace["labels"] == list(
        golden.predict(np.array([f.photograph for f in clip]))
    )
    assert "16 of 20" in printed(lesson, BOXES)
    assert "frames/s (measured on" in printed(lesson, LIVE)


def test_the_rates(lesson):
    frame_rate = lesson.namespace["frame_rate"]
    slow, fast = frame_rate(np.array([10, 10, 30]), [0, 0, 1], 1_000, 1e9)
    assert (slow, round(fast, 1)) == (20, 33.3)
    assert frame_rate(np.array([10, 10, 30]), [0, 0, 1], 1_000, 25) == (20, 25)
    said = printed(lesson, RATE)
    assert row(said, "60") == [60, 60] and row(said, "500") == [100, 108]
    assert round(1e8 / (3 * 308_330 + 73_778)) == 100 and round(1e8 / (3 * 308_330)) == 108
    assert 1e8 / 73_778 > 500, "the network alone keeps up, so the filter binds"


@pytest.mark.night(instead="chapters/03_fpga/9_video_in_video_out.ipynb")
def test_boxes_that_are_too_wide(lesson, monkeypatch):
    said = printed(lesson, BOXES)
    right = {"0 pixels wider": 164, "32 pixels wider": 135}
    for name, count in (right | {"the whole frame": 22}).items():
        assert row(said, name) == [count]
    assert 164 - 135 == 29 and 192 / 256 == 1 - 1 / 4
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.extend)
    changed = {"widened": lambda frame, margin: Box(0, 0, 640, 480), "labels": [0] * 20}
    said, _ = lesson.again(BOXES, **changed)
    assert "16 of 20" not in said
    assert row(said, "32 pixels wider") == [22] and float(drawn[0][2]) == 22


def test_the_trial(lesson):
    """The register moves with each job of the accelerator, and with nothing else."""
    said = printed(lesson, TRIAL)
    assert row(said, "PyTorch") == [15, 0] and row(said, "accelerator") == [15, 73_778]
    assert "the same label in 20 of 20 frames" in said
    said, _ = lesson.again(WATCH, TRIAL, crop_and_resize=lambda *given: np.zeros((3, 32, 32), "u1"))
    assert row(said, "PyTorch")[1] == 0 and row(said, "accelerator")[1] == 73_778
    assert row(said, "PyTorch")[0] < 15 and row(said, "accelerator")[0] < 15


def test_the_rule_on_a_new_frame_and_in_the_quiz():
    assert 721 * 1_281 + 9 == 923_610 and round(1e8 / 923_610) == 108
    assert (-0.5 * 2**8, 0.25 * 2**8) == (-128, 64)
