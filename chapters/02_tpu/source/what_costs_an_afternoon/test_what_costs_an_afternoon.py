"""This lesson: what it prints follows JAX's own events and the learner's functions."""

import logging

import numpy as np
import pytest

from labkit import figures
from labkit.tpu import compiler
from labkit.tpu.programs import CONVNET, convnet
from tests.notebooks.running import Run

jax = pytest.importorskip("jax")

from labkit_lessons.tpu.what_costs_an_afternoon import counting, input_pictures, on_a_tpu  # noqa: E402

KEYS, AGREE, NEW, PADDING = "second_calls = {", "checks = []", "def with_a_lambda", "ways = {"
PICTURE, AHEAD, QUEUES = "input_pictures.timelines", "def train", "waits = []"
TRACE, GUESSES = "def three_steps", "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "13_what_costs_an_afternoon")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def line(said, begin):
    (found,) = (one for one in said.splitlines() if one.startswith(begin))
    return found[len(begin) :].split()


def test_what_a_key_is_made_of(lesson):
    said = printed(lesson, KEYS)
    assert line(said, "step(x, 0.1, 2)") == line(said, "step(x, 0.2, 2)") == ["0", "-"]
    assert line(said, "step(x, 1, 2)") == "1 rate, now i32[] and before f32[]".split()
    assert line(said, "step(x, 0.1, 3)") == "1 now 3 and before 2".split()
    assert line(said, "step(x[:7], 0.1, 2)") == "1 x, now f32[7] and before f32[8]".split()
    assert line(said, "step(half, 0.1, 2)") == "1 x, now f16[8] and before f32[8]".split()


def test_the_example_has_three_keys_and_two_when_padded(lesson):
    count = lesson.namespace["count_programs"]
    calls = np.array([8, 8, 8, 5]), np.array([0.5, 4, 0.7, 4]), np.array([0, 1, 0, 1], bool)
    powers = np.full(4, 2)
    assert [count(*calls, powers, 1), count(*calls, powers, 8)] == [3, 2]
    assert [counting.compiled_by_calls(*calls, powers, bucket) for bucket in (1, 8)] == [3, 2]


def test_the_function_is_held_against_jax(lesson):
    said = printed(lesson, AGREE)
    for yours, real in (one.split()[1:] for one in said.splitlines()[2:5]):
        assert yours == real
    other, _ = lesson.again(AGREE, count_programs=lambda *given: 77)
    assert [one.split()[1] for one in other.splitlines()[2:5]] == ["77"] * 3


def test_events_are_programs_and_cache_entries_are_not():
    """Why the lesson does not count with `_cache_size()`."""
    step = counting.fresh_step()
    array = np.ones(6, np.float32)
    assert counting.compiled_by(lambda: step(array, 0.1, 2)) == 1
    assert counting.compiled_by(lambda: step(jax.numpy.asarray(array), 0.1, 2)) == 0
    assert step._cache_size() == 2


def test_what_jax_logs_is_kept_from_the_screen_and_let_go():
    step = counting.fresh_step()
    logger = logging.getLogger("jax")
    before = logger.handlers, logger.propagate
    step(np.ones(3, np.float32), 0.1, 2)
    told = counting.reason(lambda: step(np.ones(4, np.float32), 0.1, 2))
    assert told == "x, now f32[4] and before f32[3]"
    assert (logger.handlers, logger.propagate) == before


def test_a_lambda_is_new_each_time(lesson):
    said = printed(lesson, NEW)
    assert "a lambda, three rounds: 3" in said and "one function, three rounds: 1" in said


def test_what_padding_costs(lesson):
    said = printed(lesson, PADDING)
    assert line(said, "nothing") == ["64", "2,080", "0"]
    assert line(said, "a multiple of 8") == ["8", "2,304", "10.8"]
    assert line(said, "a power of two") == ["7", "2,731", "31.3"]


def test_the_example_of_two_queues(lesson):
    begins = lesson.namespace["step_begins"]
    times = np.array([2, 2, 2, 9]), np.full(4, 4)
    assert begins(*times, 1).tolist() == [2, 6, 10, 19]
    assert begins(*times, 2).tolist() == [2, 6, 10, 15]
    assert input_pictures.in_turn(*times).tolist() == [2, 8, 14, 27]
    assert input_pictures.waiting(begins(*times, 1), times[1]) == 2


def test_the_picture_shows_host_and_device(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "timeline", lambda rows, word: drawn.append((rows, word)))
    lesson.again(PICTURE)
    rows, word = drawn[0]
    assert word.startswith("predicted")
    spans = [(round(1e3 * start), round(1e3 * end)) for _, start, end in rows["k = 1: host"]]
    assert spans == [(0, 2), (2, 4), (6, 8), (10, 19)]
    spans = [(round(1e3 * start), round(1e3 * end)) for _, start, end in rows["no queue: host"]]
    assert spans == [(0, 2), (6, 8), (12, 14), (18, 27)]


def test_a_loop_that_reads_an_earlier_loss(lesson):
    said = " ".join(printed(lesson, AHEAD).split())
    assert "k = 0: prepare 0; call 0; read 0; prepare 1; call 1; read 1;" in said
    assert "k = 1: prepare 0; call 0; prepare 1; call 1; read 0; prepare 2;" in said
    assert "k = 2: prepare 0; call 0; prepare 1; call 1; prepare 2; call 2; read 0;" in said


def test_reading_k_steps_back_is_a_queue_with_k_places(lesson):
    """The loop on a virtual clock: calls cost nothing, a read waits for the end of its step."""
    rng = np.random.default_rng(5)
    prepare = rng.uniform(0, 9, 50)
    compute = rng.uniform(1, 6, 50)
    for k in (0, 1, 2, 5):
        host = free = 0.0
        begins = []
        for i in range(50):
            host += prepare[i]
            begins.append(max(host, free))
            free = begins[i] + compute[i]
            if i >= k:
                host = max(host, begins[i - k] + compute[i - k])
        if k == 0:
            right = input_pictures.in_turn(prepare, compute)
        else:
            right = lesson.namespace["step_begins"](prepare, compute, k)
        np.testing.assert_allclose(begins, right)


def test_how_long_a_queue_must_be(lesson):
    results = {key: float(value) for key, value in lesson.namespace["results"].items()}
    assert [results[20, k] for k in (1, 2, 4, 8)] == [442, 402, 322, 322]
    assert [results[30, k] for k in (1, 2, 4, 8)] == [522, 482, 402, 357]
    other, _ = lesson.again(QUEUES, step_begins=lambda prepare, compute, k: 100 * np.arange(64))
    assert "6,305" in other


def test_a_trace_holds_steps_and_compilations(lesson):
    said = printed(lesson, TRACE)
    found = [line(said, f"train {number}: programs compiled:")[0] for number in range(3)]
    assert found == ["0", "0", "1"]


def test_a_trace_says_in_which_step_a_compilation_is():
    """Not in the last one alone: here the first and the third of four steps compile."""
    step = counting.fresh_step()

    def four_steps():
        for number, length in enumerate([5, 5, 6, 5]):
            with jax.profiler.StepTraceAnnotation("other", step_num=number):
                result = step(np.ones(length), 0.1, 2)
        return result

    seen = counting.traced(four_steps, "other")
    assert [names["backend_compile_and_load"] for names in seen] == [1, 0, 1, 0]


def test_64_images_cost_as_much_as_128_but_64_rows_do_not(lesson):
    said = printed(lesson, PADDING)
    assert "118,451" in said and "5,945" in said
    tpu = lesson.namespace["tpu"]
    assert [row[0] for row in tpu] == [8, 64, 128, 129]
    few, half, full, more = (row[1].value for row in tpu)
    assert few < full < half < more
    rows = [row[2].value for row in tpu]
    assert rows == sorted(set(rows)), "each row across the tiles costs"
    assert {cell.word for row in tpu for cell in row[1:]} == {"compiled"}


def test_the_batch_of_the_network_lies_along_the_128():
    made = compiler.compile_for_tpu(convnet, [CONVNET, (256, 32, 32, 3)], source="snapshot")
    (images,) = (array for array in made.padding if array.name == "x")
    assert images.axes[0] == 0


@pytest.mark.skipif(not compiler.installed(), reason="no TPU compiler here")
def test_the_compiler_here_agrees_with_the_snapshot():
    shapes = [(64, 1024), (1024, 1024)]
    live, stored = (
        compiler.compile_for_tpu(on_a_tpu.layer, shapes, "v5e:1x1", source=source)
        for source in ("compiler", "snapshot")
    )
    assert live.estimated_cycles == stored.estimated_cycles


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    assert [float(result) for *_, result in drawn[0]] == [5, 402]
    assert [result.word for *_, result in drawn[0]] == ["counted", "predicted"]


def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a function and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for words in (KEYS, NEW, AHEAD, QUEUES, TRACE, GUESSES):
        code = lesson.cell(words)
        assert lesson.execute(code, left_behind) == lesson.printed[code]
