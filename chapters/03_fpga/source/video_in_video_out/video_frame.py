"""A frame of a video: its pixels, what a box of it shows, and a frame with a label drawn on it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

MARK = (230, 159, 0)  # the course's orange
THICKNESS = 3  # pixels of a drawn box
LETTERS = 20  # pixels that a line of text is high


class Box(NamedTuple):
    """A rectangle of a frame, in pixels from its upper left corner."""

    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a video.

    pixels       uint8[H,W,3]: red, green, blue
    box          where the photograph is, if that is known
    label        its class, if that is known: 0 to 9
    photograph   uint8[3,32,32], what was enlarged, if that is known
    """

    pixels: np.ndarray
    box: Box | None = None
    label: int | None = None
    photograph: np.ndarray | None = None


def crop_and_resize(frame: np.ndarray, box: Box, side: int = 32) -> np.ndarray:
    """What a box of frame[H,W,3] uint8 shows, as a network takes it: uint8[3,side,side].

    Each result is the mean over its area, and pixels that lie in it in part count in part.
    Raises ValueError for another frame, a box that is not within it, and a side below 1.
    """
    frame, box = _frame(frame, "crop_and_resize"), _within(frame, box, "crop_and_resize")
    if not isinstance(side, int | np.integer) or side < 1:
        raise ValueError(f"crop_and_resize: side is {side!r}; it has to be a whole number from 1.")
    cut = frame[box.top : box.top + box.height, box.left : box.left + box.width]
    rows, columns = _shares(box.height, side), _shares(box.width, side)
    means = np.einsum(
        "ih,hwc,jw->cij",
        rows,
        cut.astype(np.float64),
        columns,
        optimize=True,
    )
    return np.rint(means).astype(np.uint8)


def widened(frame: Frame, margin: int) -> Box:
    """The frame's box with `margin` pixels more on each side, moved into the frame.

    Raises ValueError for a frame without a box, and for a box that is too large for the frame.
    """
    if frame.box is None:
        raise ValueError("widened: this frame has no box.")
    height, width = frame.pixels.shape[:2]
    left, top, across, down = frame.box
    across, down = across + 2 * margin, down + 2 * margin
    left = min(max(left - margin, 0), width - across)
    top = min(max(top - margin, 0), height - down)
    return _within(frame.pixels, Box(left, top, across, down), "widened")


def labelled(frame: np.ndarray, box: Box, text: str) -> np.ndarray:
    """A copy of frame[H,W,3] uint8 with the box's outline and a line of text at its upper edge.

    Raises ValueError for another frame, and a box that is not within it.
    """
    from PIL import Image, ImageDraw, ImageFont

    frame, box = _frame(frame, "labelled"), _within(frame, box, "labelled")
    picture = Image.fromarray(frame)
    draw = ImageDraw.Draw(picture)
    right, bottom = box.left + box.width - 1, box.top + box.height - 1
    draw.rectangle((box.left, box.top, right, bottom), outline=MARK, width=THICKNESS)
    try:
        font = ImageFont.load_default(LETTERS)
    except TypeError:  # Pillow 10.0 has one size only
        font = ImageFont.load_default()
    text = " ".join(str(text).split())
    above = box.top - LETTERS - 4
    corner = (box.left + THICKNESS, above if above >= 0 else box.top + THICKNESS)
    if text:
        draw.rectangle(draw.textbbox(corner, text, font=font), fill=MARK)
        draw.text(corner, text, fill=(0, 0, 0), font=font)
    return np.array(picture)


def _shares(pixels: int, results: int) -> np.ndarray:
    """float64[results, pixels]: the part that each pixel has in each result; rows add up to 1."""
    edges = np.arange(results + 1) * (pixels / results)
    first, last = edges[:-1, None], edges[1:, None]
    pixel = np.arange(pixels)[None]
    overlap = np.minimum(last, pixel + 1) - np.maximum(first, pixel)
    return np.clip(overlap, 0, None) * (results / pixels)


def _frame(frame: np.ndarray, name: str) -> np.ndarray:
    frame = np.asarray(frame)
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or not frame.size:
        raise ValueError(
            f"{name}: a frame is uint8 [H, W, 3]; this one is {frame.dtype} {list(frame.shape)}."
        )
    return frame


def _within(frame: np.ndarray, box: Box, name: str) -> Box:
    """The box, when it is one of whole pixels within the frame."""
    try:
        box = Box(*box)
        whole = all(float(number) == int(number) for number in box)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise ValueError(f"{name}: a box is (left, top, width, height) in whole pixels: {box!r}.")
    box = Box(*map(int, box))
    height, width = np.shape(frame)[:2]
    inside = box.left >= 0 and box.top >= 0 and box.width > 0 and box.height > 0
    if not inside or box.left + box.width > width or box.top + box.height > height:
        raise ValueError(
            f"{name}: {tuple(box)} is not within the frame of {width} x {height} pixels; a box is "
            "(left, top, width, height)."
        )
    return box
