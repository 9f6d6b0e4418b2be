"""The accelerator: the whole network bit by bit, its cycle register, both engines, stalls."""

import numpy as np
import pytest

from labkit import convnet
from labkit.datasets import cifar10
from labkit.fpga.convnet import accelerator_words
from labkit.fpga.convnet.accelerator import START, Accelerator
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.fpga.quantize import quantize
from labkit.fpga.running.stalls import Stalls
from labkit.fpga.sources import RTL
from tests.fpga.convnet.small_networks import SMALL, oracle, random_images, random_network
from tests.night import others_by_night

HERE = "tests/fpga/convnet/test_accelerator.py::test"
LIMIT = 100_000  # cycles for one image
STALLS = Stalls(seed=3, share=0.3)


@pytest.fixture(scope="module")
def network():
    data = cifar10()
    return quantize(convnet.load_weights(), convnet.normalise(data.train.images[:500]))


@pytest.fixture(scope="module")
def images(network):
    return network.to_int8(cifar10().test.images)


def held_against_harness(accelerator, words, images):
    """One job whose CYCLES are counted from outside as well."""
    before = accelerator.state()
    accelerator.write("IMAGES", images)
    accelerator.write("CONTROL", START)
    started = accelerator.state().last_access
    accelerator.send(words)
    accelerator.wait()
    after = accelerator.state()
    assert after.last_sent > before.last_sent and after.last_received > before.last_received
    outside = max(after.last_sent, after.last_received) - started
    return accelerator.read("CYCLES"), outside


@pytest.mark.night(
    instead="tests/fpga/convnet/test_accelerator.py::test_every_image_alone_takes_the_same_cycles"
)
def test_five_hundred_photographs_bit_by_bit(network, images):
    """One job for all of them; the very first also alone, within the limit."""
    assert len(images) == 500
    want = network.logits(images)
    with Accelerator() as accelerator:
        alone = accelerator.run(network.layers, images[:1])
        assert np.array_equal(alone.logits, want[:1])
        assert alone.cycles.value <= LIMIT
        assert alone.status == {"DONE"}
        assert alone.beats_in == len(accelerator_words.job_words(network.layers, images[:1]))
        all_of_them = accelerator.run(network.layers, images)
        assert np.array_equal(all_of_them.logits, want)
        assert all_of_them.beats_out == 5 * len(images)
        assert accelerator.state().violations == 0


def test_every_image_alone_takes_the_same_cycles(network, images):
    """Nothing is remembered from one job to the next, and nothing depends on the data."""
    with Accelerator() as accelerator:
        runs = [accelerator.run(network.layers, images[i : i + 1]) for i in range(8)]
    assert len({run.cycles.value for run in runs}) == 1
    assert runs[0].cycles.value <= LIMIT
    logits = np.concatenate([run.logits for run in runs])
    assert np.array_equal(logits, network.logits(images[:8]))


def test_random_stalls_change_cycles_only(network, images):
    with Accelerator(stalls=STALLS) as accelerator:
        run = accelerator.run(network.layers, images[:60])
        assert np.array_equal(run.logits, network.logits(images[:60]))
        assert accelerator.state().violations == 0


@pytest.mark.parametrize("seed", range(10))
def test_random_networks_of_the_same_shapes(seed):
    layers = random_network(seed, Shapes())
    pictures = random_images(seed, 2, Shapes().side)
    want = oracle(layers, pictures)
    assert len(np.unique(want)) > 10  # the network does not answer with one number
    with Accelerator(stalls=STALLS if seed % 2 else None) as accelerator:
        run = accelerator.run(layers, pictures)
        assert np.array_equal(run.logits, want)


OTHERS = others_by_night(
    [Folding(1, 2, 8), Folding(1, 2, 16, resident=True), Folding(2, 1, 8)],
    instead=f"{HERE}_other_foldings_give_the_same",
    by_day=2,
)


@pytest.mark.parametrize("folding", OTHERS, ids=str)
def test_other_foldings_give_the_same(folding, network, images):
    want = network.logits(images[:5])
    with Accelerator(folding) as accelerator:
        for count in (1, 5):
            run = accelerator.run(network.layers, images[:count])
            assert np.array_equal(run.logits, want[:count])
            assert run.status == {"DONE"}


@pytest.mark.night(instead="tests/fpga/toolchain/test_engines.py::test_identical_traces")
@pytest.mark.parametrize("stalls", [None, STALLS], ids=["free", "stalled"])
def test_both_engines_agree_on_a_small_network(stalls):
    """The same words in the same cycles: each register read takes its cycles of both."""
    layers, pictures = random_network(1), random_images(1, 3)
    seen = []
    for engine in ("cxxrtl", "verilator"):
        with Accelerator(shapes=SMALL, engine=engine, stalls=stalls) as accelerator:
            run = accelerator.run(layers, pictures)
            state = accelerator.state()
            assert np.array_equal(run.logits, oracle(layers, pictures))
            moved = (state.cycle, state.sent, state.last_sent, state.last_received)
            seen.append((run.cycles, run.status, moved, state.violations))
    assert seen[0] == seen[1]
    assert seen[0][-1] == 0


RESIDENT = others_by_night(  # the accelerator is compiled for each
    [False, True], instead=f"{HERE}_the_cycle_register_counts_the_whole_job"
)


@pytest.mark.parametrize("resident", RESIDENT)
@pytest.mark.parametrize("stalls", [None, STALLS], ids=["free", "stalled"])
def test_the_cycle_register_counts_the_whole_job(resident, stalls):
    folding = Folding(fc1=8, resident=resident)
    with Accelerator(folding, SMALL, stalls=stalls) as accelerator:
        for count in (1, 2, 7):
            layers, pictures = random_network(count), random_images(count, count)
            words = accelerator_words.job_words(layers, pictures, folding, SMALL)
            register, outside = held_against_harness(accelerator, words, count)
            assert register == outside


COUNTS = "cycles <= &cycles ? cycles : cycles + 1'b1;"


STOPS = others_by_night(
    ["beat", "state == Stream", "!in_valid || in_ready"],
    instead=f"{HERE}_a_register_that_stops_while_a_stream_is_active_is_seen",
)


@pytest.mark.parametrize("only", STOPS)
def test_a_register_that_stops_while_a_stream_is_active_is_seen(only):
    text = (RTL / "job_control.sv").read_text()
    assert text.count(COUNTS) == 1
    own = {"job_control": text.replace(COUNTS, f"if ({only}) {COUNTS}")}
    with Accelerator(shapes=SMALL, own=own, stalls=STALLS) as accelerator:
        words = accelerator_words.job_words(random_network(0), random_images(0, 1), shapes=SMALL)
        register, outside = held_against_harness(accelerator, words, 1)
        assert register < outside


def test_jobs_that_fail_are_counted_to_their_end_too():
    words = accelerator_words.job_words(random_network(0), random_images(0, 1), shapes=SMALL)
    too_long = np.append(words, np.zeros(500, np.uint64))
    of_another = np.append(words[:1] + np.uint64(1), words[1:])
    with Accelerator(shapes=SMALL, stalls=STALLS) as accelerator:
        for job in (too_long, of_another, words[:200], words):
            register, outside = held_against_harness(accelerator, job, 1)
            assert register == outside
        assert accelerator.read("BEATS_IN") == len(words)


def test_nothing_survives_from_the_job_before():
    """A second network in the same circuit gives what it gives in a fresh one."""
    first, second, pictures = random_network(1), random_network(2), random_images(3, 2)
    with Accelerator(shapes=SMALL) as fresh:
        alone = fresh.run(second, pictures)
    with Accelerator(shapes=SMALL) as used:
        used.run(first, pictures)
        after = used.run(second, pictures)
    assert np.array_equal(alone.logits, after.logits)
    assert alone.cycles == after.cycles


def test_without_weights_in_the_stream_there_is_no_answer():
    """A job whose weights are all zero says so: the circuit holds none of its own."""
    layers = [layer for layer in random_network(1)]
    words = accelerator_words.job_words(layers, random_images(1, 1), shapes=SMALL)
    words[2:] = 0
    with Accelerator(shapes=SMALL) as accelerator:
        accelerator.start(1)
        accelerator.send(words)
        accelerator.wait()
        out, _ = accelerator.received()
    assert not out.any()


@pytest.mark.night(
    instead="tests/fpga/convnet/test_accelerator_cycles_grid.py::test_small_networks"
)
@pytest.mark.parametrize("queue", ["ROW_QUEUE", "VALUE_QUEUE"])
def test_a_short_queue_costs_cycles_and_nothing_else(queue):
    shapes = Shapes(side=8, conv1=8, conv2=32, fc1=16)  # conv2 is no faster than conv1
    layers, pictures = random_network(4, shapes), random_images(4, 2)
    with Accelerator(shapes=shapes) as accelerator:
        long = accelerator.run(layers, pictures)
    with Accelerator(shapes=shapes, queues={queue: 2}) as accelerator:
        short = accelerator.run(layers, pictures)
    assert np.array_equal(short.logits, long.logits)
    assert short.cycles.value > long.cycles.value
