"""What a check says of a wrong idea names nothing that its lesson has not shown by then."""

import re

import pytest

from labkit.course.catalogue import sources
from labkit.course.config import config
from tests.exercises.answers import EXERCISES

LESSONS = [path.read_text("utf-8") for path in sources(config())]
NAME = re.compile(r"(?<![\w'])[A-Za-z_][\w.]*")


def up_to(id: str) -> str:
    """The lesson's text up to the end of the exercise's cell."""
    lesson = next(text for text in LESSONS if f'exercise:{id}"' in text)
    cell = lesson.index(f'exercise:{id}"')
    return lesson[: lesson.find("# %%", cell)]


def foreign(sentence: str, text: str) -> list[str]:
    """The names in backticks whose last part does not stand in the text."""
    names = [name for part in re.findall(r"`([^`]+)`", sentence) for name in NAME.findall(part)]
    last = {name: name.rstrip(".").rpartition(".")[2] for name in names}
    return [name for name in names if not re.search(rf"\b{last[name]}\b", text)]


def test_a_name_that_the_text_does_not_have_is_found():
    text = "Take np.sort(x)."
    assert foreign(
        "`np.argsort(x)` sorts; `sort` too, `& 0xFF00` and `48'd1` are numbers.", text
    ) == ["np.argsort"]


@pytest.mark.parametrize("id", EXERCISES)
def test_a_sentence_names_only_what_the_lesson_has_shown(id):
    text = up_to(id)
    for idea in EXERCISES[id].misconceptions:
        assert not foreign(idea.sentence, text), idea.sentence
