"""Text blocks: which lines are too wide, and how an author hears of it."""

import pytest

from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.lesson_rules import source_rules
from labkit.course.lesson_rules.source_rules import BLOCK_WIDTH

SOURCE = "chapters/01_gpu/source/tiny/lesson.py"
WIDE = "x" * (BLOCK_WIDTH + 1)
JUST = "x" * BLOCK_WIDTH
REFUSED = {
    "a text block": ["```", WIDE, "```"],
    "one with a language": ["```python", WIDE, "```"],
    "one with tildes": ["~~~", WIDE, "~~~"],
    "one in an item": ["- See:", "  ```", "  " + JUST, "  ```"],
    "one without an end": ["```", WIDE],
    "letters of other alphabets": ["```", "α" * (BLOCK_WIDTH + 1), "```"],
}
ALLOWED = {
    "as wide as may be": ["```", JUST, "```"],
    "as wide in Greek": ["```", "→" + "α" * (BLOCK_WIDTH - 1), "```"],
    "prose": [f"One {WIDE} is odd."],
    "a table": ["| a | b |", "|---|---|", f"| {WIDE} | 1 |"],
    "prose below a block": ["```", "x", "```", "", f"One {WIDE} is odd."],
}


def examined(bare_course, lines):
    """The sentences on the lesson with these lines in a markdown cell, and the lines it has now."""
    path = bare_course / SOURCE
    commented = ["# " + line if line else "#" for line in lines]
    added = "\n".join(["# Write it down.", "#", *commented])
    path.write_text(path.read_text().replace("# Write it down.", added))
    course = config(bare_course)
    sentences = source_rules.examine(Course(course).lessons()[0], course)
    return sentences, path.read_text().splitlines()


@pytest.mark.parametrize("name", REFUSED)
def test_a_wide_block_is_refused(bare_course, name):
    [sentence], _ = examined(bare_course, REFUSED[name])
    assert "a text block is at most 62 wide" in sentence


@pytest.mark.parametrize("name", ALLOWED)
def test_what_may_be(bare_course, name):
    assert examined(bare_course, ALLOWED[name])[0] == []


def test_lesson_line_width_and_what_to_do_are_said(bare_course):
    """Of each block its widest line is named, and both blocks are."""
    wider = "y" * 80
    [first, second], lines = examined(
        bare_course, ["```", WIDE, wider, "```", "", "So it is.", "", "```", WIDE + "z", "```"]
    )
    assert first == (
        f"{SOURCE}, line {lines.index('# ' + wider) + 1} has 80 characters; a text block is at "
        "most 62 wide, or wraps on small screens. Narrow its columns, break lines, or make it a "
        "table."
    )
    assert f"line {lines.index('# ' + WIDE + 'z') + 1} has 64 characters" in second


def test_a_wide_code_cell_is_no_text_block(bare_course):
    path = bare_course / SOURCE
    path.write_text(path.read_text() + f"\n# %%\nprint('{WIDE}')\n")
    course = config(bare_course)
    assert source_rules.examine(Course(course).lessons()[0], course) == []
