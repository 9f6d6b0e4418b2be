"""What is compiled is run with the learner's rights: whose it is, and that it is whole."""

import errno
import os
import stat
from pathlib import Path

import pytest

from labkit.fpga.errors import ToolError
from labkit.fpga.simulate import simulate
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain import cpp
from labkit.fpga.toolchain.cached import cached
from labkit.fpga.toolchain.models import compiled

SKID = Path(__file__).parents[1] / "modules" / "skid.sv"
STRANGER = 12345


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fpga"


@pytest.fixture
def give_away(monkeypatch):
    """Makes a file or folder another user's; who is not root becomes another user instead."""

    def give(path):
        if os.getuid() == 0:
            os.chown(path, STRANGER, -1)
        else:
            monkeypatch.setattr(os, "getuid", lambda: STRANGER)

    return give


def write(path):
    path.write_text("compiled")


def never(path):
    raise AssertionError("made again")


# --- whose it is


def test_a_folder_of_another_user_is_refused(cache, give_away):
    cpp.kept("one.so", ["one"], write)
    give_away(cache)
    with pytest.raises(ToolError, match=r"fpga belongs to another user \(number \d+\)") as refused:
        cpp.kept("one.so", ["one"], never)
    said = str(refused.value)
    assert str(cache) in said and "nothing was loaded" in said
    assert said.endswith("or name a folder of your own in the environment variable LABKIT_CACHE.")
    with pytest.raises(ToolError, match="belongs to another user"):
        cpp.kept("two.so", ["two"], never)  # nothing is written there, either


def test_a_library_of_another_user_is_refused(cache, give_away):
    path = cpp.kept("one.so", ["one"], write)
    give_away(path)
    with pytest.raises(ToolError, match=r"one-\w+\.so belongs to another user .* Remove it, or"):
        cpp.kept("one.so", ["one"], never)


def test_a_simulation_loads_nothing_of_another_user(cache, give_away):
    library = compiled(read_sources(SKID, "skid"), "cxxrtl").library
    give_away(library)
    with pytest.raises(ToolError, match="belongs to another user"):
        simulate(SKID, "skid", {"x": [1]})
    library.unlink()


@pytest.mark.parametrize("which", ["folder", "library"])
def test_what_everybody_may_write_is_refused(cache, which):
    path = cpp.kept("one.so", ["one"], write)
    open_one = cache if which == "folder" else path
    open_one.chmod(open_one.stat().st_mode | stat.S_IWOTH)
    words = rf"Other users may write to {open_one}, .*`chmod go-w {open_one}`; else remove it, or"
    with pytest.raises(ToolError, match=words):
        cpp.kept("one.so", ["one"], never)
    open_one.chmod(open_one.stat().st_mode & ~stat.S_IWOTH)
    assert cpp.kept("one.so", ["one"], never) == path


def test_a_group_may_write_only_if_it_is_the_learners_own(cache, monkeypatch):
    path = cpp.kept("one.so", ["one"], write)
    cache.chmod(0o775)
    assert cpp.kept("one.so", ["one"], never) == path
    other = os.getegid() + 1
    monkeypatch.setattr(os, "getegid", lambda: other)
    with pytest.raises(ToolError, match="Other users may write"):
        cpp.kept("one.so", ["one"], never)


def test_what_is_made_is_for_nobody_else_to_write(cache):
    before = os.umask(0)
    try:
        path = cpp.kept("one.so", ["one"], write)
        assert cpp.kept("one.so", ["one"], never) == path
    finally:
        os.umask(before)
    assert not [p for p in (path, cache) if p.stat().st_mode & 0o022]


def test_an_answer_of_another_user_is_made_again(cache, give_away):
    cached("kind", ["a"], lambda: {"n": 1})
    (path,) = cache.rglob("*.json")
    give_away(path)
    assert cached("kind", ["a"], lambda: {"n": 2}) == {"n": 2}


# --- a disk that is full


def test_what_is_half_written_is_never_kept(cache, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ToolError, match=r"cannot be written to .*No space left.*Make room"):
            cpp.kept("one.so", ["one"], write)
    assert list(cache.iterdir()) == []
    assert cpp.kept("one.so", ["one"], write).read_text() == "compiled"


def test_a_compiler_that_finds_the_disk_full_says_nothing_of_the_source(
    cache, tmp_path, monkeypatch
):
    words = "cc1plus: fatal error: /tmp/x.s: No space left on device"
    fake = tmp_path / "full-compiler"
    fake.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exit\n'
        f'for a; do out=$a; done\necho half >"$out"\necho "{words}" >&2\nexit 1'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    with pytest.raises(ToolError, match=r"the disk is full\. Make room, or"):
        cpp.kept("one.so", ["one"], lambda path: cpp.compile_cpp(["-o", path], tmp_path))
    assert list(cache.iterdir()) == []


def test_a_source_that_cannot_be_laid_out_is_no_refusal(monkeypatch):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    sources = read_sources(SKID, "skid")
    monkeypatch.setattr(Path, "write_text", full)
    words = r"cannot be written to .*No space left.*TMPDIR"
    with pytest.raises(ToolError, match=words), sources.laid_out():
        raise AssertionError("laid out")


# --- another compiler


def test_what_another_compiler_made_is_not_taken(cache, tmp_path, monkeypatch):
    paths = []
    for version in ("12.2.0", "13.1.0"):
        one = tmp_path / version / "c++"
        one.parent.mkdir()
        one.write_text(f"#!/bin/sh\necho 'g++ {version}'")
        one.chmod(0o755)
        monkeypatch.setenv("CXX", str(one))
        paths.append(cpp.kept("one.so", ["one"], write))
    assert len(set(paths)) == 2


def test_the_same_compiler_after_an_upgrade_is_another(cache, tmp_path, monkeypatch):
    paths = []
    for version in ("12.2.0", "13.1.0"):
        monkeypatch.setattr(cpp, "compiler_version", lambda path, version=version: version)
        paths.append(cpp.kept("one.so", ["one"], write))
    assert len(set(paths)) == 2
