"""labkit.gpu.ladder: counts are counted, needs compiled, and stored numbers are the same."""

from types import SimpleNamespace

import numpy as np
import pytest

from labkit.gpu import cuda, ladder
from labkit.gpu.kernels import Plan, matmul
from labkit.gpu.occupancy_limits import LIMITS, multiprocessor
from labkit_lessons.gpu.what_limits_a_kernel import compiled_ladder

NAMES = list(matmul.LADDER)


def test_counts_are_those_of_the_counters():
    found = ladder.count(["shared tile"], K=64)
    multiply_adds = 128 * 128 * 64 / 32
    tiles = 4 * 4 * 2 * 2  # blocks, steps along k, matrices
    fetched = tiles * 32  # warps that fetch a row of a tile
    results = 128 * 128 // 32
    accesses = 2 * multiply_adds + 2 * fetched + 2 * results / 2
    assert found.names == ["shared tile"]
    assert found.passes[0] == pytest.approx(found.accesses[0], rel=0.01), "no conflicts"
    assert found.accesses[0] == pytest.approx(accesses / multiply_adds, rel=0.03)
    flop = 2 * 128 * 128 * 64
    traffic = 4 * (tiles * 32 * 32 + 128 * 128)
    assert found.intensity[0] == pytest.approx(flop / traffic)


def test_a_kernel_that_skips_work_is_refused(monkeypatch):
    @cuda.jit
    def lazy(a, b, c, M, N, K):
        c[0, 0] = a[0, 0]

    monkeypatch.setattr(matmul, "plan_matmul", lambda *given: Plan(lazy, 1, 1))
    with pytest.raises(RuntimeError, match="product of 'naive' is wrong"):
        ladder.count(["naive"], K=8)


def test_the_tensor_core_is_counted_too():
    found = ladder.count([ladder.TENSOR_CORE], K=64)
    halves = 64 * (128 + 256)
    twice = 2 * 128 * 256  # results: each sector is written by two requests
    one_block = 2 * 128 * 256 * 64 / (2 * halves + 4 * twice)
    assert found.intensity[0] == pytest.approx(one_block)
    assert found.passes[0] < 0.1 and found.accesses[0] < found.passes[0]


def test_one_mma_is_counted():
    replaced = ladder.replaced_by_one_mma()
    assert (float(replaced), replaced.word) == (64, "counted")


def test_every_rung_is_described(capsys):
    assert list(ladder.RUNGS) == [*NAMES, ladder.TENSOR_CORE]
    ladder.show_generations()
    said = capsys.readouterr().out
    assert (
        "tcgen05.mma" in said and "CUTLASS" in said and "Tensor memory: a memory in each SM" in said
    )


COUNTS = ladder.Counts(
    ["naive", "shared tile", "tuned"],
    np.array([0.5, 25, 40]),
    np.array([2, 2, 0.25]),
    np.array([2, 1, 3]),
)


def test_each_count_leaves_a_share():
    shares = COUNTS.shares(ridge=50)
    assert list(shares) == ["traffic", "passes", "instructions"]
    assert shares["traffic"] == pytest.approx([0.01, 0.5, 0.8])
    assert shares["passes"] == pytest.approx([1 / 8, 1 / 8, 1])
    assert shares["instructions"] == pytest.approx([1 / 3, 1 / 2, 1 / 4])


def test_the_counts_stand_beside_what_changes(capsys):
    ladder.show_counts(COUNTS)
    said = capsys.readouterr().out
    assert all(ladder.RUNGS[name] in said for name in COUNTS.names)
    assert "FLOP/B, counted" in said and "for each multiply-add of a warp" in " ".join(said.split())


def test_the_lowest_share_is_named(capsys):
    ladder.show_limits(COUNTS, np.array([0.01, 0.125, 0.25]), ridge=50)
    lines = capsys.readouterr().out.splitlines()
    last = {line.split("  ")[0]: line.split()[-2:] for line in lines[2:5]}
    assert last == {
        "naive": ["1", "traffic"],
        "shared tile": ["12.5", "passes"],
        "tuned": ["25", "instructions"],
    }


def test_at_4096_the_results_are_a_smaller_part_of_the_traffic():
    """K_NOTE's number, from counts at two smaller depths: each has the same bytes of results."""
    found = [ladder.count(["2-D register tile"], K=K).intensity[0] for K in (64, 128)]
    flop = [2 * 128 * 128 * K for K in (64, 128)]
    bytes_ = np.divide(flop, found)
    slope = (bytes_[1] - bytes_[0]) / 64
    at_4096 = 2 * 128 * 128 * 4096 / (bytes_[0] + slope * (4096 - 64))
    assert f"{at_4096:.1f} FLOP/B" in ladder.K_NOTE


def test_rows_carry_their_words():
    counts = ladder.Counts(["one"], np.array([2.0]), np.array([3.0]), np.array([4.0]))
    (row,) = counts.rows()
    assert row[0] == "one" and [float(n) for n in row[1:]] == [2, 3, 4]
    assert {n.word for n in row[1:]} == {"counted"}


@pytest.fixture
def stored(monkeypatch):
    """What a machine without the compiler gets."""

    def missing():
        raise ImportError("no compiler here")

    monkeypatch.setattr(compiled_ladder, "_compiled_here", missing)
    return compiled_ladder.compile_all()


def test_stored_numbers_stand_in_where_nothing_can_be_compiled(stored):
    assert stored.names == NAMES and "stored" in stored.by
    assert stored.warps.tolist() == [8, 32, 32, 16, 8, 8, 8]
    registers = stored.quantity("2-D register tile", "registers")
    assert (registers.number, registers.word) == ("112 registers", "compiled")
    assert stored.shared[0] == compiled_ladder.KEPT, "what CUDA keeps"
    assert stored.blocks().tolist() == [6, 1, 1, 2, 2, 2, 2]
    assert stored.occupancy("2-D register tile").limiter == "registers"
    rows = stored.rows(stored.blocks())
    assert [float(row[-1]) for row in rows] == [48, 32, 32, 32, 16, 16, 16]


@pytest.mark.night(
    instead="tests/gpu/layers/test_matmul_kernels.py::test_the_compiler_finds_nothing_that_numba_hides"
)
def test_stored_numbers_are_the_compilers():
    try:
        numbers, by = compiled_ladder._compiled_here()
    except ImportError as error:
        pytest.skip(str(error))
    if by not in compiled_ladder.STORED_BY:
        pytest.skip(f"stored is what another version made: {by}")
    assert numbers == compiled_ladder.STORED


@pytest.mark.parametrize("arch", sorted(LIMITS))
def test_a_multiprocessor_has_what_its_architecture_allows(arch):
    sm = multiprocessor(arch)
    assert (sm.warps, sm.blocks, sm.shared_bytes // 1024) == LIMITS[arch]
    assert sm.registers == 65536


def test_an_unknown_architecture_is_named():
    with pytest.raises(ValueError, match="'sm_52' are not known here"):
        multiprocessor("sm_52")


def test_a_thousand_threads_are_32_warps(monkeypatch, stored):
    rung = SimpleNamespace(block=(32, 32))
    monkeypatch.setitem(matmul.LADDER, "naive", rung)
    assert compiled_ladder.compile_all().warps[0] == 32
