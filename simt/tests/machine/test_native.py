"""Compiling C once: the cache, a missing compiler, a compiler that refuses."""

import os

import pytest

from numba_simt.execution import native

SOURCE = "int twice(int x) { return FACTOR * x; }\n"


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_SIMT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "code" / "twice.c"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


def test_a_library_is_compiled_once_for_what_it_is_made_of(source, tmp_path):
    assert native.library(source, "#define FACTOR 2\n").twice(21) == 42
    kept = list((tmp_path / "cache").glob("*.so"))
    assert native.library(source, "#define FACTOR 2\n").twice(4) == 8
    assert list((tmp_path / "cache").glob("*.so")) == kept
    assert native.library(source, "#define FACTOR 3\n").twice(4) == 12
    (source.parent / "more.h").write_text("// counts as a part of it\n")
    native.library(source, "#define FACTOR 3\n")
    assert len(list((tmp_path / "cache").iterdir())) == 3, "nothing else is left behind"


def test_without_a_compiler_it_says_what_to_install(source, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"apt install gcc.*xcode-select"):
        native.library(source)


def test_what_the_compiler_refuses_is_shown(source):
    with pytest.raises(RuntimeError, match=r"could not compile twice\.c(.|\n)*FACTOR"):
        native.library(source)


def test_a_cache_that_cannot_be_made_is_done_without(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NUMBA_SIMT_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(native.tempfile, "tempdir", str(tmp_path))
    assert native.library(source, "#define FACTOR 2\n").twice(3) == 6
    assert os.path.isfile(tmp_path / "file")


@pytest.mark.parametrize("theirs", ["folder", "library"])
def test_what_another_user_may_have_put_there_is_not_loaded(source, tmp_path, monkeypatch, theirs):
    native.library(source, "#define FACTOR 2\n")
    (kept,) = (tmp_path / "cache").glob("*.so")
    given = kept if theirs == "library" else kept.parent
    if os.getuid() == 0:
        os.chown(given, 12345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(RuntimeError, match=r"belongs to another user .* NUMBA_SIMT_CACHE\.$"):
        native.library(source, "#define FACTOR 2\n")


def test_another_version_of_the_compiler_compiles_anew(source, tmp_path, monkeypatch):
    native.library(source, "#define FACTOR 2\n")
    monkeypatch.setattr(native, "_version", lambda compiler: "of tomorrow")
    assert native.library(source, "#define FACTOR 2\n").twice(21) == 42
    assert len(list((tmp_path / "cache").glob("*.so"))) == 2


def test_what_a_wheel_brings_compiled_needs_no_compiler(source, tmp_path, monkeypatch):
    made = native.compile_for_wheel(source, "#define FACTOR 2\n")
    assert made and all(path.parent == source.parent for path in made)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    assert native.library(source, "#define FACTOR 2\n").twice(21) == 42
    assert not (tmp_path / "cache").exists(), "nothing was compiled here"
    with pytest.raises(RuntimeError, match="needs a C compiler"):  # it is of another header
        native.library(source, "#define FACTOR 3\n")
    source.write_text(SOURCE.replace("x)", "x )"))
    with pytest.raises(RuntimeError, match="needs a C compiler"):  # and of another source
        native.library(source, "#define FACTOR 2\n")


def test_a_compiler_that_is_not_there_is_named(source, monkeypatch):
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.raises(RuntimeError, match=r"/nowhere/cc cannot be started .No such file"):
        native.library(source)


def test_a_cache_that_is_a_file_is_passed_by(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(native.CACHE, str(tmp_path / "file"))
    assert native.library(source, "#define FACTOR 2\n").twice(21) == 42
