"""stepper.py: the page holds the trace, all of it and nothing else, in one frame."""

import json
from html.parser import HTMLParser

import ml_dtypes
import numpy as np
import pytest

from labkit.tpu.matrix_unit.systolic import SystolicArray
from labkit_lessons.tpu.a_product_in_a_grid.stepper import Stepper

WORDS = {"#": "active", "~": "passing", "+": "loading"}
HOSTILE = """</script><script>document.title = 'x'</script> 'a' "b" &amp; {{TRACE}} <iframe>"""


def run(M=4, K=4, N=4, rows=4, cols=4, dtype=np.int8, **options):
    rng = np.random.default_rng(M * K * N)
    a, b = (rng.integers(-9, 10, shape).astype(dtype) for shape in ((M, K), (K, N)))
    return SystolicArray(rows, cols).matmul(a, b, trace=True, **options)


RUNS = {
    "ws": run(),
    "is": run(3, 4, 2, 4, 3, dataflow="is"),
    "os": run(4, 5, 3, 4, 3, dataflow="os"),
    "one": run(1, 1, 1, 1, 1),
    "tiles": run(5, 6, 7),
    "os in tiles": run(5, 2, 7, 3, 2, dataflow="os"),
    "double-buffered": run(5, 6, 7, double_buffer=True),
    "bfloat16": run(dtype=ml_dtypes.bfloat16),
}


class Frames(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def html(stepper):
    return stepper._repr_mimebundle_()["text/html"]


def page(stepper):
    ((tag, attributes),) = Frames(html(stepper)).tags
    assert tag == "iframe"
    return attributes


def run_data(stepper):
    (line,) = [x for x in page(stepper)["srcdoc"].split("\n") if x.startswith("const run = ")]
    return json.loads(line.removeprefix("const run = ").removesuffix(";"))


@pytest.mark.parametrize("name", RUNS)
def test_the_page_holds_the_trace(name):
    seen, data = RUNS[name], run_data(Stepper(RUNS[name]))
    assert data["first"] == (0 if seen.dataflow == "os" else -seen.rows)
    assert (data["rows"], data["columns"]) == (seen.rows, seen.cols)
    assert len(data["cycles"]) == len(seen.trace)
    moving = {"ws": ["a", "psum"], "is": ["b", "psum"], "os": ["a", "b"]}[seen.dataflow]
    for shown, cycle in zip(data["cycles"], seen.trace, strict=True):
        there = (cycle.active | cycle.passing).ravel()
        for register in ("a", "b", "psum", *["spare"] * seen.double_buffer):
            held = there if register in moving else np.ones_like(there)  # else nothing is shown
            values = getattr(cycle, register).ravel()
            for got, value, at in zip(shown[register], values, held, strict=True):
                assert got == value if at else got is None
        for i, letter in enumerate(shown["kinds"]):
            said = [word for word in WORDS.values() if getattr(cycle, word).flat[i]]
            assert WORDS[letter] in said if letter != "." else not said
            assert letter == "#" or "active" not in said
        for side in ("left", "top"):
            entering = {i: v for i, v in enumerate(shown[side]) if v is not None}
            assert entering == getattr(cycle, side)
        assert {c: (i, j, v) for c, i, j, v in shown["out"]} == cycle.leaves


@pytest.mark.parametrize("name", RUNS)
def test_what_leaves_adds_up_to_the_result(name):
    total = np.zeros(run_data(Stepper(RUNS[name]))["shape"])
    for cycle in run_data(Stepper(RUNS[name]))["cycles"]:
        for _, i, j, value in cycle["out"]:
            total[i, j] += value
    assert np.array_equal(total, RUNS[name].result)


def test_float32_comes_back_to_the_last_bit():
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=(3, 3)).astype(ml_dtypes.bfloat16) for _ in range(2))
    seen = SystolicArray(3, 3).matmul(a, b, trace=True)
    for shown, cycle in zip(run_data(Stepper(seen))["cycles"], seen.trace, strict=True):
        there = (cycle.active | cycle.passing).ravel()
        values = np.array([v for v in shown["psum"] if v is not None], np.float32)
        assert np.array_equal(values, cycle.psum.ravel()[there])


def test_infinities_and_nan_are_numbers_of_javascript():
    a = np.full((1, 1), np.inf, ml_dtypes.bfloat16)
    seen = SystolicArray(1, 1).matmul(a, np.zeros_like(a), trace=True)
    (computing,) = [c for c in run_data(Stepper(seen))["cycles"] if c["kinds"] == "#"]
    assert np.isinf(computing["a"][0]) and np.isnan(computing["psum"][0])


def test_a_convolution_is_shown_as_its_matrix_product():
    x = np.arange(18, dtype=np.int8).reshape(2, 1, 3, 3)
    w = np.arange(12, dtype=np.int8).reshape(3, 1, 2, 2)
    seen = SystolicArray(4, 3).conv2d(x, w, trace=True)
    data, total = run_data(Stepper(seen)), np.zeros((2 * 2 * 2, 3))
    assert data["shape"] == [8, 3]
    for cycle in data["cycles"]:
        for _, i, j, value in cycle["out"]:
            total[i, j] += value
    assert np.array_equal(total, seen.result.transpose(0, 2, 3, 1).reshape(8, 3))


def test_one_frame_that_asks_for_no_other_file():
    text = page(Stepper(RUNS["ws"]))["srcdoc"]
    assert page(Stepper(RUNS["ws"]))["sandbox"] == "allow-scripts"
    for tag, attributes in Frames(text).tags:
        assert not {"src", "href", "action"} & set(attributes), tag
    for way in ("@import", "url(", "fetch(", "XMLHttp", "import(", "window.", "postMessage"):
        assert way not in text


def test_small_and_the_same_every_time():
    assert len(html(Stepper(RUNS["ws"])).encode()) < 60_000
    assert html(Stepper(run())) == html(Stepper(run()))


def test_any_title_stays_a_title():
    stepper = Stepper(RUNS["one"], HOSTILE)
    assert page(stepper)["title"] == run_data(stepper)["title"] == HOSTILE
    plain = Frames(page(Stepper(RUNS["one"]))["srcdoc"]).tags
    assert Frames(page(stepper)["srcdoc"]).tags == plain


def test_without_a_browser_the_busiest_cycle_in_letters():
    seen = RUNS["double-buffered"]
    said = str(Stepper(seen, "Mine"))
    assert said == Stepper(seen, "Mine")._repr_mimebundle_()["text/plain"]
    title, about, where, *grid = said.split("\n")
    t = int(where.split()[1])
    assert title == "Mine" and f"{seen.cycles} cycles" in about
    assert where.startswith(f"cycle {t} of -4 to {seen.cycles - 5}, compute;")
    cycle = seen.trace[t + 4]
    assert cycle.active.sum() == max(c.active.sum() for c in seen.trace)
    letters = np.array([line.split() for line in grid])
    assert np.array_equal(letters == "#", cycle.active)
    assert np.array_equal(letters == "~", cycle.passing)


def test_what_is_no_run_with_a_trace_is_refused():
    a = np.ones((2, 2), np.int8)
    for given in (SystolicArray(2, 2).matmul(a, a), a, None):
        with pytest.raises(ValueError, match=r"no run with a trace.*trace=True"):
            Stepper(given)


def test_a_number_may_be_a_title():
    assert page(Stepper(RUNS["one"], 3))["title"] == "3"
