"""A checkpoint is whole or not at all, and the last good one survives."""

import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.parameter_server import checkpoint
from labkit.distributed.parameter_server.checkpoint import (
    CheckpointError,
    before,
    last_good_checkpoint,
    load_checkpoint,
    save_checkpoint,
)


def save(path, version):
    """A checkpoint whose content follows from its version."""
    tensors = {"values": torch.arange(7.0) * version}
    save_checkpoint(path, {"version": version, "finished": [version, 0]}, tensors)


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "server-0.safetensors"
    save(path, 5)
    found = load_checkpoint(path)
    assert found.fields == {"version": 5, "finished": [5, 0]}
    assert torch.equal(found.tensors["values"], torch.tensor([0.0, 5, 10, 15, 20, 25, 30]))
    assert (found.path, found.note) == (path, "")
    assert list(tmp_path.iterdir()) == [path], "nothing lies beside it"


def test_the_one_before_is_kept(tmp_path):
    path = tmp_path / "server-0.safetensors"
    for version in (1, 2, 3):
        save(path, version)
    assert load_checkpoint(path).fields["version"] == 3
    assert load_checkpoint(before(path)).fields["version"] == 2
    assert len(list(tmp_path.iterdir())) == 2


@given(st.data())
def test_a_truncated_one_is_refused_wherever_it_was_cut(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("cut") / "server-0.safetensors"
    save(path, 1)
    save(path, 2)
    whole = path.read_bytes()
    length = data.draw(st.integers(0, len(whole) - 1), label="bytes that are left")
    path.write_bytes(whole[:length])
    with pytest.raises(CheckpointError, match=r"is not whole .*: use the one before it"):
        load_checkpoint(path)
    found = last_good_checkpoint(path)
    assert found.fields["version"] == 1
    assert found.path == before(path)
    assert "is not whole" in found.note
    assert "Used: server-0.safetensors.before." in found.note


def test_a_death_while_writing_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "server-0.safetensors"
    save(path, 1)

    def full(descriptor):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(path, 2)
    assert load_checkpoint(path).fields["version"] == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_death_between_the_two_names_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "server-0.safetensors"
    save(path, 1)
    monkeypatch.setattr(checkpoint.os, "replace", dies_at(path, os.replace))
    with pytest.raises(KeyboardInterrupt):
        save(path, 2)
    assert not path.exists()
    assert last_good_checkpoint(path).fields["version"] == 1


def dies_at(path, replace):
    """`os.replace` for which this name comes too late."""

    def dying(source, target):
        if target == path:
            raise KeyboardInterrupt
        replace(source, target)

    return dying


def test_a_missing_one_is_said(tmp_path):
    path = tmp_path / "none.safetensors"
    for load in (load_checkpoint, last_good_checkpoint):
        with pytest.raises(CheckpointError) as error:
            load(path)
        assert str(error.value) == (
            f"There is no checkpoint {path}: begin without one, or name another file."
        )


def test_another_safetensors_file_is_no_checkpoint(tmp_path):
    from safetensors.torch import save_file

    path = tmp_path / "weights.safetensors"
    save_file({"values": torch.ones(3)}, path)
    with pytest.raises(CheckpointError, match="but no checkpoint of a server"):
        load_checkpoint(path)
