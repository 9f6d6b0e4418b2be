"""`frames`: each source, and the sentence where it is not there."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from labkit_lessons.fpga.video_in_video_out import video
from labkit_lessons.fpga.video_in_video_out.video import VideoError, frames


class Container:
    """What PyAV opens: three frames, then as much as it is told."""

    def __init__(self, error=None, streams=(0,)):
        self.streams = SimpleNamespace(video=streams)
        self.error = error
        self.closed = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.closed = True

    def decode(self, video):
        for value in range(3):
            pixels = np.full((4, 5, 3), value, np.uint8)
            yield SimpleNamespace(to_ndarray=lambda format, pixels=pixels: pixels)
        if self.error:
            raise self.error


@pytest.fixture
def pyav(monkeypatch):
    """A stand-in for PyAV; `pyav.container` is what it opens."""
    package, errors = ModuleType("av"), ModuleType("av.error")
    errors.FFmpegError = type("FFmpegError", (Exception,), {})
    package.container = Container()
    package.error = errors

    def opened(path, **options):
        if package.container is None:
            raise errors.FFmpegError("Invalid data")
        package.options = options
        return package.container

    package.open = opened
    monkeypatch.setitem(sys.modules, "av", package)
    monkeypatch.setitem(sys.modules, "av.error", errors)
    return package


@pytest.fixture
def clip(tmp_path):
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"no real one")
    return path


def test_a_scene_ends_by_itself():
    assert len(list(frames(height=64, width=64, scale=1))) == video.COUNT
    assert len(list(frames("scene", count=7, seed=2))) == 7


def test_a_file(pyav, clip):
    found = list(frames(str(clip)))
    assert [int(frame.pixels.max()) for frame in found] == [0, 1, 2]
    assert found[0].box is None and found[0].label is None
    assert pyav.container.closed
    assert len(list(frames(clip, count=2))) == 2


def test_files_that_are_none(pyav, clip, tmp_path):
    with pytest.raises(VideoError, match="There is no video file"):
        frames(tmp_path / "none.mp4")
    pyav.container = Container(streams=())
    with pytest.raises(VideoError, match="has no pictures"):
        frames(clip)
    pyav.container = Container(error=pyav.error.FFmpegError("broken"))
    with pytest.raises(VideoError, match="is damaged: broken"):
        list(frames(clip))
    pyav.container = None
    with pytest.raises(VideoError, match="cannot be read as a video: Invalid data"):
        frames(clip)


def test_without_pyav(monkeypatch, clip):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(VideoError, match="pip install av"):
        frames(clip)


def test_a_webcam(pyav, monkeypatch, tmp_path, clip):
    monkeypatch.setattr(video, "WEBCAM", tmp_path / "video0")
    with pytest.raises(VideoError, match="There is no webcam"):
        frames("webcam")
    monkeypatch.setattr(video, "WEBCAM", clip)
    assert len(list(frames("webcam", count=2))) == 2
    assert pyav.options == {"format": "v4l2"}


def test_hdmi():
    with pytest.raises(VideoError, match="on a real board only"):
        frames("hdmi")
    red = np.zeros((2, 2, 3), np.uint8)
    red[..., 2] = 200  # blue, green, red
    (frame,) = frames(SimpleNamespace(readframe=lambda: red), count=1)
    assert frame.pixels[0, 0].tolist() == [200, 0, 0]


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("scene", {"count": 0}, "count is 0"),
        ("scene", {"count": 2.5}, "count is 2.5"),
        ("scene", {"speed": 2}, "these are speed"),
        ("clip.mp4", {"seed": 2}, "only a scene has options"),
        (7, {}, "this one is of type int"),
    ],
)
def test_what_is_no_source(source, options, words):
    with pytest.raises(ValueError, match=words):
        frames(source, **options)
