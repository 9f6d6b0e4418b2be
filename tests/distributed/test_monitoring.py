"""Event files: one for each rank and start, read back, damage told; the web page ends."""

import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import psutil
import pytest

from labkit.distributed.monitoring import EVENTS, RankLog, read_events, records, tensorboard
from labkit.distributed.step_log import LogError


@pytest.fixture
def events(tmp_path):
    for rank in range(2):
        for start in range(2):
            with RankLog(tmp_path, rank) as log:
                for step in range(3):
                    log.write(step, {"loss": 10 * rank + start + step / 4})
    return tmp_path


def test_each_rank_and_start_by_itself(events):
    found = read_events(events)
    assert list(found) == [0, 1] and all(len(starts) == 2 for starts in found.values())
    assert found[1][0]["loss"] == [(0, 10.0), (1, 10.25), (2, 10.5)]
    assert found[0][1]["loss"] == [(0, 1.0), (1, 1.25), (2, 1.5)]
    assert set(found[0][0]) == {"loss", "processor", "memory"}
    assert all(value > 1 for _, value in found[0][0]["memory"])


def test_the_rank_that_is_killed_loses_nothing(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from labkit.distributed.monitoring import RankLog\n"
        "log = RankLog(sys.argv[1], 0)\n"
        "for step in range(5): log.write(step, {'loss': step})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True)
    assert done.returncode == -9
    assert [step for step, _ in read_events(tmp_path)[0][0]["loss"]] == [0, 1, 2, 3, 4]


def test_tensorflow_is_not_loaded_for_it(tmp_path):
    code = (
        "import sys\n"
        "from labkit.distributed.monitoring import RankLog, read_events\n"
        "with RankLog(sys.argv[1], 0) as log: log.write(0, {'loss': 1})\n"
        "read_events(sys.argv[1])\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def one_file(events):
    return min((events / "rank-0").glob(EVENTS), key=lambda file: int(file.suffix[1:]))


def test_a_file_cut_off_anywhere_is_told_and_its_whole_records_can_be_had(events):
    file = one_file(events)
    data = file.read_bytes()
    whole = records(file)
    assert whole.damage == "" and whole.good_bytes == len(data) and whole.count == 10
    for length in (1, 11, 40, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:length])
        with pytest.raises(LogError, match=r"damaged at byte [\d,]+ \(it is cut off\)") as told:
            read_events(events)
        assert str(file) in str(told.value) and "up_to_damage=True" in str(told.value)
        kept = read_events(events, up_to_damage=True)[0]
        assert len(kept) == 2 and len(kept[1]["loss"]) == 3
        read = kept[0].get("loss", [])
        assert len(read) < 3 or length > len(data) - 60
        assert [step for step, _ in read] == list(range(len(read)))


@pytest.mark.parametrize(("place", "says"), [(3, "a length has"), (20, "a record has")])
def test_a_changed_byte_is_told(events, place, says):
    file = one_file(events)
    data = bytearray(file.read_bytes())
    data[place] ^= 8
    file.write_bytes(data)
    with pytest.raises(LogError, match=f"byte 0 .{says} another checksum"):
        read_events(events)
    assert read_events(events, up_to_damage=True)[0][0] == {}


def test_a_folder_without_events(tmp_path):
    with pytest.raises(LogError, match="No rank has written events into"):
        read_events(tmp_path)


def test_tensorboard_answers_and_ends_with_the_block(events):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with pytest.raises(KeyboardInterrupt), tensorboard(events) as address:
        with urllib.request.urlopen(address + "data/runs", timeout=60) as page:
            assert b"rank-0" in page.read()
        assert "127.0.0.1" in address
        raise KeyboardInterrupt
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_tensorboard_s_page_is_there_for_who_has_its_address_only(events):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with tensorboard(events) as address:
        host, secret = address.rstrip("/").rsplit("/", 1)
        assert len(secret) == 32
        wrong = secret[:-1] + ("0" if secret[-1] != "0" else "1")
        for path in ("", "data/runs", "index.html", f"{wrong}/", f"{wrong}/data/runs"):
            with pytest.raises(urllib.error.HTTPError) as told:
                urllib.request.urlopen(f"{host}/{path}", timeout=60)
            assert told.value.code == 404 and secret.encode() not in told.value.read()
        for child in psutil.Process().children(recursive=True):
            if child.pid not in before:
                assert secret not in " ".join(child.cmdline())
    with tensorboard(events) as another:
        assert secret not in another


@pytest.mark.skipif(os.name != "posix", reason="modes of folders")
def test_tensorboard_s_files_lie_where_nobody_else_can_link_them(events, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    (shared / ".tensorboard-info").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    monkeypatch.setenv("TMPDIR", str(shared))
    with tensorboard(events) as address:
        urllib.request.urlopen(address, timeout=60).close()  # it serves: the file is written
        [file] = shared.glob("*/.tensorboard-info/*")
        assert file.name.startswith("pid-")
        assert (shared / file.relative_to(shared).parts[0]).stat().st_mode & 0o077 == 0
    assert [path.name for path in shared.rglob("*")] == [".tensorboard-info"]


def test_the_page_by_a_command_of_its_own(events):
    words = [sys.executable, "-m", "labkit.distributed.monitoring", str(events)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as command:
        address = command.stdout.readline().strip()
        with urllib.request.urlopen(address + "data/runs", timeout=60) as page:
            assert b"rank-1" in page.read()
        command.send_signal(signal.SIGINT)
    assert command.returncode == 0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=60)


def test_tensorboard_that_cannot_start(events, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false" if os.name == "posix" else sys.executable)
    with pytest.raises(LogError, match="TensorBoard did not start"), tensorboard(events):
        pass
