"""Our reader of py:percent against jupytext's, and its sentences about what it cannot read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.course import CourseError
from labkit.course.source import percent

HEADER = """\
# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

"""
words = st.text(alphabet="abc xyz_()=.,#*$", min_size=1, max_size=20).map(
    lambda s: "w" + s.rstrip()
)
markdown = st.lists(words | st.just(""), min_size=1, max_size=5).filter(lambda v: v[0] and v[-1])
code = st.lists(
    st.sampled_from(["x = 1", "# a comment", "if x:\n    y = 2", "print(x)"]), min_size=1
)
tags = st.lists(st.sampled_from(["timing", "picture", "exercise:a.b"]), unique=True, max_size=2)


def written(kind, lines, cell_tags):
    head = "# %%" + (" [markdown]" if kind == "markdown" else "")
    if cell_tags:
        head += " tags=[" + ", ".join(f'"{tag}"' for tag in cell_tags) + "]"
    if kind == "markdown":
        lines = ["# " + line if line else "#" for line in lines]
    return "\n".join([head, *lines])


cells = st.lists(
    st.one_of(
        st.tuples(st.just("markdown"), markdown, tags), st.tuples(st.just("code"), code, tags)
    ),
    min_size=1,
    max_size=6,
)


def as_jupytext_reads(text):
    jupytext = pytest.importorskip("jupytext")
    made = jupytext.reads(text, fmt="py:percent")
    return [(c.cell_type, tuple(c.metadata.get("tags", ())), c.source) for c in made.cells]


def as_we_read(text):
    return [(cell.type, cell.tags, cell.text) for cell in percent.read(text, "a.py")[1]]


@settings(max_examples=60)
@given(cells)
def test_reads_what_jupytext_reads(made):
    text = HEADER + "\n\n".join(written(*cell) for cell in made) + "\n"
    assert as_we_read(text) == as_jupytext_reads(text)


def test_magics_are_uncommented_as_jupytext_does():
    text = HEADER + "# %%\n# %matplotlib inline\n# !ls\n# 100 % sure\nx = 1\n"
    assert as_we_read(text) == as_jupytext_reads(text)
    assert as_we_read(text)[0][2].startswith("%matplotlib inline\n!ls\n# 100")


def test_lesson_of_the_fixture_reads_the_same(lesson_text):
    ours = as_we_read(lesson_text)
    theirs = [cell for cell in as_jupytext_reads(lesson_text) if cell[0] != "raw"]
    assert ours == theirs


def test_windows_line_ends_and_a_byte_order_mark_are_read(lesson_text):
    assert percent.read("\ufeff" + lesson_text.replace("\n", "\r\n"), "a.py") == percent.read(
        lesson_text, "a.py"
    )


def test_cells_know_their_lines():
    _, cells = percent.read(HEADER + "# %%\nx = 1\n\n# %% [markdown]\n# hi\n", "a.py")
    assert [cell.line for cell in cells] == [6, 9]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("x = 1\n", 1, "YAML header"),
        ("# ---\n# a: 1\n", 1, "between two lines `# ---`"),
        ("# ---\n# a: 1\nx = 1\n", 1, "between two lines `# ---`"),
        ("# ---\n# a: [1\n# ---\n", 2, "not YAML"),
        ("# ---\n# a: 2020-99-99\n# ---\n", 1, "not YAML"),
        ("# ---\n# a: \x07\n# ---\n", 1, "not YAML"),
        ("# ---\n# - 1\n# ---\n", 1, "mapping"),
        (HEADER + "x = 1\n# %%\n", 6, "before the first cell"),
        (HEADER + "# %% [raw]\n", 6, "is no cell marker"),
        (HEADER + "# %% a title\n", 6, "is no cell marker"),
        (HEADER + "# %% tags=[timing]\n", 6, "tags"),
        (HEADER + "# %% [markdown]\n# fine\nx = 1\n", 8, "comment"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text, line, words):
    with pytest.raises(CourseError) as caught:
        percent.read(text, "a.py")
    message = str(caught.value)
    assert message.startswith("a.py, line ") and words in message
    assert int(message.split("line ")[1].split(":")[0]) == line
