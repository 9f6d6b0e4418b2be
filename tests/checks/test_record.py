"""The progress file: nothing is lost, nothing raises, what goes wrong is said once."""

import errno
import json
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.checks import record
from labkit.checks.ask import hint, predict, quiz
from labkit.checks.judge import check
from labkit.checks.record import load, record_check


def stored(home):
    return json.loads((home / "progress.json").read_text())


def test_what_is_done_is_recorded(home, right, capsys):
    check("toy.linear", lambda x, w, b: x)
    check("toy.linear", right)
    check("toy.linear", lambda x, w, b: x)
    hint("toy.linear", 2)
    hint("toy.linear", 1)
    predict("toy.bytes", 12, "MB")
    predict("toy.bytes", 20, "MB")
    quiz("toy.why", "b")
    quiz("toy.why", "a")
    found = load()
    exercise = found["exercises"]["toy.linear"]
    assert (exercise["attempts"], exercise["solved"]) == (3, True), "solved stays solved"
    assert found["hints"] == {"toy.linear": 2}
    assert found["predictions"]["toy.bytes"] == {"value": 20.0, "unit": "MB", "first": 12.0}
    assert found["quizzes"]["toy.why"] == {"attempts": 2, "solved": True, "answer": "a"}
    assert stored(home)["version"] == 1
    assert exercise["date"] not in capsys.readouterr().out


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", " off "])
def test_recording_can_be_switched_off(home, right, monkeypatch, word):
    monkeypatch.setenv("LABKIT_PROGRESS", word)
    assert check("toy.linear", right) is right
    assert list(home.iterdir()) == []
    assert load() == record._parse({})


def test_default_place_is_the_users_data_folder(monkeypatch):
    monkeypatch.delenv("LABKIT_HOME")
    assert record.path().name == "progress.json"
    assert record.path().parent.name == "labkit"


BROKEN = [
    '{"exercises": {"toy.lin',
    "",
    "null",
    "[]",
    '{"exercises": 3}',
    '{"exercises": {"toy.linear": {"attempts": "many", "solved": true}}}',
    '{"hints": {"toy.linear": null}}',
    '{"predictions": {"toy.bytes": []}}',
    '{"exercises": {"toy.linear": {"attempts": Infinity, "solved": 1}}}',
    "[" * 100_000,
    "\x00\x00",
]


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:20] or "empty")
def test_a_broken_file_is_set_aside_and_said(home, capsys, text):
    (home / "progress.json").write_text(text)
    record_check("toy.linear", solved=True)
    assert (home / "progress.json.broken-1").read_text() == text, "nothing is lost"
    assert load()["exercises"]["toy.linear"]["solved"]
    said = " ".join(capsys.readouterr().out.split())
    assert "could not be read. It is kept as progress.json.broken-1." in said
    (home / "progress.json").write_bytes(b"\xff\xfe")
    assert load() == record._parse({})
    assert (home / "progress.json.broken-2").read_bytes() == b"\xff\xfe"


def test_what_a_later_version_has_stored_is_kept(home):
    later = {"version": 2, "badges": ["gold"], "exercises": {
        "toy.linear": {"attempts": 1, "solved": True, "seconds": 5}}}  # fmt: skip
    (home / "progress.json").write_text(json.dumps(later))
    record_check("toy.linear", solved=False)
    assert stored(home)["badges"] == ["gold"]
    assert stored(home)["version"] == 2
    assert stored(home)["exercises"]["toy.linear"] == {"attempts": 2, "solved": True, "seconds": 5}


def test_a_home_that_cannot_be_written_is_said_once(home, right, monkeypatch, capsys):
    (home / "file").write_text("")
    monkeypatch.setenv("LABKIT_HOME", str(home / "file" / "below"))
    assert check("toy.linear", right) is right
    check("toy.linear", max)
    hint("toy.linear")
    assert load() == record._parse({})
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("Your progress cannot be saved in") == 1
    assert "The lesson works all the same." in out


def test_a_full_disk_leaves_the_old_file(home, monkeypatch, capsys):
    record_check("toy.linear", solved=True)
    before = (home / "progress.json").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record.os, "fsync", full)
    record_check("toy.linear", solved=False)
    assert (home / "progress.json").read_bytes() == before
    assert "No space left on device" in " ".join(capsys.readouterr().out.split())
    assert {p.name for p in home.iterdir()} == {"progress.json", "progress.lock"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no O_NOFOLLOW")
def test_a_lock_that_is_a_link_harms_no_file(home, tmp_path, capsys):
    """As somebody else could lay it into a folder where several users write."""
    (tmp_path / "precious").write_text("kept")
    home.mkdir(exist_ok=True)
    (home / "progress.lock").symlink_to(tmp_path / "precious")
    record.record_hint("toy.linear", 1)
    assert (tmp_path / "precious").read_text() == "kept"
    assert "cannot be saved" in capsys.readouterr().out


def test_on_colab_it_is_in_drive_where_that_is_mounted(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "on")
    monkeypatch.delenv("LABKIT_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(record, "DRIVE", tmp_path / "drive")
    (tmp_path / "drive").mkdir()
    elsewhere = record.path()
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    assert record.path() == tmp_path / "drive" / "four-machines" / "progress.json"
    record_check("toy.linear", solved=True)
    assert load()["exercises"]["toy.linear"]["solved"] and record.path().is_file()
    (tmp_path / "drive").rename(tmp_path / "unmounted")
    assert record.path() == elsewhere


def test_where_there_are_no_locks_nobody_waits(home, monkeypatch):
    import fcntl

    def flock(*_):
        raise OSError(errno.ENOSYS, "not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(record.time, "sleep", lambda _: pytest.fail("it waits"))
    record_check("toy.linear", solved=True)
    assert load()["exercises"]["toy.linear"]["solved"]


def test_a_lock_that_is_never_released_does_not_hang(home, right, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(record, "PATIENCE", 0.1)
    with open(home / "progress.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        record_check("toy.linear", solved=True)
    assert load()["exercises"]["toy.linear"]["solved"]


WRITER = """
import sys
from labkit.checks.record import record_check, record_hint
for number in range(20):
    record_check(f"toy.{sys.argv[1]}{number}", solved=True)
    record_check("toy.shared", solved=False)
"""


def test_two_notebooks_at_once_lose_nothing():
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, name]) for name in "ab"]
    threads = [
        threading.Thread(target=lambda n=n: [record_check(f"toy.t{n}", True) for _ in range(10)])
        for n in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert [writer.wait(600) for writer in writers] == [0, 0]
    found = load()["exercises"]
    assert len(found) == 43
    assert found["toy.shared"]["attempts"] == 40
    assert found["toy.t0"]["attempts"] == found["toy.t1"]["attempts"] == 10


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NAMES = st.sampled_from(["exercises", "quizzes", "predictions", "hints", "version", "x"])


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=JSON | st.dictionaries(NAMES, JSON))
def test_no_content_makes_recording_raise(home, content):
    (home / "progress.json").write_text(json.dumps(content))
    record_check("toy.linear", solved=True)
    record.record_quiz("toy.why", "a", True)
    assert load()["exercises"]["toy.linear"]["solved"] is True
    for path in home.glob("*.broken-*"):
        os.unlink(path)
