"""labkit.datasets: the embedded sample, copies of the full set, the cache, and bad downloads.

A tiny set in the official layout stands in for the full one: its checksums are put in place of the
real ones, and a web server on this machine in place of the real one.
"""

import hashlib
import json
import os
import pickle
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from labkit import cifar10_files, datasets
from labkit.cifar10_files import BATCHES, FOLDER, Split, fingerprint, read_copy
from labkit.datasets import cifar10, describe, import_copy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import make_sample

SAMPLE_SHA256 = "01d609fbfb29835b2ca17052dd3fc956144b6a536f0ee38411ac9edeed153187"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and no network."""
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LABKIT_OFFLINE", "1")
    return tmp_path / "cache"


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A folder cifar-10-batches-py of six batches with 20 images each, accepted as the full set."""
    random, folder = np.random.default_rng(0), tmp_path / "copy" / FOLDER
    folder.mkdir(parents=True)
    for name in BATCHES:
        data = random.integers(0, 256, (20, 3072), dtype=np.uint8)
        write_batch(folder / name, data, random.integers(0, 10, 20).tolist())
    monkeypatch.setattr(datasets, "SHA256", fingerprint(*read_copy(folder)))
    return folder


def write_batch(path, data, labels, protocol=4):
    path.write_bytes(pickle.dumps({b"data": data, b"labels": labels}, protocol))


def as_archive(folder):
    archive = folder.parent / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, FOLDER)
    return archive


def files(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# --- the embedded sample ---


def test_the_sample_is_small_balanced_and_in_official_order():
    data = cifar10("sample")
    index = json.loads((cifar10_files.SAMPLE / "index.json").read_text())
    for name, split, each in (("train", data.train, 200), ("test", data.test, 50)):
        assert split.images.shape == (10 * each, 3, 32, 32) and split.images.dtype == np.uint8
        assert split.labels.dtype == np.int64
        assert np.bincount(split.labels).tolist() == [each] * 10
        assert (np.diff(index[name]["indices"]) > 0).all()
    assert sum(path.stat().st_size for path in cifar10_files.SAMPLE.iterdir()) < 7e6
    assert data.class_names[3] == "cat" and len(data.class_names) == 10
    assert str(data) == (
        "CIFAR-10, the embedded sample: 2,000 training and 500 test images, "
        "as they come with labkit."
    )


def test_the_samples_pixels_and_labels_are_the_ones_published():
    data = cifar10("sample")
    assert fingerprint(data.train, data.test) == SAMPLE_SHA256


def test_the_sample_is_silent(capsys):
    cifar10("sample")
    assert capsys.readouterr() == ("", "")


def test_the_sample_is_bit_exact_in_the_full_set():
    if copy := os.environ.get("LABKIT_FULL_CIFAR10"):
        full = read_copy(copy)
        assert fingerprint(*full) == datasets.SHA256
    elif kept := datasets._from_cache():
        full = kept.train, kept.test
    else:
        pytest.skip("no full CIFAR-10: neither LABKIT_FULL_CIFAR10 nor the cache has one")
    sample = cifar10_files.load_sample()
    for whole, part, each in zip(full, sample, (200, 50), strict=True):
        chosen = make_sample.first_of_each_class(whole.labels, each)
        np.testing.assert_array_equal(whole.images[chosen], part.images)
        np.testing.assert_array_equal(whole.labels[chosen], part.labels)


def test_make_sample_and_load_sample_are_inverse(tmp_path):
    random = np.random.default_rng(1)
    train, test = (
        Split(
            random.integers(0, 256, (n, 3, 32, 32), dtype=np.uint8),
            random.permutation(np.arange(n) % 10),
        )
        for n in (2500, 700)
    )
    make_sample.make_sample(train, test, tmp_path)
    for whole, part, each in zip(
        (train, test), cifar10_files.load_sample(tmp_path), (200, 50), strict=True
    ):
        chosen = make_sample.first_of_each_class(whole.labels, each)
        np.testing.assert_array_equal(part.images, whole.images[chosen])
        np.testing.assert_array_equal(part.labels, whole.labels[chosen])


# --- which set ---


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match='the source is "auto", "full" or "sample"'):
        cifar10("nonsense")


def test_auto_falls_back_to_the_sample_and_says_why(cache, capsys):
    assert cifar10().source == "sample"
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "embedded sample" in said and "LABKIT_OFFLINE forbids the download" in said


def test_full_is_refused_where_there_is_none(cache):
    with pytest.raises(ValueError, match=r"LABKIT_OFFLINE.*labkit data --from PATH"):
        cifar10("full")


@pytest.mark.parametrize("form", ["folder", "folder around it", "archive", "text path"])
def test_a_copy_is_imported_and_then_used(form, tiny, cache, capsys):
    copy = {"folder around it": tiny.parent, "text path": str(tiny)}.get(form, tiny)
    data = import_copy(as_archive(tiny) if form == "archive" else copy)
    assert (len(data.train), len(data.test), data.source) == (100, 20, "full")
    assert files(cache) == ["cifar10.npz"]
    again = cifar10()
    assert "the full set: 100 training and 20 test images" in capsys.readouterr().out
    assert fingerprint(again.train, again.test) == fingerprint(data.train, data.test)
    assert again.train.images.shape == (100, 3, 32, 32)
    assert cifar10("full").source == "full"
    assert "SHA-256 is right" in describe()


def test_describe_names_the_way_to_the_full_set(cache, capsys):
    assert "embedded sample" in describe() and "labkit data --from PATH" in describe()
    assert capsys.readouterr().out == ""


# --- copies: every faithful one is read, everything else is refused ---


def python2_pickle(data, labels):
    """As Python 2 wrote the official files, with byte strings in STRING opcodes."""
    text = lambda b: b"U" + bytes([len(b)]) + b  # noqa: E731
    long = lambda b: b"T" + len(b).to_bytes(4, "little") + b  # noqa: E731
    number = lambda i: b"K" + bytes([i])  # noqa: E731
    rows = b"M" + len(data).to_bytes(2, "little") + b"M" + (3072).to_bytes(2, "little") + b"\x86"
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + number(0) + number(1) + b"\x87R"
    dtype += (
        b"(" + number(3) + text(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff" + number(0) + b"tb"
    )
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n" + number(0) + b"\x85"
    array += text(b"b") + b"tR(" + number(1) + rows + dtype + b"\x89" + long(data.tobytes()) + b"tb"
    listed = b"](" + b"".join(map(number, labels)) + b"e"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + listed + b"u."


@pytest.mark.parametrize("written_by", ["Python 2", 2, 4, 5])
def test_every_pickle_of_the_same_set_is_read(written_by, tmp_path, tiny):
    expected, other = read_copy(tiny), tmp_path / "other"
    other.mkdir()
    for name in BATCHES:
        batch = pickle.loads((tiny / name).read_bytes())
        if written_by == "Python 2":
            (other / name).write_bytes(python2_pickle(batch[b"data"], batch[b"labels"]))
        else:
            write_batch(other / name, batch[b"data"], batch[b"labels"], written_by)
    assert fingerprint(*read_copy(other)) == fingerprint(*expected)


class Attack:
    def __reduce__(self):
        return (os.mkdir, ("attacked",))


def test_a_pickle_that_wants_to_run_something_is_refused(tiny, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tiny / "test_batch").write_bytes(pickle.dumps({b"data": Attack(), b"labels": []}))
    with pytest.raises(ValueError, match=r"test_batch in .* asks for \w+\.mkdir"):
        read_copy(tiny)
    assert not (tmp_path / "attacked").exists()


class Forged:
    """What its pickle says it is."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


def test_a_pickle_that_calls_numbers_objects_is_refused(tiny):
    """NumPy would take eight bytes of the file for an object's address, and go there."""
    objects = (3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 0)  # flags: has no objects
    dtype = Forged(np.dtype, ("V8", False, True), objects)
    builder, empty, _ = np.zeros(1, "V8").__reduce__()
    write_batch(tiny / "test_batch", Forged(builder, empty, (1, (1,), dtype, False, bytes(8))), [])
    with pytest.raises(ValueError, match=r"test_batch in .* numbers of the type '\|V8'"):
        read_copy(tiny)


def test_an_archive_that_would_fill_the_memory_is_refused(tiny, monkeypatch):
    monkeypatch.setattr(cifar10_files, "LARGEST", (tiny / "test_batch").stat().st_size - 1)
    with pytest.raises(ValueError, match=r"\w+_batch\w* in it has [\d,]+ bytes"):
        read_copy(as_archive(tiny))


def spoil_pixel(folder):
    batch = pickle.loads((folder / "data_batch_3").read_bytes())
    data = batch[b"data"].copy()
    data[7, 99] ^= 1
    write_batch(folder / "data_batch_3", data, batch[b"labels"])


def spoil_label(folder):
    batch = pickle.loads((folder / "test_batch").read_bytes())
    batch[b"labels"][0] = (batch[b"labels"][0] + 1) % 10
    write_batch(folder / "test_batch", batch[b"data"], batch[b"labels"])


@pytest.mark.parametrize("spoil", [spoil_pixel, spoil_label])
def test_a_corrupted_copy_is_refused_and_the_cache_kept(spoil, tiny, cache):
    import_copy(tiny)
    before = (cache / "cifar10.npz").read_bytes()
    spoil(tiny)
    with pytest.raises(
        ValueError, match=rf"SHA-256 .* is [0-9a-f]{{64}}, expected {datasets.SHA256}"
    ):
        import_copy(tiny)
    assert files(cache) == ["cifar10.npz"] and (cache / "cifar10.npz").read_bytes() == before


def test_damaged_files_are_named(tiny, cache, tmp_path):
    archive = as_archive(tiny)
    archive.write_bytes(archive.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"cifar-10-python.tar.gz is no whole tar archive") as said:
        import_copy(archive)
    assert datasets.SHA256 in str(said.value)
    archive.write_text("a web page that says: log in first")
    with pytest.raises(ValueError, match=r"no whole tar archive \(.*\)\. It has") as said:
        import_copy(archive)
    assert "\n" not in str(said.value)
    (tiny / "data_batch_2").write_bytes((tiny / "data_batch_2").read_bytes()[:100])
    with pytest.raises(ValueError, match=r"data_batch_2 in .* cannot be decoded: no whole pickle"):
        import_copy(tiny)
    write_batch(tiny / "data_batch_2", np.zeros((20, 10), np.uint8), [0] * 20)
    with pytest.raises(ValueError, match=r"data_batch_2 .*uint8\[20, 10\] and not uint8\[N,3072\]"):
        import_copy(tiny)
    write_batch(tiny / "data_batch_2", np.zeros((20, 3072), np.uint8), [0] * 19)
    with pytest.raises(ValueError, match="not one per image"):
        import_copy(tiny)
    (tiny / "data_batch_2").unlink()
    with pytest.raises(FileNotFoundError, match=r"data_batch_2 not found. Give the folder"):
        import_copy(tiny)
    with pytest.raises(FileNotFoundError, match="nowhere is no copy of CIFAR-10"):
        import_copy(tmp_path / "nowhere")
    assert files(cache) == []


# --- the cache ---


@pytest.mark.parametrize("damage", ["truncated", "one byte", "not an npz"])
def test_a_damaged_cache_is_set_aside_and_said(damage, tiny, cache, capsys):
    import_copy(tiny)
    kept = bytearray((cache / "cifar10.npz").read_bytes())
    kept = {"truncated": kept[:-5000], "not an npz": b"nonsense"}.get(damage, kept)
    if damage == "one byte":
        kept[len(kept) // 2] ^= 255
    (cache / "cifar10.npz").write_bytes(kept)
    assert cifar10().source == "sample"
    said = capsys.readouterr().out
    assert f"SHA-256 expected {datasets.SHA256}, got " in said
    assert "Set aside as cifar10.npz.broken-1" in said and "embedded sample" in said
    assert (cache / "cifar10.npz.broken-1").read_bytes() == kept
    import_copy(tiny)
    assert files(cache) == ["cifar10.npz", "cifar10.npz.broken-1"]


def test_another_file_in_the_caches_place_is_set_aside(cache, capsys):
    cache.mkdir()
    with (cache / "cifar10.npz").open("wb") as file:
        np.save(file, np.zeros(3))  # an .npy under the name of an .npz
    assert cifar10().source == "sample"
    assert "cannot be decoded" in capsys.readouterr().out
    assert files(cache) == ["cifar10.npz.broken-1"]


def test_flipped_bytes_end_in_sentences(tiny, cache, capsys, monkeypatch):
    """In the archive's and the arrays' headers too, where libraries raise whatever they like."""
    copy = read_copy(tiny)
    monkeypatch.setattr(datasets, "load_sample", lambda: copy)  # faster than the real one
    import_copy(tiny)
    good = (cache / "cifar10.npz").read_bytes()
    (cache / "cifar10.npz").unlink()
    random = np.random.default_rng(0)
    for place in [
        *range(160),
        *range(len(good) - 300, len(good), 3),
        *random.integers(len(good), size=10),
    ]:
        bad = bytearray(good)
        bad[place] ^= 1 << random.integers(8)
        (cache / "cifar10.npz").write_bytes(bad)
        source, said = cifar10().source, capsys.readouterr().out
        if source == "sample":  # and not in a byte that nobody reads
            assert "Set aside as cifar10.npz.broken-1." in said and said.count("\n") == 2
            assert (cache / "cifar10.npz.broken-1").read_bytes() == bad
            (cache / "cifar10.npz.broken-1").unlink()


@pytest.mark.parametrize("error", [NotImplementedError("zip 9.9"), TypeError(), KeyError("\n")])
def test_whatever_decoding_raises_becomes_a_sentence(error, tiny, cache, capsys, monkeypatch):
    def refuse(*_, **__):
        raise error

    import_copy(tiny)
    monkeypatch.setattr(datasets.np, "load", refuse)
    assert cifar10().source == "sample"
    assert "cannot be decoded (" in (said := capsys.readouterr().out) and said.count("\n") == 2
    monkeypatch.setattr("labkit.cifar10_files.tarfile.open", refuse)
    with pytest.raises(ValueError, match="no whole tar archive"):
        import_copy(tiny / "test_batch")  # a file, so read as an archive


def test_a_cache_folder_that_cannot_be_made_is_said(tmp_path, monkeypatch, capsys, tiny):
    (tmp_path / "file").write_text("a file where the folder should be")
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("LABKIT_OFFLINE", "0")
    assert cifar10().source == "sample"
    said = capsys.readouterr().out
    assert "cannot be written (Not a directory)" in said and "LABKIT_CACHE can name another" in said
    assert "Downloading" not in said
    with pytest.raises(OSError, match="is right but was not kept: the cache folder"):
        import_copy(tiny)


def test_a_read_only_cache_folder_is_said(cache, monkeypatch, capsys):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("LABKIT_OFFLINE", "0")
    monkeypatch.setattr(datasets.tempfile, "TemporaryDirectory", refuse)
    assert cifar10().source == "sample"
    assert "cannot be written (Permission denied)" in capsys.readouterr().out


# --- downloads ---


@pytest.fixture
def server(monkeypatch, cache, tiny):
    """A web server on this machine that serves the tiny set's archive, as `server.mode` says."""
    content = as_archive(tiny).read_bytes()
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.server.mode == "silent":
                released.wait()
                return
            if self.server.mode == "missing":
                self.send_error(404)
                return
            self.send_response(200)
            length = "many" if self.server.mode == "nonsense" else str(len(content))
            self.send_header("Content-Length", length)
            self.end_headers()
            half = len(content) // 2
            if self.server.mode == "corrupted":
                self.wfile.write(content[:half] + b"?" + content[half + 1 :])
            elif self.server.mode == "truncated":
                self.wfile.write(content[:half])
            elif self.server.mode == "stalled":
                self.wfile.write(content[:half])
                self.wfile.flush()
                released.wait()
            else:
                self.wfile.write(content)

        def log_message(self, *_):
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.mode, web.content = "good", content
    monkeypatch.setenv("LABKIT_OFFLINE", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(datasets, "URL", f"http://127.0.0.1:{web.server_port}/cifar-10.tar.gz")
    monkeypatch.setattr(datasets, "MD5", hashlib.md5(content).hexdigest())
    monkeypatch.setattr(datasets, "TIMEOUT", (600, 600))  # it only ends a hang
    threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True).start()
    yield web
    released.set()
    web.shutdown()
    web.server_close()


def test_a_good_download_is_kept_and_not_repeated(server, cache, capfd):
    data = cifar10()
    assert (data.source, len(data.train)) == ("full", 100)
    said = capfd.readouterr()
    assert "Downloading CIFAR-10" in said.out and "100%" in said.err  # the progress bar
    assert files(cache) == ["cifar10.npz"]
    server.mode = "missing"
    assert cifar10().source == "full"
    assert "Downloading" not in capfd.readouterr().out


@pytest.mark.parametrize("mode", ["corrupted", "truncated", "stalled"])
def test_a_bad_download_is_named_and_set_aside(mode, server, cache, capfd, monkeypatch):
    server.mode = mode
    for seconds in (0.5, 5, 50, 500) if mode == "stalled" else (600,):
        monkeypatch.setattr(datasets, "TIMEOUT", (seconds, seconds))
        assert cifar10().source == "sample"
        if files(cache):  # else this machine is too busy to receive the first half in that time
            break
    said = capfd.readouterr().out
    (aside,) = cache.iterdir()
    came = aside.read_bytes()
    assert aside.name == "cifar-10-python.tar.gz.broken-1"
    if mode == "corrupted":
        assert len(came) == len(server.content)
    else:
        assert server.content.startswith(came) and 0 < len(came) <= len(server.content) // 2
    assert f"MD5 expected {datasets.MD5}, got {hashlib.md5(came).hexdigest()}" in said
    assert "embedded sample" in said and str(aside) in said
    server.mode = "good"
    assert cifar10().source == "full"
    assert files(cache) == ["cifar-10-python.tar.gz.broken-1", "cifar10.npz"]


def test_the_right_archive_with_other_content_is_set_aside(server, cache, capfd, monkeypatch):
    monkeypatch.setattr(datasets, "SHA256", "0" * 64)
    assert cifar10().source == "sample"
    assert "right MD5 but not the right content" in capfd.readouterr().out
    assert files(cache) == ["cifar-10-python.tar.gz.broken-1"]


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("missing", "answers 404"),
        ("silent", "no connection"),
        ("closed", "no connection"),
        ("nonsense", "makes no sense (invalid literal for int() with base 10: 'many')"),
    ],
)
def test_without_an_answer_the_sample_comes(mode, reason, server, cache, capfd, monkeypatch):
    server.mode = mode
    if mode == "silent":
        monkeypatch.setattr(datasets, "TIMEOUT", (0.5, 0.5))
    if mode == "closed":
        monkeypatch.setattr(datasets, "URL", "http://127.0.0.1:9/cifar-10.tar.gz")
    assert cifar10().source == "sample"
    assert reason in capfd.readouterr().out
    assert files(cache) == []


def test_an_interrupted_download_leaves_nothing_behind(server, cache, monkeypatch):
    def interrupt(archive):
        archive.write_bytes(b"some")
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "_fetch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cifar10()
    assert files(cache) == []
