"""What a handout's first cell brings once labkit is there: packages, weights, photographs."""

import hashlib
import sys
import types

import numpy as np
import pytest

from labkit import cifar10_files, datasets, extras
from labkit.cifar10_files import Split, is_sample, load_sample
from labkit.course.handout import ready as module
from labkit.course.handout.ready import bring_file, bring_sample, install, ready

WEIGHTS = b"weights"
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()
NAME = "convnet.safetensors"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder beside the notebook; labkit/data is empty, and there is no Colab."""
    for name in ("data", "place"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(module, "DATA", tmp_path / "data")
    monkeypatch.setattr(module, "KEPT", tmp_path / "drive" / "four-machines")
    return tmp_path / "place"


@pytest.fixture
def colab(place, monkeypatch):
    """Colab's two dialogs: set `uploads`, and whether Drive `may_mount`."""
    fake = types.ModuleType("google.colab")
    fake.uploads = {}
    fake.may_mount = True

    def mount(_):
        if not fake.may_mount:
            raise ValueError("mount failed")
        module.KEPT.mkdir(parents=True, exist_ok=True)

    fake.files = types.SimpleNamespace(upload=lambda: fake.uploads)
    fake.drive = types.SimpleNamespace(mount=mount)
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", fake)
    return fake


def test_weights_beside_the_notebook_are_taken(place, capsys):
    (place / NAME).write_bytes(WEIGHTS)
    ready("distributed", {NAME: SHA256}, False, [place])
    assert (module.DATA / NAME).read_bytes() == WEIGHTS and capsys.readouterr().out == ""


def test_weights_that_were_cut_short_are_named_and_asked_for_once(place, colab, capsys):
    (place / NAME).write_bytes(WEIGHTS[:-1])
    colab.uploads = {"convnet (1).safetensors": WEIGHTS}
    bring_file(NAME, SHA256, [place])
    assert f"{place / NAME} was cut short" in capsys.readouterr().out
    assert (module.KEPT / NAME).read_bytes() == (module.DATA / NAME).read_bytes() == WEIGHTS
    (module.DATA / NAME).unlink()
    colab.uploads = {}
    bring_file(NAME, SHA256, [])
    assert (module.DATA / NAME).read_bytes() == WEIGHTS, "Drive kept them"


@pytest.mark.parametrize("uploads", [{}, {"other.bin": b"other"}])
def test_weights_that_nobody_has_are_one_sentence(place, colab, uploads, capsys):
    colab.uploads = uploads
    bring_file(NAME, SHA256, [place])
    said = capsys.readouterr().out
    assert f"{NAME} is not here: ask who gave you this notebook." in said
    assert ("This is not convnet.safetensors" in said) == bool(uploads)


def test_a_drive_that_is_refused_or_full_stops_nothing(place, colab, capsys, monkeypatch):
    colab.uploads = {NAME: WEIGHTS}
    colab.may_mount = False
    bring_file(NAME, SHA256, [])
    assert "Drive is not there (mount failed)" in capsys.readouterr().out
    assert (module.DATA / NAME).read_bytes() == WEIGHTS and not module.KEPT.exists()
    module.KEPT.parent.mkdir()
    module.KEPT.write_text("no folder can be made here")
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


def test_the_sample_is_made_again_pixel_for_pixel(no_sample, place, full, monkeypatch):
    monkeypatch.setattr(datasets, "cifar10", lambda source: full)
    module.KEPT.parent.mkdir()
    assert not is_sample(no_sample)
    ready("distributed", {}, True, [place])
    assert is_sample(no_sample)
    monkeypatch.delattr(datasets, "cifar10")
    (no_sample / "train.png").unlink()
    bring_sample([place, module.KEPT])
    assert is_sample(no_sample), "Drive kept it"


def test_without_a_network_the_archive_is_asked_for(no_sample, place, colab, full, monkeypatch):
    def offline(_):
        raise ValueError("The full CIFAR-10 is not here: no connection.")

    monkeypatch.setattr(datasets, "cifar10", offline)
    monkeypatch.setattr(datasets, "import_copy", lambda path: full)
    colab.uploads = {"cifar-10-python.tar.gz": b"archive"}
    bring_sample([place])
    assert is_sample(no_sample) and is_sample(module.KEPT / "cifar10-sample")


def test_photographs_that_cannot_be_had_are_one_sentence(no_sample, place, monkeypatch, capsys):
    monkeypatch.setenv("LABKIT_CACHE", str(place))
    bring_sample([place])
    assert "Cells that show photographs will not work." in capsys.readouterr().out


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
