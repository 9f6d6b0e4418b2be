"""The filter for video: every pixel by NumPy, `last`, its registers, and its cycles."""

from contextlib import contextmanager

import numpy as np
import pytest

from labkit.fpga.library import library
from labkit.fpga.running.stalls import random_stalls
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.axi_driver import AxiRun
from labkit.fpga.toolchain.models import compiled
from tests.fpga.circuits.cycles import FILTER_LATENCY, filter_cycles
from tests.fpga.circuits.rtl_cases import SHARE, both, int8, stalled

LIMIT = 100  # cycles for one access of a register
SLAVE_ERROR = 2
SIZES = [(5, 7), (1, 4), (6, 1), (2, 3)]
CASES = [(*size, "verilator") for size in SIZES] + [(5, 7, "cxxrtl"), (1, 1, "cxxrtl")]


def rounded(sums: np.ndarray, shift: int) -> np.ndarray:
    """Whole sums through shift, rounding and limits, in float64, which holds all of them."""
    return np.clip(np.floor(sums / 2.0**shift + (0.5 if shift else 0)), 0, 255).astype(np.uint8)


def filtered(frame: np.ndarray, taps: np.ndarray, shift: int) -> np.ndarray:
    """A frame of bytes [H,W] with a border of zeros, weighted by taps[3,3]."""
    H, W = frame.shape
    padded = np.pad(frame.astype(np.int64), 1)
    sums = sum(taps[r, s] * padded[r : r + H, s : s + W] for r in range(3) for s in range(3))
    return rounded(sums, shift)


def bytes_of(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """All of 0..255, both ends among them where there is room."""
    drawn = rng.integers(0, 256, shape).astype(np.uint8)
    drawn.flat[:2] = (0, 255)[: drawn.size]
    return drawn


@contextmanager
def circuit(H, W, engine="verilator", seed=None):
    """The filter for frames of one size; with a seed both streams stall by chance."""
    sources = read_sources(library("filter_3x3"), "filter_3x3")
    model = compiled(sources, engine, {"HEIGHT": H, "WIDTH": W})
    with AxiRun(model.table, model.ports) as run:
        if seed is not None:
            run.stall(random_stalls(SHARE, seed), random_stalls(SHARE, seed + 1))
        yield run


def set_filter(run, taps, shift):
    for place, value in enumerate([*taps.ravel(), shift]):
        assert run.write(4 * place, int(value) % 2**32, 0b1111, LIMIT) == 0


def through(run, frames):
    """Frames[N,H,W], a packet each, through the circuit: what comes out, and its cycles."""
    before, begin = run.state().received, run.state().cycle
    lasts = np.zeros(frames.shape, np.uint8)
    lasts[:, -1, -1] = 1
    run.send(frames.ravel(), lasts.ravel())
    while run.advance(1_000_000, 1_000) == "packet out":
        pass
    words, out_lasts = run.received()
    assert np.array_equal(out_lasts[before:], lasts.ravel())
    assert run.state().violations == 0
    return words[before:].reshape(frames.shape), run.state().last_received + 1 - begin


@pytest.mark.parametrize(("H", "W", "engine"), CASES)
def test_frames_of_any_size_and_their_cycles(H, W, engine):
    """Two frames in a row, then one with another filter: nothing stays of what was before."""
    rng = np.random.default_rng(H * W)
    frames, taps = bytes_of(rng, 3, H, W), int8(rng, 2, 3, 3)
    with circuit(H, W, engine) as run:
        set_filter(run, taps[0], 9)
        out, cycles = through(run, frames[:2])
        assert all(map(np.array_equal, out, (filtered(f, taps[0], 9) for f in frames)))
        assert cycles == filter_cycles(H, W, 2)
        set_filter(run, taps[1], 0)
        out, cycles = through(run, frames[2:])
        assert np.array_equal(out[0], filtered(frames[2], taps[1], 0))
        assert cycles == filter_cycles(H, W)


@pytest.mark.parametrize("engine", ["cxxrtl", "verilator"])
def test_stalls_change_nothing_but_cycles(engine):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        frames, taps = bytes_of(rng, 2, 5, 7), int8(rng, 3, 3)
        with circuit(5, 7, engine, seed) as run:
            set_filter(run, taps, seed)
            out, cycles = through(run, frames)
        assert all(map(np.array_equal, out, (filtered(f, taps, seed) for f in frames)))
        assert cycles > filter_cycles(5, 7, 2)


def test_a_frame_of_a_camera():
    """640x480, whose cycles the course quotes; the formula without the code."""
    rng = np.random.default_rng(7)
    frame, taps = bytes_of(rng, 480, 640), int8(rng, 3, 3)
    with circuit(480, 640) as run:
        set_filter(run, taps, 10)
        out, cycles = through(run, frame[None])
    assert np.array_equal(out[0], filtered(frame, taps, 10))
    assert cycles == filter_cycles(480, 640) == 480 * 640 + 480 + 640 + 1 + 1 + FILTER_LATENCY


def in_packets(run, packets):
    """Packets of pixels, each with `last` at its end, through the circuit: what comes of each."""
    begin = len(run.received()[0])
    for packet in packets:
        lasts = np.zeros(len(packet), np.uint8)
        lasts[-1] = 1
        run.send(packet, lasts)
    while run.advance(100_000, 1_000) != "quiet":
        pass
    assert run.state().violations == 0 and run.state().queued == 0
    words, lasts = run.received()
    return np.split(words[begin:], np.flatnonzero(lasts[begin:]) + 1)[:-1]


def of_a_packet(packet, H, W, taps, shift):
    """What comes of a packet: frame by frame, and black where the last one lacks pixels."""
    out = []
    for begin in range(0, len(packet), H * W):
        pixels = packet[begin : begin + H * W]
        frame = np.zeros(H * W, np.uint8)
        frame[: len(pixels)] = pixels
        out.append(filtered(frame.reshape(H, W), taps, shift).ravel()[: len(pixels)])
    return np.concatenate(out)


@pytest.mark.parametrize("engine", ["cxxrtl", "verilator"])
@pytest.mark.parametrize("seed", [None, 4, 5], ids=["free", "stalled", "stalled otherwise"])
def test_after_a_packet_of_any_length_a_frame_is_right(engine, seed):
    """Each length up to two frames, and a whole frame behind it: the mark of a bug is its shift."""
    H, W = 4, 5
    rng = np.random.default_rng(9)
    taps = int8(rng, 3, 3)
    with circuit(H, W, engine, seed) as run:
        set_filter(run, taps, 8)
        packets = []
        for length in rng.permutation(np.arange(1, 2 * H * W + 1)):
            packets += [bytes_of(rng, length), bytes_of(rng, H * W)]
        got = in_packets(run, packets)
    assert len(got) == len(packets)
    for packet, words in zip(packets, got, strict=True):
        assert np.array_equal(words, of_a_packet(packet, H, W, taps, 8))


@pytest.mark.parametrize(("H", "W"), [(1, 1), (1, 4), (6, 1), (2, 3)])
def test_short_packets_of_small_frames(H, W):
    rng = np.random.default_rng(H + W)
    taps = int8(rng, 3, 3)
    packets = [bytes_of(rng, int(n)) for n in rng.integers(1, H * W + 1, 12)]
    with circuit(H, W) as run:
        set_filter(run, taps, 7)
        got = in_packets(run, packets)
    for packet, words in zip(packets, got, strict=True):
        assert np.array_equal(words, of_a_packet(packet, H, W, taps, 7))


def test_fewer_rows_are_a_frame_of_fewer_rows():
    """Whole rows need no black pixels: below them is the border, as below each frame."""
    rng = np.random.default_rng(10)
    frame, taps = bytes_of(rng, 3, 7), int8(rng, 3, 3)
    with circuit(5, 7) as run:
        set_filter(run, taps, 6)
        (words,) = in_packets(run, [frame.ravel()])
    assert np.array_equal(words.reshape(3, 7), filtered(frame, taps, 6))


def test_a_short_packet_costs_a_row_after_its_last_pixel():
    with circuit(5, 7) as run:
        in_packets(run, [np.ones(10, np.uint8)])
        state = run.state()
    assert state.last_received - state.last_sent == 7 + 2 + FILTER_LATENCY + 1


def test_last_goes_with_its_pixel_wherever_it_is():
    """Packets that are no frames: the filter neither adds an end nor loses one."""
    rng = np.random.default_rng(8)
    lasts = (rng.random(2 * 35) < 0.3).astype(np.uint8)
    lasts[-1] = 1
    with circuit(5, 7, seed=3) as run:
        run.send(bytes_of(rng, 2 * 35), lasts)
        while run.advance(10_000, 1_000) != "quiet":
            pass
        assert np.array_equal(run.received()[1], lasts)


@pytest.mark.parametrize("shift", [0, 1, 7, 12, 20, 21, 22, 127])
def test_windows_at_both_ends_of_their_range(shift):
    """The largest and the smallest sum, sums that are just halves, and many others."""
    rng = np.random.default_rng(shift)
    pixels = np.concatenate([bytes_of(rng, 60, 9), np.full((1, 9), 255, np.uint8)])
    pixels[:40] >>= 5  # so that small sums come, too
    for weights in (np.full(9, -128), np.full(9, 127), int8(rng, 9), int8(rng, 9) >> 5):
        lasts = rng.integers(0, 2, len(pixels))
        inputs = {"weights": sum(int(w) % 256 << 8 * i for i, w in enumerate(weights))}
        inputs |= {"shift": shift, "x": pixels, "x_last": lasts}
        wanted = rounded(pixels.astype(np.int64) @ weights.astype(np.int64), shift)
        for stalls in (None, stalled("x y")):
            simulation = both("filter_window", inputs, len(pixels), stalls=stalls)
            assert np.array_equal(simulation.outputs["y"], wanted)
            assert np.array_equal(simulation.lasts["y"], lasts)
            if stalls is None:
                assert simulation.cycles.value == len(pixels) + FILTER_LATENCY


def test_before_anything_is_written_every_pixel_is_black():
    with circuit(2, 3) as run:
        out, _ = through(run, np.full((1, 2, 3), 255))
        assert not out.any()


@pytest.mark.parametrize("engine", ["cxxrtl", "verilator"])
def test_registers_keep_signed_bytes_and_refuse_all_else(engine):
    with circuit(2, 3, engine) as run:
        values = [-128, 127, 0, -1, 1, 100, -100, 5, -7, 127]
        set_filter(run, np.array(values[:9]), values[9])
        refused = [(0, 128), (0, -129 % 2**32), (4, 255), (36, 2**31), (40, 1), (60, 0), (2, 0)]
        for address, value in refused:
            assert run.write(address, value, 0b1111, LIMIT) == SLAVE_ERROR
        assert run.write(0, 5, 0b0111, LIMIT) == SLAVE_ERROR
        read = [run.read(4 * place, LIMIT) for place in range(10)]
        assert read == [(0, value % 2**32) for value in values]
        assert [run.read(address, LIMIT)[0] for address in (40, 60, 33)] == [SLAVE_ERROR] * 3


@pytest.mark.parametrize(("registers", "bits"), [(1, 8), (8, 32)])
def test_register_banks_of_other_sizes(registers, bits):
    """Into the last of them -1, the one number with all of its bits, and nothing elsewhere."""
    ends = "awvalid wvalid bready arvalid rready"
    inputs = {f"s_axi_{end}": 1 for end in ends.split()}
    inputs |= dict.fromkeys(("s_axi_awaddr", "s_axi_araddr"), 4 * (registers - 1))
    inputs |= {"s_axi_wdata": 2**32 - 1, "s_axi_wstrb": 0b1111}
    sizes = {"REGISTERS": registers, "BITS": bits}
    trace = both("register_bank", inputs, None, cycles=8, parameters=sizes).trace
    assert int(trace["values"][-1]) == (2**bits - 1) << bits * (registers - 1)
    assert int(trace["s_axi_rdata"][-1]) == 2**32 - 1
    assert trace["s_axi_bvalid"].any() and trace["s_axi_rvalid"].any()
    assert not trace["s_axi_bresp"].any() and not trace["s_axi_rresp"].any()
