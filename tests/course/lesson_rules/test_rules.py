"""Each rule, refused on a notebook that breaks it and nothing else; the sound one breaks none."""

import json

import pytest

from labkit.course.config import config
from labkit.course.lesson_rules import prose, rules
from labkit.course.notebook import read_stored

NAME = "chapters/01_gpu/1_tiny.ipynb"
IMAGE = {"image/png": "iVBORw0KGgo="}


def examine(course, name=NAME):
    return rules.examine(read_stored(course / name, name), config(course))


def refused(course, change):
    """The sentences on the built notebook after `change(notebook)`."""
    path = course / NAME
    made = json.loads(path.read_text())
    change(made)
    path.write_text(json.dumps(made))
    return examine(course)


def test_the_sound_notebooks_break_no_rule(course):
    for name in (NAME, "chapters/01_gpu/solutions/1_tiny.ipynb"):
        assert examine(course, name) == []


def test_a_stored_solution_that_is_refused_is_found(course):
    path = course / "chapters/01_gpu/solutions/1_tiny.ipynb"
    made = json.loads(path.read_text())
    [cell] = [one for one in made["cells"] if "exercise:tiny.add_one" in str(one["metadata"])]
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["Look again: no"]}]
    path.write_text(json.dumps(made))
    assert any("that `check` refuses" in one for one in examine(course, path.relative_to(course)))


def code(made, number):
    """The code cell with this execution count."""
    return [c for c in made["cells"] if c["cell_type"] == "code"][number - 1]


def set_counts(*counts):
    def change(made):
        for number, count in enumerate(counts, 1):
            code(made, number)["execution_count"] = count

    return change


def set_kernelspec(**fields):
    return lambda made: made["metadata"]["kernelspec"].update(fields)


def set_output(number, *outputs):
    return lambda made: code(made, number).update(outputs=[*outputs])


def set_tags(number, *tags):
    return lambda made: code(made, number)["metadata"].update(tags=[*tags])


def set_source(number, text):
    return lambda made: code(made, number).update(source=text)


def add_markdown(text):
    return lambda made: made["cells"][-1]["source"].append("\n\n" + text)


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": [text]}


def shown(data, **metadata):
    return {"output_type": "display_data", "data": data, "metadata": metadata}


def alt(text):
    return {"image/png": {"alt": text}}


def set_minutes(minutes):
    return lambda made: made["metadata"]["labkit"].update(minutes=minutes)


def drop_above(number):
    def change(made):
        position = made["cells"].index(code(made, number))
        del made["cells"][position - 1]

    return change


def repeat_last(times):
    return lambda made: made["cells"].extend([made["cells"][-1]] * times)


def retitle(old, new):
    def change(made):
        for cell in made["cells"]:
            cell["source"] = [line.replace(old, new) for line in cell["source"]]

    return change


ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}
NO_TIMING = "shows no `NUMBER UNIT (measured on DEVICE)`"
PLANTED = {
    "never run": (set_counts(1, None, 3, 4), "has no execution count"),
    "a gap in the counts": (set_counts(1, 2, 4, 5), "not 1 to 4"),
    "counts out of order": (set_counts(1, 3, 2, 4), "not 1 to 4"),
    "another kernel": (set_kernelspec(name="julia-1.10"), "'julia-1.10'"),
    "another display name": (set_kernelspec(display_name="my env"), "kernelspec"),
    "a stored error": (set_output(2, ERROR), "stores an error: ValueError"),
    "stderr": (set_output(2, stream("careful", "stderr")), "writes to stderr, 'careful'"),
    "no alt text": (set_output(4, shown(IMAGE)), "without alt text"),
    "blank alt text": (set_output(4, shown(IMAGE, **alt("  "))), "without alt text"),
    "a word for alt text": (set_output(4, shown(IMAGE, **alt("a plot"))), "without alt text"),
    "svg without alt": (
        set_output(4, shown({**IMAGE, "image/svg+xml": "<svg/>"}, **alt("a b c d e"))),
        "without alt text",
    ),
    "html image": (set_output(2, shown({"text/html": ["<img src='a'>"]})), "<img> without alt"),
    "html svg": (set_output(2, shown({"text/html": "<svg><g/></svg>"})), "<svg> without"),
    "markdown image": (add_markdown("![](../01_gpu)"), "![what it shows]"),
    "markdown html image": (add_markdown('<img src="README.md" alt="">'), "<img> without alt"),
    "ignored": (set_tags(2, "nbval-ignore-output"), "neither timing nor picture"),
    "skipped": (set_tags(3, "timing", "nbval-skip"), "by 'nbval-skip'"),
    "may raise": (set_tags(3, "timing", "raises-exception"), "by 'raises-exception'"),
    "comment": (set_source(2, "# NBVAL_IGNORE_OUTPUT\nx = 1"), "by '# NBVAL_IGNORE_OUTPUT'"),
    "old comment": (set_source(2, "#PYTEST_VALIDATE_IGNORE_OUTPUT"), "by '#PYTEST_VALIDATE"),
    "timing in name only": (set_output(3, stream("1.2 ms")), NO_TIMING),
    "measured without number": (set_output(3, stream("ms (measured on it)")), NO_TIMING),
    "measured on nothing": (set_output(3, stream("1.2 ms, measured")), NO_TIMING),
    "number and word apart": (set_output(3, stream("3 runs\nof it (measured on it)")), NO_TIMING),
    "no clock": (set_source(3, "print('timeit()')  # perf_counter()"), "calls no clock"),
    "no clock in a magic": (set_source(3, "%matplotlib inline"), "calls no clock"),
    "a timing edited": (
        set_output(3, stream("1 ns (measured on NVIDIA H200)")),
        "edited by hand: run `labkit build --force`",
    ),
    "another machine": (set_output(1, stream("Runs on: NVIDIA H200.\n")), "edited by hand"),
    "another picture": (lambda m: code(m, 4)["outputs"][0]["data"].update(IMAGE), "edited by hand"),
    "no outputs at all": (lambda m: code(m, 2).pop("outputs"), "edited by hand"),
    "no digest": (lambda m: m["metadata"]["labkit"].pop("outputs_sha256"), "edited by hand"),
    "another alt text": (
        lambda m: code(m, 4)["outputs"][0].update(metadata=alt("a b c d e f")),
        "alt text is not its text/plain",
    ),
    "picture in name only": (set_tags(3, "picture", "nbval-ignore-output"), "but shows none"),
    "too many cells": (repeat_last(26), "36 cells"),
    "a long cell": (set_source(2, "x = 1\n" * 21), "has 21 lines"),
    "no time at all": (set_minutes(0), "0 minutes"),
    "half a minute": (set_minutes(0.5), "0.5 minutes"),
    "a word for minutes": (set_minutes("45"), "'45' minutes"),
    "no minutes": (lambda m: m["metadata"].pop("labkit"), "None minutes"),
    "code after code": (drop_above(3), "no sentence above it"),
    "code under a bare heading": (
        lambda m: m["cells"][4].update(source="## Measure"),
        "no sentence above it",
    ),
    "no quiz": (retitle("## Quiz", "## End"), "no section `## Quiz`"),
    "no goal": (retitle("## What you will", "## What one might"), "no section `## What you"),
    "measured too early": (retitle("## Predict", "## Measure"), "no section `## Predict`"),
    "out of order": (
        lambda m: [retitle("## Predict", "## Q")(m), retitle("## Recap", "## Predict")(m)],
        "its sections are not in the order",
    ),
    "dead link": (add_markdown("[there](2_none.ipynb)"), "no such file"),
    "dead anchor": (add_markdown("[there](#C99)"), "no anchor `C99`"),
    "dead anchor elsewhere": (add_markdown("[there](README.md#nowhere)"), "no anchor `nowhere`"),
    "out of chapters": (add_markdown("[there](../../CLAIMS.md)"), "leads out of chapters/"),
    "out of the repository": (add_markdown("[there](../../../x)"), "out of the repository"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_notebook_is_refused(course, planted):
    change, words = PLANTED[planted]
    sentences = refused(course, change)
    assert any(words in sentence for sentence in sentences), sentences
    assert all(NAME in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{\n  oops\n}", "is not valid JSON: Expecting property name"),
        ("{\n  oops\n}", "line 2 column 3"),
        ('{"cells": [', "line 1 column 12"),
        ("\udcff", "is not valid JSON: 'utf-8' codec can't decode byte 0xff in position 0"),
        ("[1, 2]", "not a notebook"),
        ('{"cells": [], "metadata": {"labkit": 1}}', "not a notebook"),
        ("[" * 100_000, "is not valid JSON: maximum recursion depth"),
        ('{"cells": [3], "metadata": {}}', "cell 1 is not a cell"),
        ('{"cells": [{}, {"source": 3}], "metadata": {}}', "cell 2 is not a cell"),
        ('{"cells": [{"metadata": {"tags": 3}}], "metadata": {}}', "cell 1 is not a cell"),
        ('{"cells": [{"outputs": null}], "metadata": {}}', "cell 1 is not a cell"),
        ('{"cells": [{"outputs": [{"text": [1]}]}], "metadata": {}}', "cell 1 is not a cell"),
    ],
)
def test_broken_files_are_named_with_the_line(course, text, words):
    (course / NAME).write_text(text, errors="surrogateescape")
    sentences = examine(course)
    assert len(sentences) == 1 and sentences[0].startswith(NAME) and words in sentences[0]


PROSE = 101  # words of the tiny lesson


@pytest.mark.parametrize(
    ("change", "longer", "words"),
    [
        (repeat_last(28 - 10), repeat_last(1), "29 cells; this lesson has at most 28. Cut"),
        (set_minutes(60), set_minutes(61), "61 minutes; a lesson has at most 60. Cut"),
        (
            add_markdown("word " * (1600 - PROSE)),
            add_markdown("word"),
            "1,601 words of prose; this lesson has at most 1,600. Cut",
        ),
    ],
)
def test_a_lesson_may_be_as_long_as_the_guide_says(course, change, longer, words):
    assert refused(course, change) == []
    sentences = refused(course, longer)
    assert len(sentences) == 1 and words in sentences[0]


def test_a_badge_is_no_prose(course):
    badge = "[![Open in Colab](https://colab.research.google.com/a.svg)](https://example.org)"
    assert refused(course, add_markdown("word " * (1600 - PROSE) + badge)) == []


@pytest.mark.parametrize(
    "call",
    ["timeit.timeit(f)", "perf_counter_ns()", "hardware.measure_this_machine()", "benchmark(f)"],
)
def test_a_timing_may_ask_any_clock(course, call):
    assert refused(course, set_source(3, f"t = {call}")) == []
    assert refused(course, set_source(3, "%timeit f()")) == []


def test_a_notebook_over_a_megabyte_is_refused(course):
    sentences = refused(course, set_output(2, stream("x" * 1_000_000)))
    assert len(sentences) == 1 and "the limit is 1 MB" in sentences[0]


@pytest.mark.parametrize(
    ("markdown", "count"),
    [
        ("Two words", 2),
        ("A well-known fact, isn't it?", 5),
        ("# A heading counts", 3),
        ("one\n```python\nnot these words\n```\ntwo", 2),
        ("sum $\\sum_i x_i y_i$ and\n$$a b\n c$$ done", 3),
        ("it costs $5 and then $6 more", 7),
        ('<a id="C02"></a>C02 <br> on trial', 3),
        ("[a link](https://example.org/some/page) - 3", 3),
        ("| a | b |\n|---|---|\n| 1 | 2 |", 4),
        ("`inline code` counts", 3),
    ],
)
def test_words_of_prose(markdown, count):
    assert prose.words(markdown) == count


def test_checked_repeatedly_a_picture_may_be_compared(course):
    """A picture tag alone hides nothing; only nbval-ignore-output does, and the two go together."""
    assert refused(course, set_tags(4, "picture", "nbval-ignore-output")) == []
