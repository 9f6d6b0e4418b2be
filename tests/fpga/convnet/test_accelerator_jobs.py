"""Jobs that go wrong: what the registers say, that the circuit frees itself, and what is told."""

from dataclasses import replace

import numpy as np
import pytest

from labkit.fpga.convnet.accelerator import RESET, START, Accelerator
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.fpga.convnet.accelerator_words import image_beats, images_per_job, job_words
from labkit.fpga.errors import RTLError
from labkit.fpga.library import library
from labkit.fpga.running.stalls import Stalls
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.models import compiled
from tests.fpga.convnet.small_networks import SMALL, oracle, random_images, random_network

LAYERS, PICTURES = random_network(1), random_images(1, 2)
WORDS = job_words(LAYERS, PICTURES, shapes=SMALL)
WANT = oracle(LAYERS, PICTURES)


@pytest.fixture(params=[None, Stalls(seed=5, share=0.4)], ids=["free", "stalled"])
def accelerator(request):
    with Accelerator(shapes=SMALL, stalls=request.param) as accelerator:
        yield accelerator
        # Whatever went before: the next job is right, and no offered word was withdrawn.
        accelerator.reset()
        assert accelerator.status() == set()
        run = accelerator.run(LAYERS, PICTURES)
        assert np.array_equal(run.logits, WANT)
        assert run.status == {"DONE"}


def job(accelerator, words, images=2, last=True):
    """A job up to its end: the status, and the words that came out."""
    before = accelerator.state().received
    accelerator.start(images)
    accelerator.send(words, last)
    accelerator.wait()
    out, lasts = accelerator.received()
    return accelerator.status(), out[before:], lasts[before:]


@pytest.mark.parametrize("beats", [1, 2, 3, 100, len(WORDS) - 200, len(WORDS) - 1])
def test_too_short(accelerator, beats):
    """The output still ends, so that nobody waits for it."""
    status, out, lasts = job(accelerator, WORDS[:beats])
    assert status == {"DONE", "TOO_SHORT"}
    assert out[-1] == 0 and lasts[-1] == 1 and not lasts[:-1].any()
    assert len(out) <= 6
    assert accelerator.read("BEATS_IN") == beats
    assert accelerator.read("BEATS_OUT") == len(out)
    assert accelerator.state().violations == 0


@pytest.mark.parametrize("more", [1, 77])
def test_too_long(accelerator, more):
    """What is too much is discarded; the results are right."""
    extra = np.full(more, 0x5555, np.uint64)
    status, out, lasts = job(accelerator, np.concatenate([WORDS, extra]))
    assert status == {"DONE", "TOO_LONG"}
    assert np.array_equal(out.view("<i4").reshape(-1, 10), WANT)
    assert lasts.tolist() == [0] * 9 + [1]
    assert accelerator.read("BEATS_IN") == len(WORDS) + more


def test_without_a_last_beat_the_job_stays_busy(accelerator):
    """All results come, and a RESET frees the circuit."""
    with pytest.raises(RTLError, match="STATUS says BUSY, TOO_LONG") as error:
        job(accelerator, WORDS, last=False)
    assert f"all {len(WORDS):,} beats of s_axis are taken" in str(error.value)
    assert "m_axis has given 10 words and offers none" in str(error.value)
    assert np.array_equal(accelerator.received()[0].view("<i4").reshape(-1, 10), WANT)


def test_a_stream_that_stops_is_told_with_what_it_waits_for(accelerator):
    with pytest.raises(RTLError, match="all 300 beats of s_axis are taken, and tready is 1"):
        job(accelerator, WORDS[:300], last=False)


def test_a_receiver_that_never_takes_is_told():
    never = Accelerator(shapes=SMALL)
    never._run.stall(np.zeros(0, np.uint8), np.ones(1, np.uint8))
    with pytest.raises(RTLError, match="m_axis offers word 1, and tready is 0"):
        never.run(LAYERS, PICTURES[:1])


def test_a_start_while_busy_disturbs_nothing(accelerator):
    accelerator.start(2)
    accelerator.send(WORDS[:200], last=False)
    accelerator.advance(500, quiet=300)
    accelerator.write("IMAGES", 7)
    accelerator.write("CONTROL", START)
    assert accelerator.status() == {"BUSY", "START_WHILE_BUSY"}
    accelerator.send(WORDS[200:])
    accelerator.wait()
    assert accelerator.status() == {"DONE", "START_WHILE_BUSY"}
    assert np.array_equal(accelerator.received()[0].view("<i4").reshape(-1, 10), WANT)


def test_a_start_without_images(accelerator):
    accelerator.start(0)
    assert accelerator.status() == {"NO_IMAGES"}
    accelerator.start(2)
    assert accelerator.status() == {"BUSY"}


@pytest.mark.parametrize(
    "words",
    [
        job_words(random_network(1, Shapes(8, 8, 16, 16)), PICTURES, shapes=Shapes(8, 8, 16, 16)),
        job_words(LAYERS, PICTURES, Folding(conv2=2), SMALL),
        job_words(LAYERS, PICTURES, Folding(resident=True), SMALL),
        image_beats(PICTURES)[0],
        WORDS[:1] + np.uint64(1),
    ],
    ids=["shapes", "folding", "resident", "no header", "one beat"],
)
def test_weights_of_another_network(accelerator, words):
    """The packet is discarded to its end, and the output ends."""
    status, out, lasts = job(accelerator, words)
    assert status == {"DONE", "OTHER_NETWORK"}
    assert out.tolist() == [0] and lasts.tolist() == [1]
    assert accelerator.read("BEATS_IN") == len(words)


def test_words_before_the_start_wait_for_it(accelerator):
    accelerator.send(WORDS)
    assert accelerator.advance(100) == "advanced"
    assert accelerator.state().sent == 0
    accelerator.start(2)
    accelerator.wait()
    assert accelerator.status() == {"DONE"}


@pytest.mark.parametrize("cycles", [0, 5, 300, 1000])
def test_a_reset_in_the_middle_of_a_job(accelerator, cycles):
    accelerator.start(2)
    accelerator.send(WORDS)
    accelerator.advance(cycles)
    accelerator.write("CONTROL", RESET)
    assert accelerator.status() == set()
    assert accelerator.read("CYCLES") == 0


def test_whatever_cycle_a_reset_comes_in_the_next_job_is_right():
    """The receiver stalls, so that results of the first job are on their way."""
    with Accelerator(shapes=SMALL, stalls=Stalls(seed=7, share=0.7)) as accelerator:
        for cycle in range(0, 3000, 41):
            accelerator.start(2)
            accelerator.send(WORDS)
            accelerator.advance(cycle)
            accelerator.reset()
            accelerator.advance(cycle % 7)
            before = accelerator.state().received
            run = accelerator.run(LAYERS, PICTURES)
            assert np.array_equal(run.logits, WANT), cycle
            assert accelerator.state().received == before + 10


def test_a_start_clears_what_the_job_before_has_left(accelerator):
    status, _, _ = job(accelerator, WORDS[:50])
    assert status == {"DONE", "TOO_SHORT"}
    assert accelerator.run(LAYERS, PICTURES).status == {"DONE"}
    job(accelerator, np.append(WORDS, WORDS[-1:]))
    assert accelerator.run(LAYERS, PICTURES).status == {"DONE"}


def test_a_reset_wins_over_a_start(accelerator):
    accelerator.write("CONTROL", START | RESET)
    assert accelerator.status() == set()
    accelerator.start(2)
    accelerator.write("CONTROL", START | RESET)
    assert accelerator.status() == set()


def test_more_images_than_ten_bits_count():
    count = 1100
    pictures = np.concatenate([random_images(seed, 275) for seed in range(4)])
    with Accelerator(shapes=SMALL) as accelerator:
        run = accelerator.run(LAYERS, pictures)
    assert np.array_equal(run.logits, oracle(LAYERS, pictures))
    assert run.beats_out == 5 * count


class TestRegisters:
    """What a processor can read and write."""

    def test_who_it_is(self, accelerator):
        assert accelerator.read("SHAPES") == SMALL.register == 0x10080808
        assert accelerator.read("FOLDING") == Folding().register == 0x00080101
        assert accelerator.read("CONTROL") == 0

    @pytest.mark.parametrize("late", [(0, 3, 0), (3, 0, 0), (0, 0, 4), (2, 5, 9)], ids=str)
    def test_sides_of_an_access_that_are_late(self, accelerator, late):
        """Address, data and the readiness for the answer, each so many cycles."""
        accelerator._run.pace(*late)
        for value in (5, 6, 7):
            accelerator.write("IMAGES", value)
            assert accelerator.read("IMAGES") == value
        with pytest.raises(RTLError, match="SLVERR"):
            accelerator.write("STATUS", 1)
        accelerator.start(2)
        accelerator.send(WORDS)
        accelerator.wait()
        assert accelerator.status() == {"DONE"}

    @pytest.mark.parametrize("address", [-1, 64, 0x108, 2**32, 1.5, None, True])
    def test_an_address_that_no_port_reaches(self, accelerator, address):
        with pytest.raises(RTLError, match=r"An address is|There is no register"):
            accelerator.read(address)

    @pytest.mark.parametrize("value", [-1, 2**32, 2.0, None])
    def test_a_value_of_more_than_32_bits(self, accelerator, value):
        with pytest.raises(RTLError, match="A register's value is"):
            accelerator.write("IMAGES", value)

    def test_images_is_kept(self, accelerator):
        for value in (1, 0xABCD, 65_535):
            accelerator.write("IMAGES", value)
            assert accelerator.read("IMAGES") == value

    @pytest.mark.parametrize("address", [0x20, 0x3C, 0x02])
    def test_an_address_without_a_register(self, accelerator, address):
        with pytest.raises(RTLError, match="SLVERR"):
            accelerator.read(address)
        with pytest.raises(RTLError, match="SLVERR"):
            accelerator.write(address, 1)

    @pytest.mark.parametrize("register", ["STATUS", "CYCLES", "FOLDING"])
    def test_what_can_only_be_read(self, accelerator, register):
        with pytest.raises(RTLError, match="SLVERR"):
            accelerator.write(register, 1)

    def test_a_part_of_a_word_or_too_large_a_value_changes_nothing(self, accelerator):
        accelerator.write("IMAGES", 3)
        for value, byte_enables in ((5, 0b0001), (5, 0b1110), (65_536, 0b1111)):
            with pytest.raises(RTLError, match="SLVERR"):
                accelerator.write("IMAGES", value, byte_enables)
        assert accelerator.read("IMAGES") == 3
        with pytest.raises(RTLError, match="SLVERR"):
            accelerator.write("CONTROL", START, 0b0010)
        assert accelerator.status() == set()

    def test_a_register_that_is_not_there(self, accelerator):
        with pytest.raises(RTLError, match="There is no register 'SPEED'; there are CONTROL"):
            accelerator.read("SPEED")


class TestRefused:
    """What Python refuses before anything is clocked."""

    def test_a_circuit_that_is_closed(self):
        with Accelerator(shapes=SMALL) as closed:
            pass
        for ask in (closed.status, closed.reset, closed.state, closed.received, closed.wait):
            with pytest.raises(RTLError, match="use the circuit within its `with` block"):
                ask()
        with pytest.raises(RTLError, match="within its `with` block"):
            closed.run(LAYERS, PICTURES)

    def test_a_job_beside_another(self, accelerator):
        accelerator.start(2)
        with pytest.raises(RTLError, match="Another job runs"):
            accelerator.run(LAYERS, PICTURES)
        accelerator.reset()
        accelerator.send(WORDS[:10])
        with pytest.raises(RTLError, match="words of one wait to be sent"):
            accelerator.run(LAYERS, PICTURES)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"weights": LAYERS[0].weights.astype(np.int16)}, "weights of conv1 are int8"),
            ({"bias": LAYERS[0].bias.astype(np.int64)}, "biases of conv1 are int32"),
            ({"shift": 40}, "shift of conv1 is from 1 to 31, not 40"),
            ({"multiplier": LAYERS[0].multiplier + 2**16}, "A multiplier of conv1 is outside"),
        ],
        ids=["weights", "bias", "shift", "multiplier"],
    )
    def test_numbers_that_would_lose_bits(self, changes, words):
        layers = (replace(LAYERS[0], **changes), *LAYERS[1:])
        with pytest.raises(ValueError, match=words):
            job_words(layers, PICTURES, shapes=SMALL)

    def test_layers_that_are_missing(self):
        with pytest.raises(ValueError, match="has 4 layers, not 2"):
            job_words(LAYERS[:2], PICTURES, shapes=SMALL)

    @pytest.mark.parametrize(
        "images",
        [PICTURES.astype(np.uint8), PICTURES[0], PICTURES[:0], PICTURES[:, :, :4]],
        ids=["type", "one image", "none", "shape"],
    )
    def test_images_that_do_not_fit(self, images):
        with pytest.raises(ValueError, match=r"takes int8 images \[N, 3, 8, 8\]"):
            job_words(LAYERS, images, shapes=SMALL)

    def test_a_network_that_does_not_fit(self):
        with pytest.raises(ValueError, match="conv1 has weights"):
            job_words(LAYERS, random_images(0, 1, 32))

    @pytest.mark.parametrize(
        ("folding", "words"),
        [
            (Folding(conv1=3), "3 outputs of conv1 at a time; it has to be a divisor of its 8"),
            (Folding(conv1=0), "0 outputs of conv1"),
            (Folding(conv1=-1), "-1 outputs of conv1"),
            (Folding(conv2=3), "3 outputs of conv2"),
            (Folding(conv2=2.0), "2.0 outputs of conv2"),
            (Folding(fc1=12), "a divisor of its 16 outputs, in multiples of 8"),
            (Folding(fc1=4), "in multiples of 8"),
        ],
        ids=str,
    )
    def test_lanes_that_do_not_divide(self, folding, words):
        with pytest.raises(ValueError, match=words):
            Accelerator(folding, SMALL)
        with pytest.raises(ValueError, match=words):
            job_words(LAYERS, PICTURES, folding, SMALL)

    @pytest.mark.night(instead="tests/fpga/convnet/test_own_modules.py")
    @pytest.mark.parametrize("name", ["CONV1_LANES", "CONV2_LANES"])
    def test_the_circuit_refuses_them_too(self, name):
        sources = read_sources(library("accelerator"), "accelerator")
        with pytest.raises(RTLError, match=r"bits go into|power of two"):
            compiled(sources, "verilator", SMALL.parameters | {name: 3})


@pytest.mark.parametrize("resident", [False, True])
def test_as_many_images_as_the_stream_has_room_for(resident):
    folding = Folding(resident=resident)
    for count in (1, 2, 5):
        exact = job_words(LAYERS, np.zeros((count, 3, 8, 8), np.int8), folding, SMALL).nbytes
        assert images_per_job(LAYERS, folding, SMALL, exact) == count
        if count > 1:
            assert images_per_job(LAYERS, folding, SMALL, exact - 1) == count - 1
    assert images_per_job(LAYERS, Folding(resident=True), SMALL, 1 << 40) == 65_535
    with pytest.raises(ValueError, match="more than the 100 that are allowed"):
        images_per_job(LAYERS, folding, SMALL, 100)


def test_what_the_registers_say_read_back():
    folding = Folding(conv1=4, conv2=8, fc1=16, resident=True)
    assert Folding.of_register(folding.register) == folding
    assert Shapes.of_register(Shapes().register) == Shapes()
