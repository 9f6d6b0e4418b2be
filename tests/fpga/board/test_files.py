"""The board's files: its own tree, bounded, with a door to its configuration."""

import pytest

from labkit.fpga.board import files
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.files import FIRMWARE, MANAGER, Files


@pytest.fixture
def loaded():
    return []


@pytest.fixture
def tree(loaded):
    return Files(loaded.append)


def test_what_pynq_looks_for(tree):
    assert b"armv7l" in tree.read("/proc/version") and b"aarch64" not in tree.read("/proc/version")
    assert tree.exists("/proc/device-tree/chosen/pynq_board")
    assert tree.read(MANAGER + "state") == b"operating\n"
    assert not tree.exists("/proc/device-tree/family")
    assert tree.exists("/proc") and tree.exists("/sys/class/")


def test_files_come_back_as_they_were_written(tree):
    tree.write("/tmp/a", b"one")
    tree.write("/tmp/a", b"two")
    assert tree.read("/tmp/a") == b"two"
    assert tree.exists("/tmp") and not tree.exists("/tm")


def test_nothing_of_this_computer_is_there(tree, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("secret")
    for path in (str(mine), "/etc/passwd", __file__):
        assert not tree.exists(path)
        with pytest.raises(BoardError, match="none of your computer's"):
            tree.read(path)
    tree.write(str(mine), b"other")
    assert mine.read_text() == "secret"


@pytest.mark.parametrize("path", ["", "x", "../x", "/a/../b", "/a\0b", "/proc/version", "/proc/x"])
def test_paths_that_may_not_be_written(tree, path):
    with pytest.raises(BoardError):
        tree.write(path, b"")


def test_names_number_and_bytes_are_bounded(tree, monkeypatch):
    with pytest.raises(BoardError, match="at most 255 letters"):
        tree.write("/" + 255 * "x", b"")
    monkeypatch.setattr(files, "MOST_BYTES", 100)
    tree.write("/a", bytes(60))
    tree.write("/a", bytes(90))
    with pytest.raises(BoardError, match="at most 100 bytes"):
        tree.write("/b", bytes(20))
    monkeypatch.setattr(files, "MOST_FILES", 2)
    with pytest.raises(BoardError, match="has 2 files already"):
        tree.write("/c", b"")


def test_the_managers_files(tree, loaded):
    tree.write(FIRMWARE + "x.bin", b"...")
    tree.write(MANAGER + "flags", b"0")
    tree.write(MANAGER + "firmware", b"x.bin\n")
    assert loaded == ["x.bin"]
    with pytest.raises(BoardError, match="takes 0"):
        tree.write(MANAGER + "flags", b"\x8d")
