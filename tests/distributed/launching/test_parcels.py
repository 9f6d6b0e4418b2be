"""Parcels: what arrives is equal, the reader's own, and was not copied where it is large."""

import os

import numpy as np
import pytest
import torch

from labkit.distributed.launching.parcels import LARGE, MAPPED, Parcel, SharedFile, unpacked


def sent(value):
    """What a reader has of it, and how many large parts it had."""
    parcel = Parcel.of(value)
    with SharedFile() as file:
        spans = parcel.write(file)
        assert parcel.size <= spans[-1][1] == os.fstat(file.descriptor).st_size
        return unpacked(file, spans), len(parcel.buffers)


@pytest.mark.parametrize("size", [0, 10, LARGE, MAPPED])
def test_arrays_and_tensors(size):
    x = np.arange(size, dtype=np.uint8)
    value = {"array": x, "tensor": torch.from_numpy(x.copy()), "text": "x"}
    found, parts = sent(value)
    assert parts == (2 if size >= LARGE else 0) and found["text"] == "x"
    assert np.array_equal(found["array"], x) and torch.equal(found["tensor"], value["tensor"])
    found["array"] += 1
    found["tensor"] += 1
    assert np.array_equal(value["array"], np.arange(size, dtype=np.uint8))


def test_two_readers_do_not_see_each_other_s_changes():
    parcel = Parcel.of(torch.zeros(MAPPED))
    with SharedFile() as file:
        spans = parcel.write(file)
        one, other = unpacked(file, spans), unpacked(file, spans)
    one += 1
    assert other.max() == 0 and one.min() == 1


def test_what_is_large_is_not_copied_into_the_pickle():
    x = torch.zeros(LARGE)
    parcel = Parcel.of([x, x.numpy()])
    assert parcel.stream.nbytes < 1000 and parcel.size < 2 * x.nbytes + 1000


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.bool, torch.complex64, torch.uint16])
def test_kinds_strides_and_gradients(dtype):
    x = torch.zeros(2 * LARGE, dtype=dtype).reshape(2, -1).T
    x[0, 1] = 1
    (found, row), _ = sent((x, x[:5, 1]))
    assert found.stride() == x.stride() and torch.equal(found, x) and torch.equal(row, x[:5, 1])
    weight = torch.nn.Parameter(torch.ones(LARGE))
    found, _ = sent(weight)
    assert isinstance(found, torch.nn.Parameter) and found.requires_grad


def test_no_file_stays_open():
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    sent(np.zeros(MAPPED, np.uint8))
    sent(1)
    assert len(os.listdir("/proc/self/fd")) == before if before else True
