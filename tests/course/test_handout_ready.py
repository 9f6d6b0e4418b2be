"""What a handout's first cell brings once labkit is there: packages, weights, photographs."""

import hashlib
import sys
import types

import numpy as np
import pytest

from labkit import cifar10_files, datasets, extras
from labkit.cifar10_files import Split, is_sample, load_sample
from labkit.course.handout import ready as module
from labkit.course.handout.payload import data_file
from labkit.course.handout.ready import ARCHIVE, SAMPLE, bring, install, ready

WEIGHTS = b"weights"
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()
NAME = "convnet.safetensors"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder beside the notebook; labkit/data is empty, nothing was asked, no Colab is there."""
    for name in ("data", "place"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(module, "DATA", tmp_path / "data")
    monkeypatch.setattr(module, "SHARED", tmp_path / "drive" / "four-machines")
    monkeypatch.setattr(module, "OWN", tmp_path / "drive" / "four-machines-mine")
    monkeypatch.setattr(module, "ASKED", set())
    return tmp_path / "place"


@pytest.fixture
def colab(place, monkeypatch):
    """Colab's two dialogs: set `uploads`, and whether Drive `may_mount`; `opened` counts them."""
    fake = types.ModuleType("google.colab")
    fake.uploads = {}
    fake.may_mount = True
    fake.opened = []

    def mount(_):
        fake.opened.append("Drive")
        if not fake.may_mount:
            raise ValueError("mount failed")
        module.OWN.parent.mkdir(parents=True, exist_ok=True)

    def upload():
        fake.opened.append("upload")
        return fake.uploads

    fake.files = types.SimpleNamespace(upload=upload)
    fake.drive = types.SimpleNamespace(mount=mount)
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", fake)
    return fake


def test_weights_beside_the_notebook_are_taken(place, capsys):
    (place / NAME).write_bytes(WEIGHTS)
    ready("distributed", {NAME: SHA256}, [place])
    assert (module.DATA / NAME).read_bytes() == WEIGHTS and capsys.readouterr().out == ""


def test_weights_that_were_cut_short_are_named_and_asked_for_once(place, colab, capsys):
    (place / NAME).write_bytes(WEIGHTS[:-1])
    colab.uploads = {"convnet (1).safetensors": WEIGHTS}
    bring(NAME, SHA256, [place])
    assert f"{place / NAME} was cut short" in capsys.readouterr().out
    assert (module.OWN / NAME).read_bytes() == (module.DATA / NAME).read_bytes() == WEIGHTS
    assert not module.SHARED.exists(), "it is the teacher's"
    (module.DATA / NAME).unlink()
    colab.opened.clear()
    bring(NAME, SHA256, [module.SHARED, module.OWN])
    assert (module.DATA / NAME).read_bytes() == WEIGHTS and colab.opened == [], "Drive kept them"


def test_a_drive_that_is_mounted_now_has_the_class_folder(place, colab):
    module.SHARED.mkdir(parents=True)
    (module.SHARED / NAME).write_bytes(WEIGHTS)
    shared = module.SHARED.parent.rename(place / "unmounted")
    colab.drive.mount = lambda _: shared.rename(module.SHARED.parent)
    bring(NAME, SHA256, [place])
    assert (module.DATA / NAME).read_bytes() == WEIGHTS and colab.opened == []


@pytest.mark.parametrize("uploads", [{}, {"other.bin": b"other"}])
def test_what_nobody_has_is_asked_for_once_and_each_time_the_learner_is_told_what_to_do(
    place, colab, uploads, capsys
):
    colab.uploads = uploads
    colab.may_mount = False
    ready("distributed", {NAME: SHA256}, [place])
    said = capsys.readouterr().out
    assert f"Not here: {NAME}. Cells that read such a file will not work.\nDo one of" in said
    assert ("This is not convnet.safetensors" in said) == bool(uploads)
    assert colab.opened == ["Drive", "upload"]
    ready("distributed", {NAME: SHA256}, [place])
    again = capsys.readouterr().out
    assert again.startswith(f"Not here: {NAME}.") and "upload it here" in again
    assert colab.opened == ["Drive", "upload"]


def test_a_file_that_cannot_be_laid_into_labkit_is_one_sentence(place, capsys):
    (place / NAME).write_bytes(WEIGHTS)
    module.DATA.rmdir()
    ready("distributed", {NAME: SHA256}, [place])
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert f"{NAME} cannot be read or laid into labkit ([Errno 2] No such file" in first
    assert second.startswith(f"Not here: {NAME}.")


def test_a_drive_that_is_refused_or_full_stops_nothing(place, colab, capsys, monkeypatch):
    colab.uploads = {NAME: WEIGHTS}
    colab.may_mount = False
    bring(NAME, SHA256, [])
    assert "Drive is not there (mount failed)" in capsys.readouterr().out
    assert (module.DATA / NAME).read_bytes() == WEIGHTS and not module.OWN.exists()
    module.OWN.parent.mkdir()
    module.OWN.write_text("no folder can be made here")
    module._keep(NAME, WEIGHTS)
    assert f"Drive could not keep {NAME} (" in capsys.readouterr().out


@pytest.fixture(scope="module")
def full():
    """A full set whose images at the index's places are the sample's, and else black."""
    found = []
    index = cifar10_files.sample_index()
    for name, split in zip(("train", "test"), load_sample(), strict=True):
        places = index[name]["indices"]
        images = np.zeros((max(places) + 1, 3, 32, 32), np.uint8)
        images[places] = split.images
        found.append(Split(images, np.zeros(len(images), np.int64)))
    return datasets.Cifar10(*found, "full", "made for a test")


@pytest.fixture
def no_sample(place, tmp_path, monkeypatch):
    """labkit as a handout carries it: with the index, without the pictures."""
    folder = tmp_path / "cifar10"
    folder.mkdir()
    (folder / "index.json").write_text((cifar10_files.SAMPLE / "index.json").read_text())
    monkeypatch.setattr(cifar10_files, "SAMPLE", folder)
    return folder


@pytest.fixture(scope="module")
def archive():
    """The sample as it lies in a class's folder, and its SHA-256."""
    pictures = cifar10_files.SAMPLE.iterdir()
    files = {f"labkit/data/cifar10/{path.name}": path.read_bytes() for path in pictures}
    content = data_file(files, SAMPLE)
    return content, hashlib.sha256(content).hexdigest()


def test_photographs_beside_the_notebook_are_taken_without_a_question(
    no_sample, place, colab, archive, monkeypatch, capsys
):
    monkeypatch.delattr(datasets, "cifar10")
    content, sha256 = archive
    (place / SAMPLE).write_bytes(content)
    ready("distributed", {SAMPLE: sha256}, [place])
    assert is_sample(no_sample) and capsys.readouterr().out == "" and colab.opened == []


def test_else_the_sample_is_made_again_pixel_for_pixel(no_sample, place, full, monkeypatch):
    monkeypatch.setattr(datasets, "cifar10", lambda source: full)
    ready("distributed", {SAMPLE: "0f"}, [place])
    assert is_sample(no_sample)


def test_an_archive_of_the_makers_in_a_place_is_taken(no_sample, place, full, monkeypatch):
    monkeypatch.delattr(datasets, "cifar10")
    monkeypatch.setattr(datasets, "import_copy", lambda path: full)
    (place / ARCHIVE).write_text("")
    bring(SAMPLE, "0f", [place])
    assert is_sample(no_sample)


def test_without_a_network_the_sample_is_asked_for(no_sample, place, colab, archive, monkeypatch):
    def offline(_):
        raise ValueError("The full CIFAR-10 is not here.") from OSError("no connection")

    monkeypatch.setattr(datasets, "cifar10", offline)
    content, sha256 = archive
    colab.uploads = {SAMPLE: content}
    bring(SAMPLE, sha256, [place])
    assert is_sample(no_sample) and (module.OWN / SAMPLE).read_bytes() == content


def test_photographs_that_cannot_be_had_are_told_with_what_to_do(
    no_sample, place, monkeypatch, capsys
):
    monkeypatch.setenv("LABKIT_CACHE", str(place))
    monkeypatch.setenv("LABKIT_OFFLINE", "1")
    ready("distributed", {SAMPLE: "0f"}, [place])
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == (
        "cifar10-sample.tar cannot be made from the archive of CIFAR-10: "
        "LABKIT_OFFLINE forbids the download."
    )
    assert second.startswith("Not here: cifar10-sample.tar.")
    with pytest.raises(FileNotFoundError, match="run the notebook's first cell again"):
        datasets.cifar10("sample")


@pytest.fixture
def pip(monkeypatch):
    """Records pip's arguments behind the constraints."""
    calls = []

    def run(command, **_):
        calls.append(command[command.index("-c") + 2 :])
        with open(command[command.index("-c") + 1]) as file:
            assert f"numpy=={np.__version__}" in file.read().splitlines()
        return types.SimpleNamespace(returncode=len(calls) - 1, stderr="no network\n")

    monkeypatch.setattr(module.subprocess, "run", run)
    return calls


def test_what_a_chapter_lacks_is_installed_and_what_fails_is_said(pip, monkeypatch, capsys):
    lacking = {"gpu": ["torch>=2.6"], "compiler": ["numba-cuda[cu13]>=0.20"]}
    monkeypatch.setattr(extras, "missing", lambda extra: list(lacking.get(extra, [])))
    install("gpu")
    assert pip == [["torch>=2.6", "numba-cuda[cu13]>=0.20"]]
    assert "pip installs it: torch>=2.6, numba-cuda[cu13]>=0.20." in capsys.readouterr().out
    install("gpu")
    assert "pip could not: no network." in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="pynq is for Linux")
def test_pynq_comes_without_what_it_asks_for(pip, monkeypatch):
    monkeypatch.setattr(extras, "missing", lambda extra: [])
    monkeypatch.setattr(extras, "version", lambda package: None)
    install("fpga")
    assert pip == [["--no-deps", "pynq==4.0.0"]]
