"""labkit.files: a file is whole or the old one, and nothing is lost."""

import os
import tempfile

import pytest

from labkit.files import (
    LONGEST_SOCKET,
    cache_folder,
    set_aside,
    socket_folder,
    write_whole,
)


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "new" / "record"
    write_whole(path, b"first")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert [found.name for found in path.parent.iterdir()] == ["record"]


def test_a_write_that_breaks_off_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "record"
    write_whole(path, b"first")

    def refuse(*paths):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="full"):
        write_whole(path, b"second")
    assert path.read_bytes() == b"first"
    assert [found.name for found in tmp_path.iterdir()] == ["record"]


def test_what_is_damaged_gets_the_next_free_number(tmp_path):
    for number in (1, 2, 3):
        path = tmp_path / "record"
        path.write_text(str(number))
        aside = set_aside(path)
        assert aside.name == f"record.broken-{number}" and aside.read_text() == str(number)
        assert not path.exists()


def test_a_damaged_file_can_go_to_another_folder(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "record").write_text("x")
    assert set_aside(tmp_path / "record", tmp_path / "kept") == tmp_path / "kept/record.broken-1"


def test_the_cache_folder_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("LABKIT_CACHE")
    assert cache_folder().name == "labkit"


def test_the_cache_folder_stays_where_a_link_has_led(tmp_path, monkeypatch):
    """Whoever may write where the link lies could change it after its target was looked at."""
    (tmp_path / "link").symlink_to(tmp_path / "ours")
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "link"))
    assert cache_folder() == tmp_path / "ours"


def test_a_folder_for_sockets_is_one_s_own_and_its_path_short(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 20)))
    folder = socket_folder("labkit-test-")
    try:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert len(os.fsencode(folder / "kernel-ipc-fork")) <= LONGEST_SOCKET
    finally:
        folder.rmdir()
