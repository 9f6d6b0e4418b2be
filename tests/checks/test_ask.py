"""`predict`, `hint`, `quiz` and the registry: sentences, never exceptions."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import labkit
from labkit.checks import lesson_files
from labkit.checks.ask import hint, predict, quiz
from labkit.checks.items import Case, Exercise, Prediction, Quiz
from labkit.checks.record import load
from labkit.checks.registry import Registry, UnknownId, registered
from labkit.provenance import Quantity


@pytest.fixture
def printed(capsys):
    return lambda: " ".join(capsys.readouterr().out.split())


def test_public_names_are_the_functions_even_after_their_modules_were_imported():
    assert (labkit.check.__name__, labkit.predict, labkit.hint, labkit.quiz) == (
        "check", predict, hint, quiz)  # fmt: skip
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        _ = labkit.chekc


# predict


@pytest.mark.parametrize("value", [12, 12.5, np.float32(12), np.int64(3), Fraction(7, 2)])
def test_a_prediction_is_returned_as_predicted_by_you(printed, value):
    quantity = predict("toy.bytes", value, "MB")
    assert quantity == Quantity(float(value), "MB", "predicted", "you")
    assert f"Prediction: Recorded: {quantity}." in printed()


def test_without_a_value_the_question_is_asked(printed):
    assert predict("toy.bytes", None, "MB") is None
    text = printed()
    assert "How many megabytes are moved?" in text
    assert 'Write your number in its place: `predict("toy.bytes", <number>, "MB")`.' in text
    assert load()["predictions"] == {}


@pytest.mark.parametrize(
    ("value", "unit", "sentence"),
    [
        ("12", "MB", "this is of type str. Leave out the quotes."),
        (True, "MB", "of type bool"),
        (1j, "MB", "of type complex"),
        ([3], "MB", "of type list"),
        (math.nan, "MB", "a finite number; this one is nan"),
        (-math.inf, "MB", "a finite number; this one is -inf"),
        (10**400, "MB", "a finite number"),
        (12, "GB", "asked in MB; yours is in GB."),
        (12, None, "asked in MB; yours has none."),
        (12, 3, "asked in MB; yours has none."),
    ],
)
def test_what_is_no_prediction_is_said(printed, value, unit, sentence):
    assert predict("toy.bytes", value, unit) is None
    assert sentence in printed()
    assert load()["predictions"] == {}


def test_an_impossible_value_is_recorded_and_doubted(printed):
    assert float(predict("toy.bytes", 0.5, "MB")) == 0.5
    assert "It cannot be that small, though." in printed()
    assert float(predict("toy.bytes", 501, "MB")) == 501
    assert "It cannot be that large, though." in printed()
    assert load()["predictions"]["toy.bytes"]["value"] == 501
    predict("toy.bytes", 500, "MB")
    assert "cannot be" not in printed()


# hint


def test_hints_are_graded(printed):
    hint("toy.linear")
    text = printed()
    assert "Hint: 1 of 3 for toy.linear. Look at the shapes." in text
    assert 'The next one: `hint("toy.linear", 2)`.' in text
    hint("toy.linear", level=3)
    assert "3 of 3 for toy.linear." in (text := printed()) and "This is the last one." in text


@pytest.mark.parametrize(
    ("level", "sentence"),
    [
        (4, "toy.linear has 3 hints; there is no further one."),
        (0, "start with level 1."),
        (-1, "start with level 1."),
        ("2", "The level is a whole number from 1 to 3; this is a str."),
        (1.0, "this is a float."),
        (True, "this is a bool."),
        (None, "this is a NoneType."),
    ],
)
def test_levels_that_do_not_exist(printed, level, sentence):
    hint("toy.linear", level)
    text = printed()
    assert sentence in text
    assert "Sum over d." not in text
    assert load()["hints"] == {}


# quiz


def test_the_question_shows_all_options(printed):
    quiz("toy.why")
    text = printed()
    assert "Question: Why is it slow?" in text
    assert "a) too much memory traffic b) too few cores" in text


@pytest.mark.parametrize("answer", ["a", "A", " a ", "a)", "(a)"])
def test_the_right_answer_and_its_reason(printed, answer):
    quiz("toy.why", answer)
    text = printed()
    assert text.startswith("Right: a) too much memory traffic")
    assert "Each value is read once and used once." in text


def test_a_wrong_answer_says_why_and_does_not_give_the_right_one_away(printed):
    quiz("toy.why", "b")
    text = printed()
    assert text.startswith("Look again: b) too few cores")
    assert "The cores wait." in text
    assert "memory traffic" not in text and "read once" not in text


@pytest.mark.parametrize("answer", ["c", "", "ab", 7, 1.5, ["a"], object()])
def test_an_answer_that_is_no_option(printed, answer):
    quiz("toy.why", answer)
    assert "The answer is one of a, b, in quotes." in printed()
    assert load()["quizzes"] == {}


def test_numbered_options_may_be_answered_by_number(printed):
    numbered = Quiz("toy.n", "?", {"1": "one", "2": "two"}, "2", {"1": "No.", "2": "Yes."})
    with registered(numbered):
        quiz("toy.n", 2)
    assert "Right: 2) two Yes." in printed()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    id=st.text()
    | st.none()
    | st.integers()
    | st.sampled_from(["toy.why", "toy.bytes", "toy.linear"]),
    junk=st.none() | st.booleans() | st.floats() | st.text() | st.binary() | st.lists(st.none()),
    unit=st.none() | st.text() | st.just("MB"),
)
def test_none_of_the_calls_raises(id, junk, unit, capsys):
    for call in (lambda: predict(id, junk, unit), lambda: hint(id, junk), lambda: quiz(id, junk)):
        call()
        assert capsys.readouterr().out.strip()


# registry


def test_an_id_of_another_kind_names_the_right_call(printed):
    hint("toy.bytes")
    assert (
        "'toy.bytes' is the id of a prediction: use predict('toy.bytes', value, unit)." in printed()
    )
    quiz("toy.linear")
    assert (
        "'toy.linear' is the id of an exercise: use check('toy.linear', your_function)" in printed()
    )


def test_near_and_far_ids():
    with registered(*(Prediction(f"toy.p{n}", "?", "s", 0, 1) for n in range(10))) as found:
        with pytest.raises(UnknownId, match=r"Did you mean 'toy\.p9'"):
            found.find("toi.p9", Prediction)
        with pytest.raises(UnknownId, match=r"The ids are: toy\.p0, .*, toy\.p7 and 2 more\.$"):
            found.find("zzz", Prediction)
        with pytest.raises(UnknownId, match=r"There is no exercise with the id 'zzz'\.$"):
            found.find("zzz", Exercise)


def test_an_id_that_ends_like_the_word_is_meant():
    """Also where another one looks more alike."""
    ids = ("toy.pass_on", "other.pass_on", "pass_one.on", "toy.hand_on")
    with registered(*(Prediction(id, "?", "s", 0, 1) for id in ids)) as found:
        for word in ("pass_on", "room.pass_on"):
            with pytest.raises(UnknownId, match=r"mean 'toy\.pass_on' or 'other\.pass_on'\?"):
                found.find(word, Prediction)


def test_two_items_with_one_id_are_refused():
    one = Prediction("toy.same", "?", "s", 0, 1)
    with pytest.raises(ValueError, match=r"Two items have the id 'toy\.same'"):
        Registry(()).add([one, Quiz("toy.same", "?", {"a": "x"}, "a", {"a": "y"})])


def test_a_module_that_cannot_be_imported_leaves_the_others(room):
    room.lesson("bad", code="import a_package_that_is_not_there")
    room.lesson(
        "good",
        code="from labkit.checks.items import Exercise\n"
        'EXERCISES = [Exercise("toy.good", max, list, ("Hint.",))]\n',
    )
    found = Registry(labkit.ROOMS)
    assert found.find("toy.good", Exercise).oracle is max
    with pytest.raises(UnknownId, match=r"\.bad\.exercises could not be read: ModuleNotFoundError"):
        found.find("toy.bad", Exercise)


GOOD = """
[predictions."toy.good"]
question = "?"
unit = "s"
low = 0
high = 1

[quizzes."toy.quiz"]
question = "Which?"
answer = "b"
options.a = "this"
options.b = "that"
why.a = "No."
why.b = "Yes."
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("low = 0\n", "", r'\[predictions\."toy\.good"\] needs question, unit, low and high'),
        ("high = 1\n", "high = 1\nhint = 2\n", "and nothing else"),
        ('"toy.good"', "toy.good", "an id stands in quotes"),
        ('"toy.good"', '"good"', "'good' is no id"),
        ("low = 0", "low = 2", r"low \(2\) must not exceed high \(1\)"),
        ("low = 0", 'low = "0"', "TypeError"),
        ('answer = "b"', 'answer = "c"', "the answer 'c' is not one of the options"),
        ('why.b = "Yes."\n', "", "`why` needs exactly one sentence for each option"),
        ("predictions", "prediction", r"\[prediction\] is none of \[predictions\], \["),
        ("answer =", "answer", "TOMLDecodeError"),
    ],
)
def test_a_mistake_in_a_file_of_questions_names_the_file(room, old, new, says):
    assert old in GOOD
    room.lesson("toy_1", GOOD.replace(old, new))
    room.lesson("toy_2", GOOD.replace("toy.", "toy.other_"))
    found = Registry(labkit.ROOMS)
    assert found.find("toy.other_good", Prediction).unit == "s"
    assert found.find("toy.other_quiz", Quiz).options["b"] == "that"
    with pytest.raises(UnknownId, match=rf"toy_1/texts\.toml could not be read: .*{says}"):
        found.find("toy.good", Prediction)


TEXTS = """
[exercises."toy.sum"]
hints = ["Add.", "Add them all."]

[exercises."toy.sum".misconceptions]
first_only = "Only the first counts."
"""


def sum_of(x):
    return x.sum()


def made(id="toy.sum", **wrong):
    return lesson_files.exercise(id, sum_of, lambda rng: [Case("one", (rng.random(3),))], wrong)


def test_an_exercise_takes_its_texts_from_the_lessons_file(room):
    room.lesson("toy_1", TEXTS)
    exercise = made(first_only=lambda x: x[0])
    assert exercise.hints == ("Add.", "Add them all.")
    (idea,) = exercise.misconceptions
    assert idea.sentence == "Only the first counts." and idea.function([7, 8]) == 7


def test_wrong_ideas_by_their_own_names():
    assert lesson_files.by_own_name(sum_of, max) == {"sum_of": sum_of, "max": max}
    doubled = lesson_files.by_own_name(sum_of, made=lambda idea: lambda x: 2 * idea(x))
    assert doubled["sum_of"](np.array([1, 2])) == 6


@pytest.mark.parametrize(
    ("id", "wrong", "says"),
    [
        ("toy.other", ["first_only"], r'\[exercises\."toy\.other"\] is missing in the files of'),
        ("toy.sum", ["first_only", "last"], r"misconceptions\] has no sentence for 'last'"),
        ("toy.sum", [], r"toy\.sum: 'first_only' has a sentence, but no function in wrong="),
    ],
)
def test_texts_and_functions_that_do_not_belong_together(room, id, wrong, says):
    room.lesson("toy_1", TEXTS)
    with pytest.raises(ValueError, match=says):
        made(id, **dict.fromkeys(wrong, lambda x: x[0]))


def test_texts_in_two_files_and_in_a_broken_file(room):
    room.lesson("toy_1", "[exercises")
    room.lesson("toy_2", TEXTS)
    assert made(first_only=max).hints[0] == "Add."  # the registry names the broken one
    room.lesson("toy_3", TEXTS)
    with pytest.raises(ValueError, match=r'\[exercises\."toy\.sum"\] stands in two files'):
        made(first_only=max)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("hints =", "hint =", r'\[exercises\."toy\.sum"\] needs hints and misconceptions, and'),
        ('["Add.", "Add them all."]', '"Add."', r"toy\.sum: hints = \[sentences\]"),
        ('"Only the first counts."', "1", "and name = sentence"),
        ("toy.sum", "toy.some", r'\[exercises\."toy\.some"\] is the id of no exercise'),
    ],
)
def test_a_mistake_in_the_texts_names_the_file(room, old, new, says):
    room.lesson("toy_1", TEXTS.replace(old, new))
    found = Registry(labkit.ROOMS)
    found.of(Exercise)
    failures = found.failures
    assert list(failures) == ["toy_1/texts.toml"]
    assert re.search(says, failures["toy_1/texts.toml"])


def test_the_courses_registry_is_readable():
    found = Registry(labkit.ROOMS)
    assert len(found.of(Exercise)) >= 38
    assert found.failures == {}


def test_a_room_is_read_when_one_of_its_ids_is_asked_for(room):
    room.lesson("one", GOOD)
    found = Registry(labkit.ROOMS)
    assert found.items == {}
    assert found.find("toy.good", Prediction).unit == "s"


def test_authors_mistakes_are_refused():
    with pytest.raises(ValueError, match="must not exceed high"):
        Prediction("toy.x", "?", "s", 2, 1)
    with pytest.raises(ValueError, match="'c' is not one of the options"):
        Quiz("toy.x", "?", {"a": "1"}, "c", {"a": "2"})
    with pytest.raises(ValueError, match="exactly one sentence for each option"):
        Quiz("toy.x", "?", {"a": "1"}, "a", {})
