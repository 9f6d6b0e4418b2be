"""Pictures of a video: what they say, what they refuse, and a screen in a notebook."""

import base64
import io

import numpy as np
import pytest
from IPython import display as ipython_display
from PIL import Image

from labkit_lessons.fpga.video_in_video_out import video_pictures
from labkit_lessons.fpga.video_in_video_out.video_frame import Box, Frame, widened

GREY = np.arange(35, dtype=np.uint8).reshape(5, 7)


def test_a_row_names_its_pictures(capsys):
    video_pictures.row({"before": GREY, "after": 2 * GREY})
    said = capsys.readouterr().out
    assert said == "Pictures of 7 x 5 pixels side by side: before, after.\n"
    for wrong in ({}, {"a": GREY, "b": GREY.T}):
        with pytest.raises(ValueError, match="pictures of one size"):
            video_pictures.row(wrong)


def test_exact_sums_at_the_border_and_at_the_limits():
    shifted = np.zeros((3, 3))
    shifted[0, 1] = 1.5  # the pixel above
    got = video_pictures.exact(GREY, shifted)
    assert np.array_equal(got[1:], 1.5 * GREY[:-1]) and not got[0].any()
    assert video_pictures.exact(GREY, np.full((3, 3), 9.0)).max() == 255
    assert video_pictures.exact(GREY, np.full((3, 3), -9.0)).max() == 0


def test_inside_a_box():
    assert np.array_equal(video_pictures.inside(Box(2, 1, 3, 4), GREY), GREY[1:5, 2:5])


@pytest.mark.parametrize(
    ("box", "margin", "wider"),
    [
        (Box(20, 30, 10, 8), 0, Box(20, 30, 10, 8)),
        (Box(20, 15, 10, 8), 5, Box(15, 10, 20, 18)),
        (Box(2, 3, 10, 8), 5, Box(0, 0, 20, 18)),
        (Box(50, 32, 10, 8), 5, Box(40, 22, 20, 18)),
    ],
)
def test_a_wider_box_stays_within_the_frame(box, margin, wider):
    frame = Frame(np.zeros((40, 60, 3), np.uint8), box)
    assert widened(frame, margin) == wider


def test_boxes_that_cannot_be_widened():
    black = np.zeros((40, 60, 3), np.uint8)
    with pytest.raises(ValueError, match="has no box"):
        widened(Frame(black), 1)
    with pytest.raises(ValueError, match="not within the frame"):
        widened(Frame(black, Box(0, 0, 10, 30)), 6)


def test_a_screen_is_one_picture_that_changes(monkeypatch):
    shown = []
    monkeypatch.setattr(video_pictures, "in_notebook", lambda: True)
    monkeypatch.setattr(
        ipython_display, "display", lambda data, **options: shown.append((data, options))
    )
    screen, other = video_pictures.Screen(), video_pictures.Screen()
    for number in range(3):
        screen.write(np.full((480, 640, 3), 80 * number, np.uint8), Box(9, 90, 60, 50), "cat")
    other.write(np.zeros((48, 64, 3), np.uint8), Box(9, 9, 6, 5), "dog")
    assert screen.frames == 3
    first, second, third, fourth = [options for _, options in shown]
    assert first["display_id"] == second["display_id"] == third["display_id"]
    assert fourth["display_id"] != first["display_id"]
    assert [o["update"] for o in (first, second, third, fourth)] == [False, True, True, False]
    data, options = shown[2]
    assert data["text/plain"] == options["metadata"]["image/jpeg"]["alt"]
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/jpeg"])))
    assert picture.size == (320, 240)
    assert abs(int(np.array(picture)[200, 300, 0]) - 160) < 3  # the third frame's grey


def test_outside_a_notebook_a_screen_only_counts(capsys):
    screen = video_pictures.Screen()
    screen.write(np.zeros((48, 64, 3), np.uint8), Box(9, 9, 6, 5), "dog")
    assert screen.frames == 1 and not capsys.readouterr().out
