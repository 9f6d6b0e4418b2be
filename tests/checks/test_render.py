"""Messages: the same words as text and as HTML, escaped, without addresses, never raising."""

import io
import re
import subprocess
import sys
import types
from html.parser import HTMLParser

import numpy as np
import pytest

from labkit.checks.judge import check
from labkit.checks.render import BORDERS, Code, Message, Table, clean, say

MESSAGE = Message(
    "Look again",
    "`dw[0, 1]` is 3 < 4 & more.",
    ("A sentence <b>with</b> markup.", Code("y = x < 3\nz = 1"), Table((("flops", "1 < 2"),))),
)


class Tags(HTMLParser):
    """Refuses unbalanced tags; collects the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.names = [], "", set()
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.names.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_plain_text():
    assert str(MESSAGE) == (
        "Look again: `dw[0, 1]` is 3 < 4 & more.\n  A sentence <b>with</b> markup.\n    y = x < "
        "3\n    z = 1\n    flops  1 < 2"
    )


def test_html_is_escaped_and_balanced():
    tags = Tags(MESSAGE.html())
    assert tags.names == {"div", "b", "code", "pre", "table", "tr", "td"}
    assert "Look again: dw[0, 1] is 3 < 4 & more." in tags.text
    assert "A sentence <b>with</b> markup." in tags.text


@pytest.mark.parametrize("word", BORDERS)
def test_the_word_says_what_the_colour_says_and_themes_are_left_alone(word):
    html = Message(word, "Text.", (Code("code"), Table((("a", "b"),)))).html()
    assert f"<b>{word}</b>: Text." in html
    assert f"border-left: 4px solid {BORDERS[word]}" in html
    assert not re.search(r"(?<!-)\bcolor:(?!\s*inherit)|background(-color)?:(?!\s*none)", html)


def test_borders_are_visible_on_white_and_on_black():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in BORDERS.values():
        light = luminance(colour)
        assert 1.05 / (light + 0.05) > 3 and (light + 0.05) / 0.05 > 3  # WCAG's 3:1 for graphics


def test_addresses_and_control_characters_are_removed():
    assert clean("<f at 0x7f3a> and at 0xAB") == "<f> and"
    assert clean("\x1b[31mred\x1b[0m\x00\r") == "red??"
    assert clean("two\n\tlines \ud800") == "two\n\tlines ?"


def test_long_sentences_are_wrapped_and_code_is_not():
    text = str(Message("Note", "word " * 60, (Code("x" * 300),)))
    lines = text.splitlines()
    assert max(map(len, lines[:-1])) <= 98
    assert lines[-1].strip() == "x" * 300


@pytest.fixture
def notebook(monkeypatch):
    """A stand-in for IPython inside a kernel; what is displayed."""
    shown = []
    fake = types.ModuleType("IPython")
    fake.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    fake.display = types.SimpleNamespace(display=lambda data, raw: shown.append((data, raw)))
    monkeypatch.setitem(sys.modules, "IPython", fake)
    return shown


def test_in_a_notebook_both_forms_are_displayed(notebook, right, capsys):
    assert check("toy.linear", right) is right
    [(bundle, raw)] = notebook
    assert raw and set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"].startswith("Right: toy.linear is solved.")
    assert "toy.linear is solved." in Tags(bundle["text/html"]).text
    assert capsys.readouterr().out == ""


def test_what_the_learner_writes_cannot_become_markup(notebook):
    def learner(x, w, b):
        print("<script>alert(1)</script>")
        raise ValueError("<img src=x onerror=alert(1)> `<script>`")

    check("toy.linear", learner)
    html = notebook[0][0]["text/html"]
    assert Tags(html).names <= {"div", "b", "code", "pre"}
    assert "&lt;script&gt;" in html


def test_in_a_terminal_ipython_it_is_printed(monkeypatch, capsys):
    fake = types.ModuleType("IPython")
    fake.get_ipython = lambda: types.SimpleNamespace()  # no kernel
    monkeypatch.setitem(sys.modules, "IPython", fake)
    say(MESSAGE)
    assert capsys.readouterr().out == f"{MESSAGE}\n"


def test_an_ascii_terminal_gets_question_marks(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    say(Message("Note", "5 × 3"))
    assert raw.getvalue() == b"Note: 5 ? 3\n"


SCRIPT = """
import sys
from labkit import check
from labkit.checks.items import Case, Exercise
from labkit.checks.registry import registered
import numpy as np
item = Exercise("a.b", lambda x: 2 * x, lambda rng: [Case("c", (rng.normal(size=3),))], ("h",),
                forbidden=("torch", "scipy.signal", "matplotlib.pyplot.plot"))
with registered(item):
    check("a.b", lambda x: x + x)
slow = {"torch", "tensorflow", "numba", "jax", "pynq", "matplotlib", "scipy", "IPython"}
print("loaded:", *sorted(slow & set(sys.modules)))
"""


def test_a_check_in_a_plain_script_loads_nothing_slow():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=600
    )
    assert done.stdout.splitlines()[0] == "Right: a.b is solved."
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert done.stderr == ""


def test_random_state_of_the_learner_is_left_alone(right):
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    check("toy.linear", right)
    assert (np.random.get_state()[1] == before).all()
