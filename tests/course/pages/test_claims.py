"""Claims on trial: the page generated from the lessons, and what malformed ones are told."""

import pytest

from labkit.course import CourseError
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.pages import claims
from labkit.course.verify import refusals

SOURCE = "chapters/01_gpu/source/tiny/lesson.py"


def edit(course, old, new):
    path = course / SOURCE
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def lessons(course):
    current = Course(config(course))
    return current.lessons(), current.config


def test_the_page_has_a_row_per_claim_with_a_live_link(course):
    page = (course / "CLAIMS.md").read_text()
    link = "chapters/01_gpu/1_tiny.ipynb#C02"
    row = "| C02 | Two and one is four. | wrong | It is three, as the cell above shows. |"
    assert f"{row} [01_gpu/1_tiny.ipynb#C02]({link}) |" in page
    assert refusals([], Course(config(course))) == []


def test_a_changed_verdict_makes_the_page_out_of_sync(course):
    edit(course, "C02: wrong.**", "C02: holds if one | is two.**")
    assert refusals([], Course(config(course))) == [
        "CLAIMS.md is not what the lessons say: run `labkit build`."
    ]
    assert "| holds if one \\| is two |" in claims.page(*lessons(course)).data.decode()


def test_claims_are_ordered_by_number(course):
    more = (
        '\n# %% [markdown]\n# ### <a id="C010"></a>C010 on trial\n#\n# > Ten.\n#\n'
        '# ### <a id="C1"></a>C1 on trial\n#\n# > One.\n\n# %%\nprint(10)\n\n# %% [markdown]\n'
        "# **Verdict on C010: holds.** Yes.\n#\n# **Verdict on C1: holds.** Yes.\n"
    )
    (course / SOURCE).write_text((course / SOURCE).read_text() + more)
    found = claims.collect(*lessons(course))
    assert [(c.id, c.claim) for c in found] == [
        ("C1", "One."),
        ("C02", "Two and one is four."),
        ("C010", "Ten."),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("**Verdict on C02: wrong.**", "**Verdict: wrong.**", "claim C02 has no verdict"),
        ("C02: wrong.**", "C02: maybe.**", "the verdict on C02 is 'maybe'"),
        ("C02: wrong.**", "C02: holds if.**", "the verdict on C02 is 'holds if'"),
        ("C02: wrong.**", "C02: holds only if.**", "the verdict on C02 is 'holds only if'"),
        ("C02: wrong.**", "C02: holds sometimes.**", "'holds sometimes'"),
        ("Verdict on C02", "Verdict on C03", "a verdict on C03, which is not on trial"),
        (
            '<a id="C02">',
            '<a id="C03">',
            'C02, which is not on trial: write `### <a id="C02"></a>C02 on trial`',
        ),
        (
            "# > Two and one\n# > is four.\n",
            "# Two and one is four.\n",
            "C02, which is not on trial",
        ),
        ("\n# It is three, as the [cell above](#C02) shows.", "", "'wrong' ''; it must be"),
        ('<a id="C02"></a>C02 on trial', "Two and one", "a verdict on C02, which is not on trial"),
        (
            "# ## Recap",
            "# **Verdict on C02: holds.** No.\n#\n# ## Recap",
            "a second verdict on C02",
        ),
    ],
)
def test_malformed_claims_are_said_with_file_and_line(course, old, new, words):
    edit(course, old, new)
    with pytest.raises(CourseError) as caught:
        claims.collect(*lessons(course))
    assert str(caught.value).startswith(f"{SOURCE}, line ") and words in str(caught.value)


@pytest.mark.parametrize("between", ["", "\n# %% [markdown]\n# Now think.\n"])
def test_a_claim_without_an_experiment_is_refused(course, between):
    text = (course / SOURCE).read_text()
    start = text.index('\n# %% tags=["picture"]')
    end = text.index("\n# %% [markdown]\n# **Verdict")
    rest = text[end:] if between else text[end:].replace("\n# %% [markdown]\n", "#\n", 1)
    (course / SOURCE).write_text(text[:start] + between + rest)
    with pytest.raises(
        CourseError, match="C02 has no experiment between the claim and its verdict"
    ):
        claims.collect(*lessons(course))


def test_a_claim_tried_twice_is_refused(course):
    twin = course / "chapters/01_gpu/source/again/lesson.py"
    twin.parent.mkdir()
    twin.write_text((course / SOURCE).read_text().replace("number: 1", "number: 2"))
    with pytest.raises(CourseError, match=r"Claim C02 is on trial twice: .*1_tiny.*2_again"):
        claims.collect(*lessons(course))
