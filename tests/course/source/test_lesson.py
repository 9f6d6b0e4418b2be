"""Stubs and solutions: what each twin shows, and what malformed sources are told."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.course import CourseError
from labkit.course.source.lesson import load
from labkit.course.source.stubs import split_solution


def test_stub_and_solution_keep_their_indentation():
    text = (
        "def f(x):\n    # STUB:\n    # y = None  # one line\n    # if x:\n    #     y = 1\n"
        "    #\n    # # a comment for the learner\n    # BEGIN SOLUTION\n    y = x + 1\n"
        "    # END SOLUTION\n    return y"
    )
    learner, solution = split_solution(text)
    assert learner == (
        "def f(x):\n    y = None  # one line\n    if x:\n        y = 1\n\n"
        "    # a comment for the learner\n    return y"
    )
    assert solution == "def f(x):\n    y = x + 1\n    return y"


def test_only_a_newline_ends_a_line():
    text = "a = 'x\x0cy\u2028z'\n# BEGIN SOLUTION\nb = 2\n# END SOLUTION"
    assert split_solution(text) == ("a = 'x\x0cy\u2028z'", "a = 'x\x0cy\u2028z'\nb = 2")


def test_a_solution_without_stub_leaves_nothing():
    text = "a = 1\n# BEGIN SOLUTION\nb = 2\n# END SOLUTION\nc = 3"
    assert split_solution(text) == ("a = 1\nc = 3", "a = 1\nb = 2\nc = 3")


statement = st.sampled_from(["x = 1", "print('a # b')", "# a remark", "for i in x:\n    y = i"])
block = st.tuples(st.sampled_from(["", "    ", "        "]), st.lists(statement, max_size=3))
parts = st.lists(st.one_of(block, st.tuples(block, block)), max_size=6)


@settings(max_examples=100)
@given(parts)
def test_each_twin_gets_exactly_its_lines(made):
    text, learner, solution = [], [], []

    def lines(part, start=""):
        indent, statements = part
        return [f"{indent}{start}{line}" for s in statements for line in s.splitlines()]

    for part in made:
        if isinstance(part[0], str):
            for target in (text, learner, solution):
                target += lines(part)
            continue
        stub, answer = part
        text += [f"{stub[0]}# STUB:", *lines(stub, "# "), f"{stub[0]}# BEGIN SOLUTION"]
        text += [*lines(answer), f"{answer[0]}# END SOLUTION"]
        learner += lines(stub)
        solution += lines(answer)
    assert split_solution("\n".join(text)) == ("\n".join(learner), "\n".join(solution))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("# BEGIN SOLUTION\nx = 1", 11, "without `# END SOLUTION`"),
        ("x = 1\n# END SOLUTION", 12, "without `# BEGIN SOLUTION`"),
        ("# BEGIN SOLUTION\n# BEGIN SOLUTION\n# END SOLUTION", 12, "opened on line 11"),
        ("# BEGIN SOLUTION\n# STUB:\n# END SOLUTION", 12, "opened on line 11"),
        ("# STUB:\n# STUB:\n# BEGIN SOLUTION\n# END SOLUTION", 12, "opened on line 11"),
        ("# STUB:\n# x = 1", 11, "without `# BEGIN SOLUTION`"),
        ("# STUB:\n# x = 1\n# END SOLUTION", 13, "without `# BEGIN SOLUTION`"),
        ("# STUB:\nx = 1\n# BEGIN SOLUTION\n# END SOLUTION", 12, "is a comment"),
        ("    # STUB:\n# x = 1\n    # BEGIN SOLUTION\n    # END SOLUTION", 12, "is a comment"),
    ],
)
def test_malformed_solutions_are_said_with_file_and_line(text, line, words):
    with pytest.raises(CourseError) as caught:
        split_solution(text, "chapters/a.py", 10)
    assert str(caught.value).startswith(f"chapters/a.py, line {line}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("title: A tiny lesson, ", "", "line 1: the header lacks `title`"),
        ("minutes: 25", "minutes: long", "line 1: the header lacks `minutes`"),
        (", needs: []", "", "line 1: the header lacks `needs`"),
        ("# labkit: {", "# course: {", "line 1: the header lacks `title`: write `labkit:"),
        ("name: python3", "name: julia", "kernelspec python3"),
        ('tags=["picture"]', 'tags=["pictures"]', "line 73: unknown tag 'pictures'"),
        ('tags=["setup"]', 'tags=["timing"]', "line 20: the first code cell"),
        ('tags=["picture"]', 'tags=["setup"]', "line 73: the first code cell"),
        (
            "# The setup cell: written by labkit build.",
            "import os",
            "line 20: the first code cell, and no other, is `# %% tags",
        ),
        ("# How much is two", "# BEGIN SOLUTION\n# How much", "line 26: a solution in a markdown"),
        ("y = x + 1", "y = x +", "line 38: the solution's form of this cell is not Python"),
        (
            "# y = x  # one line",
            "# y = = x",
            "line 36: the learner's form of this cell is not Python",
        ),
        ("y = x + 1", "y = '\0'", ": the solution's form of this cell is not Python"),
    ],
)
def test_malformed_lessons_are_said_with_file_and_line(bare_course, lesson_text, old, new, words):
    assert old in lesson_text
    path = bare_course / "chapters/01_gpu/source/tiny/lesson.py"
    path.write_text(lesson_text.replace(old, new))
    with pytest.raises(CourseError) as caught:
        load(path, "a.py")
    assert str(caught.value).startswith("a.py, line ") and words in str(caught.value)


def test_the_lesson_of_the_fixture_is_well_formed(bare_course):
    lesson = load(bare_course / "chapters/01_gpu/source/tiny/lesson.py", "a.py")
    assert (lesson.name, lesson.minutes, lesson.title) == ("01_gpu/1_tiny", 25, "A tiny lesson")
    assert lesson.notebook("learner") == bare_course / "chapters/01_gpu/1_tiny.ipynb"
    assert lesson.notebook("solution") == bare_course / "chapters/01_gpu/solutions/1_tiny.ipynb"
    assert len(lesson.sha256) == 64
