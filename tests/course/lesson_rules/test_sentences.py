"""One sentence on one line: where a text is not so, and how it would be."""

import pytest

from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.lesson_rules import sentences, source_rules

TEXTS = {
    "two in a line": ("One is odd. Two is even.", "One is odd.\nTwo is even."),
    "one in two lines": ("One is\nodd.", "One is odd."),
    "a question": ("Is it? It is! So be it.", "Is it?\nIt is!\nSo be it."),
    "bold and brackets": (
        "**Is it?** It is. (Or not.) *So.* Be it.",
        "**Is it?**\nIt is.\n(Or not.)\n*So.*\nBe it.",
    ),
    "an item": (
        "- One is odd. Two\n  is even.\n- Three.",
        "- One is odd.\n  Two is even.\n- Three.",
    ),
    "a number": ("1. One. Two.\n2. Three.", "1. One.\n   Two.\n2. Three."),
    "an inner item": ("- a\n  - One. Two.", "- a\n  - One.\n    Two."),
    "a name at the end": (
        "It has columns of B. So has A. Go.",
        "It has columns of B.\nSo has A.\nGo.",
    ),
    "code first": ("It runs. `f(x)` is called.", "It runs.\n`f(x)` is called."),
    "a formula first": ("It grows. $x$ does, too.", "It grows.\n$x$ does, too."),
}
UNCHANGED = {
    "one": "One is odd.",
    "a number's point": "It takes 1.5 s, or 2.",
    "abbreviations": "Many, e.g. NVIDIA's, do, cf. Table 2, i.e. All of them.",
    "initials": "Published: S. Rump, F. Bünger and C.-P. Jeannerod, 2016.",
    "within code": "Write `a. B` and [A. B](a. B) and $x. Y$ so.",
    "a fence": "```\nOne. Two.\nThree\n```",
    "a formula": "$$\na. B\n= c\n$$",
    "a formula in a line": "$$a. B$$\n$$c$$",
    "a table": "| A. B | C. D |\n|---|---|\n| E. F | G. H |",
    "a quote": "> One. Two\n> is even.",
    "a heading": "## One. Two",
    "html": '<img src="a.png" alt="One. Two.">',
    "a hard break": "One. Two  \nthree",
    "code by its indentation": "Text.\n\n    One. Two.",
    "an item's end": "- a\n\nText.",
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_rewritten(name):
    text, wanted = TEXTS[name]
    assert sentences.with_one_sentence_a_line(text) == wanted
    assert sentences.first_difference(text) is not None
    assert sentences.first_difference(wanted) is None
    assert wanted.split() == text.split()


@pytest.mark.parametrize("name", UNCHANGED)
def test_texts_stay_as_they_are(name):
    text = UNCHANGED[name]
    assert sentences.with_one_sentence_a_line(text) == text
    assert sentences.first_difference(text) is None


def test_no_line_begins_what_it_did_not_begin():
    """A sentence that would read as a heading or an item stays behind the one before it."""
    for text in ("See there. # is a mark.", "It was. - 3 is less.", "Go on. > is a sign."):
        assert "\n" not in sentences.with_one_sentence_a_line(text)


def test_a_lesson_is_refused_with_file_and_line(bare_course):
    path = bare_course / "chapters/01_gpu/source/tiny/lesson.py"
    course = config(bare_course)
    assert source_rules.examine(Course(course).lessons()[0], course) == []
    path.write_text(path.read_text().replace("# Write it down.", "# Write it\n# down."))
    lines = path.read_text().splitlines()
    [sentence] = source_rules.examine(Course(course).lessons()[0], course)
    number = lines.index("# Write it") + 1
    assert sentence.startswith(
        f"chapters/01_gpu/source/tiny/lesson.py, line {number}: one sentence"
    )
    assert "`Write it`" in sentence
