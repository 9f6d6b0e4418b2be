"""Shards by hand: each rank its rows in a file, read in part; damage told; nothing can run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.parameter_server.checkpoint import CheckpointError
from labkit_lessons.distributed.restarts_and_monitoring.by_hand import (
    header,
    shards,
    share,
    write_shard,
)


@pytest.fixture
def tensors():
    rng = np.random.default_rng(0)
    return {"head": rng.normal(size=(10, 3)).astype("float32"), "bias": rng.normal(size=7)}


@pytest.fixture
def saved(tmp_path, tensors):
    for rank in range(4):
        write_shard(tmp_path, rank, 4, tensors)
    return tmp_path


@given(st.integers(0, 200), st.integers(1, 17))
def test_shares_are_those_of_array_split(rows, ranks):
    parts = np.array_split(np.arange(rows), ranks)
    for rank, part in enumerate(parts):
        assert np.array_equal(np.arange(rows)[slice(*share(rows, ranks, rank))], part)


def test_all_rows_are_there_once(saved, tensors):
    for name, tensor in tensors.items():
        files = shards(saved, name)
        rows = [file.read(0, len(file)) for file in files]
        assert np.array_equal(np.concatenate(rows), tensor) and rows[0].dtype == tensor.dtype
        assert [file.rows_read for file in files] == [len(part) for part in rows]
    assert [len(file) for file in shards(saved, "head")] == [3, 3, 2, 2]


def test_only_the_rows_asked_for_are_read(saved, tensors):
    file = shards(saved, "head")[1]
    assert np.array_equal(file.read(1, 3), tensors["head"][4:6]) and file.rows_read == 2


def test_the_header_is_a_table_of_names_kinds_shapes_and_places(saved):
    found = header(saved / "rank-00002-of-00004.safetensors")
    assert set(found) == {"head", "bias"}
    assert found["head"]["dtype"] == "F32" and found["head"]["shape"] == [2, 3]
    assert set(found["bias"]) == {"dtype", "shape", "data_offsets"}


def test_a_missing_or_truncated_shard_is_named(saved, tmp_path):
    path = saved / "rank-00001-of-00004.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-8])
    with pytest.raises(CheckpointError, match=r"rank-00001-of-00004.* is not whole .*copy it"):
        shards(saved, "head")[1].read(0, 1)
    path.unlink()
    with pytest.raises(CheckpointError, match=r"rank-00001-of-00004.* is missing: copy it"):
        shards(saved, "head")
    with pytest.raises(CheckpointError, match="No rank has written a shard"):
        shards(tmp_path / "nowhere", "head")


@pytest.mark.parametrize("kept", [0, 5, 30, 60])
def test_a_shard_that_is_cut_off_in_its_header_is_named(saved, kept):
    path = saved / "rank-00001-of-00004.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    for ask in (len, lambda file: file.read(0, 1)):
        with pytest.raises(CheckpointError, match=r"rank-00001-of-00004.* is not whole .*copy it"):
            ask(shards(saved, "head")[1])


def test_a_length_that_cannot_be_is_no_reason_to_take_all_memory(saved):
    path = saved / "rank-00001-of-00004.safetensors"
    path.write_bytes(b"\xff" * 8 + path.read_bytes()[8:])
    with pytest.raises(CheckpointError, match="is not whole"):
        len(shards(saved, "head")[1])


def test_a_tensor_that_no_shard_has(saved):
    with pytest.raises(CheckpointError, match=r"has no tensor 'tail', only .*head"):
        len(shards(saved, "tail")[0])


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((10, 0, 0), "10 rows on 0 ranks, of which there is no rank 0"),
        ((10, 4, 4), "there is no rank 4"),
        ((10, 4, -1), "there is no rank -1"),
        ((-3, 2, 0), "-3 rows"),
        ((10.5, 2, 0), "whole numbers, not 10.5 rows"),
        (("10", 2, 0), "not '10' rows"),
        ((10, float("nan"), 0), "nan ranks"),
    ],
)
def test_a_share_that_cannot_be(numbers, sentence):
    with pytest.raises(ValueError, match=sentence):
        share(*numbers)
