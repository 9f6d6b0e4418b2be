"""What a lesson shows of a video: pictures side by side, and a screen that changes.

    row({"frame 0": frame.pixels, "edges": grey})
    screen = Screen()
    screen.write(frame.pixels, frame.box, "cat")

Lesson video_in_video_out shows them.
"""

import base64
import io
from collections.abc import Mapping
from itertools import count

import numpy as np

from labkit.figures.style import canvas, in_notebook, show
from labkit_lessons.fpga.video_in_video_out.video_frame import Box, labelled

WIDTH = 7.5  # inches of a row
TITLE = 0.4  # inches above a picture
NARROW = 320  # pixels of a frame on the screen: enough to see, and a small file
QUALITY = 80  # of its JPEG
_screens = count()


def row(pictures: Mapping[str, np.ndarray]) -> None:
    """Pictures of one size side by side, grey [H,W] or coloured [H,W,3] uint8, each named.

    Raises ValueError for no picture, and for pictures of several sizes.
    """
    sizes = {np.shape(picture)[:2] for picture in pictures.values()}
    if len(sizes) != 1:
        raise ValueError(f"row: pictures of one size, not of {len(sizes)} sizes.")
    (height, width), *_ = sizes
    each = WIDTH / len(pictures)
    figure, axes = canvas(WIDTH, each * height / width + TITLE, columns=len(pictures))
    for place, (name, picture) in zip(np.atleast_1d(axes), pictures.items(), strict=True):
        place.imshow(picture, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        place.set_title(name)
        place.set_axis_off()
    figure.get_layout_engine().set(h_pad=0.06)
    sizes = f"{width} x {height} pixels"
    alt = f"Pictures of {sizes} side by side: {', '.join(pictures)}."
    show(figure, alt, photographs=True)


def exact(grey: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Grey [H,W] through the real taps [3,3], limited to 0..255 and not rounded, float64[H,W]."""
    height, width = grey.shape
    padded = np.pad(grey.astype(np.float64), 1)
    sums = np.zeros((height, width))
    for r in range(3):
        for s in range(3):
            sums += kernel[r, s] * padded[r : r + height, s : s + width]
    return np.clip(sums, 0, 255)


def inside(box: Box, picture: np.ndarray) -> np.ndarray:
    """What of a picture [H,W] or [H,W,3] lies within a box."""
    return picture[box.top : box.top + box.height, box.left : box.left + box.width]


class Screen:
    """One picture in the notebook that changes with each frame, as `video_out` does on a board.

    Outside a notebook it shows nothing. `frames` is how many have been written.
    """

    def __init__(self) -> None:
        self.frames = 0
        self._id = f"screen-{next(_screens)}"

    def write(self, pixels: np.ndarray, box: Box, text: str) -> None:
        """Shows a frame [H,W,3] uint8 with its labelled box; raises ValueError as `labelled`."""
        marked = labelled(pixels, box, text)
        if in_notebook():
            self._display(jpeg(marked), f"A frame of the video, with {text} written at its box.")
        self.frames += 1

    def _display(self, picture: bytes, alt: str) -> None:
        from IPython.display import display

        display(
            {"image/jpeg": base64.b64encode(picture).decode(), "text/plain": alt},
            raw=True,
            metadata={"image/jpeg": {"alt": alt}},
            display_id=self._id,
            update=self.frames > 0,
        )


def jpeg(pixels: np.ndarray) -> bytes:
    """A frame [H,W,3] uint8 as JPEG, at most NARROW pixels wide."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    picture.thumbnail((NARROW, NARROW))
    buffer = io.BytesIO()
    picture.save(buffer, format="jpeg", quality=QUALITY)
    return buffer.getvalue()
