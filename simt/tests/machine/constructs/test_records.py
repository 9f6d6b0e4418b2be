"""Records: arrays of structured dtypes, their fields, one as argument. NumPy is the oracle."""

import numba
import numpy as np
import pytest

from numba_simt import cuda, profile
from numba_simt.errors import CompileError, KernelError

INNER = np.dtype([("x", np.float32), ("y", np.int16)])
TRACK = np.dtype(
    [
        ("e", np.float64),
        ("n", np.int32),
        ("z", np.complex64),
        ("bytes", np.uint8, 5),
        ("m", np.float32, (2, 3)),
        ("inner", INNER),
    ],
    align=True,
)
Track = numba.from_dtype(TRACK)


def tracks(count=4):
    found = np.zeros(count, TRACK)
    found["e"] = np.arange(count) / 2
    found["n"] = np.arange(count) + 1
    found["m"] = np.arange(6 * count).reshape(count, 2, 3)
    return found


@cuda.jit
def every_field(t, out):
    i = cuda.grid(1)
    if i < t.shape[0]:
        t[i]["e"] += t[i].n * 2
        t[i].n += 1
        t.z[i] = 1j * i
        t[i].bytes[2] = i + 254
        t[i].inner.x = i / 2
        t["inner"][i].y = -i
        t["m"][i, 1, 2] = t.m[i][0, 1] + len(t[i].m[0])
        out[i] = t[i][1] + t[i].m[1, :].sum()


def test_every_field_is_read_and_written_as_numpy_does():
    t, out = tracks(), np.zeros(4)
    wanted = t.copy()
    every_field[1, 32](t, out)
    for i, r in enumerate(wanted):
        r["e"] += r["n"] * 2
        r["n"] += 1
        r["z"] = 1j * i
        r["bytes"][2] = (i + 254) % 256
        r["inner"]["x"] = i / 2
        r["inner"]["y"] = -i
        r["m"][1, 2] = r["m"][0, 1] + 3
        assert out[i] == r["n"] + r["m"][1].sum()
    np.testing.assert_array_equal(t, wanted)


@cuda.jit
def whole_records(t, one):
    total = 0
    for r in t:
        total += r.n
    t[0] = t[1]
    t[2] = one
    one.n = total
    one["m"] = t[3].m
    kept = t[3]
    kept.e = 7.5
    t["n"][1:3] = 9


def test_records_are_copied_and_a_record_argument_is_written_back():
    t, one = tracks(), tracks(1)[0]
    one["e"] = -1
    before = t.copy()
    whole_records[1, 1](t, one)
    np.testing.assert_array_equal(t["e"], [before["e"][1], 0.5, -1, 7.5])
    np.testing.assert_array_equal(t["n"], [2, 9, 9, 4])
    np.testing.assert_array_equal(t["m"][0], before["m"][1])
    assert one["n"] == 10
    np.testing.assert_array_equal(one["m"], before["m"][3])


@cuda.jit
def in_other_memory(t, out, which):
    i = cuda.grid(1)
    mine = cuda.local.array(2, Track)
    tile = cuda.shared.array(4, Track)
    mine[0].e = i
    mine[1].e = 10 * i
    tile[i].e = mine[0].e + mine[1].e
    cuda.syncthreads()
    source = t if which else tile
    out[i] = source[3 - i].e


def test_records_lie_in_shared_and_local_memory_and_are_chosen():
    t, out = tracks(), np.zeros(4)
    in_other_memory[1, 4](t, out, 0)
    assert out.tolist() == [33, 22, 11, 0]
    in_other_memory[1, 4](t, out, 1)
    assert out.tolist() == [1.5, 1, 0.5, 0]
    assert not profile(in_other_memory, 1, 4, t, out, 0).hazards


TABLE = tracks()


@cuda.jit
def from_outside(out):
    out[0] = TABLE[2].n + TABLE.m[3, 1, 2]


def test_a_captured_array_of_records_is_a_constant_and_device_memory_holds_records():
    out = np.zeros(1)
    from_outside[1, 1](out)
    assert out[0] == 3 + 23
    device = cuda.to_device(tracks())
    every_field[1, 4](device, np.zeros(4))
    assert device.copy_to_host()["n"].tolist() == [2, 3, 4, 5]


@cuda.jit
def all_in_one_field(t):
    t[cuda.grid(1) % 2].n = cuda.grid(1)


@cuda.jit
def neighbours(t):
    if cuda.grid(1):
        t[0].n = 1
    else:
        t[0].e = 1


def test_a_race_is_one_of_fields_not_of_records():
    hazards = profile(all_in_one_field, 1, 4, tracks()).hazards
    assert {h.address for h in hazards if h.kind == "race"} == {"t.n[0]"}
    assert not profile(neighbours, 1, 2, tracks()).hazards


def test_packed_records_are_refused_where_a_field_is_not_aligned():
    packed = np.zeros(2, [("a", np.int32), ("b", np.float64)])

    @cuda.jit
    def first(t):
        t[0].a = 3

    @cuda.jit
    def second(t):
        t[0].b = 3

    first[1, 1](packed)
    assert packed["a"].tolist() == [3, 0]
    with pytest.raises(CompileError, match="b of type float64 is not aligned"):
        second[1, 1](packed)


def no_such_field(t):
    t[0].q = 1


def no_such_name(t):
    t[0].n = t[0]["q"]


def no_such_place(t):
    t[0].n = t[0][9]


def a_number(t):
    t[0].n = t[0] + 1


def from_a_tuple(t):
    t[0] = (1, 2)


def another_dtype(t):
    t[0] = t[0].inner


def whole_field(t):
    t.n = 3


def array_by_attribute(t):
    t[0].m = t[1].m


@pytest.mark.parametrize(("function", "said"), [
    (no_such_field, "no field 'q', but e, n, z, bytes, m, inner"),
    (no_such_name, "no field 'q'"),
    (no_such_place, "no field 9"),
    (a_number, "take a field of the record"),
    (from_a_tuple, "cannot be set from a tuple of 2"),
    (another_dtype, "same dtype"),
    (whole_field, "has no .n to set"),
    (array_by_attribute, r"write r\['m'\] = array"),
])  # fmt: skip
def test_what_numba_refuses_of_records_is_refused_with_its_line(function, said):
    with pytest.raises(CompileError, match=said) as error:
        cuda.jit(function)[1, 1](tracks())
    assert error.value.line == function.__code__.co_firstlineno + 1


def test_records_of_objects_are_refused():
    with pytest.raises(KernelError, match="argument `t` holds"):
        cuda.jit(no_such_field)[1, 1](np.zeros(1, [("a", object)]))
