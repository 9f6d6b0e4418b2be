"""`frames(source)`: a video, frame by frame, wherever it comes from.

    for frame in frames("scene", count=100):
        small = crop_and_resize(frame.pixels, frame.box)    # uint8[3,32,32]

"scene" is drawn here; a file needs the package PyAV, and so does a webcam. On a real board,
`frames(base.video.hdmi_in, count=100)` reads from HDMI.
"""

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from labkit_lessons.fpga.video_in_video_out.video_frame import Frame
from labkit_lessons.fpga.video_in_video_out.video_scene import scene

COUNT = 100  # frames, where nothing else ends the video
WEBCAM = Path("/dev/video0")


class VideoError(Exception):
    """A source that is not there, or cannot be read; the text says what to do."""


def frames(source: Any = "scene", count: int | None = None, **options: Any) -> Iterator[Frame]:
    """The frames of a source, at most `count`.

    source    "scene"; the path of a video file; "webcam"; or an object with `readframe()`, which
              gives blue, green and red, as pynq's `hdmi_in` does
    count     by default all of a file, and 100 of any other source
    options   of the scene: `video_scene.scene`

    Raises ValueError for a wrong count or option, and VideoError for a source that is not there.
    """
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if count is not None and (not whole or count < 1):
        raise ValueError(f"frames: count is {count!r}; it has to be a whole number from 1 on.")
    if isinstance(source, str) and source == "scene":
        try:
            return scene(count or COUNT, **options)
        except TypeError as error:
            raise ValueError(
                "frames: a scene has the options height, width, scale, stay and seed; these are "
                f"{', '.join(options)}."
            ) from error
    if options:
        raise ValueError(f"frames: only a scene has options, such as {next(iter(options))}.")
    if hasattr(source, "readframe"):
        return islice(_read(source), count or COUNT)
    if isinstance(source, str) and source == "webcam":
        return islice(_webcam(), count or COUNT)
    if isinstance(source, str) and source == "hdmi":
        raise VideoError(
            "HDMI is on a real board only, behind its base overlay. There, call "
            "frames(base.video.hdmi_in); here, frames() gives a scene."
        )
    if not isinstance(source, str | Path):
        raise ValueError(
            'frames: a source is "scene", the path of a file, "webcam", or an object with '
            f"readframe(); this one is of type {type(source).__name__}."
        )
    return islice(_file(Path(source)), count)


def _file(path: Path) -> Iterator[Frame]:
    if not path.is_file():
        raise VideoError(f"There is no video file {path}. Without one, frames() gives a scene.")
    return _decoded(str(path), str(path))


def _webcam() -> Iterator[Frame]:
    if not WEBCAM.exists():
        raise VideoError(
            f"There is no webcam at {WEBCAM}, where Linux has the first one. On Colab and on a "
            "server there is none: frames() gives a scene."
        )
    return _decoded(str(WEBCAM), "the webcam", format="v4l2")


def _decoded(path: str, name: str, **options: str) -> Iterator[Frame]:
    """Frames by PyAV; the file is opened at once, so that a wrong one is told here."""
    try:
        av = import_module("av")
        failure = import_module("av.error").FFmpegError
    except ImportError:
        raise VideoError(
            f"To read {name}, the package PyAV is needed: pip install av. Without it, frames() "
            "gives a scene."
        ) from None
    try:
        container = av.open(path, **options)
    except (failure, OSError) as error:
        raise VideoError(f"{name} cannot be read as a video: {error}.") from error
    if not container.streams.video:
        container.close()
        raise VideoError(f"{name} has no pictures in it.")

    def frame_by_frame() -> Iterator[Frame]:
        with container:
            try:
                for frame in container.decode(video=0):
                    yield Frame(frame.to_ndarray(format="rgb24"))
            except failure as error:
                raise VideoError(f"{name} is damaged: {error}.") from error

    return frame_by_frame()


def _read(source: Any) -> Iterator[Frame]:
    while True:
        picture = source.readframe()
        pixels = np.array(picture)[..., ::-1]
        if hasattr(picture, "freebuffer"):
            picture.freebuffer()
        yield Frame(np.ascontiguousarray(pixels))
