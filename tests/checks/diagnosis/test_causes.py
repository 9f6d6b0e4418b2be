"""The likely causes that every exercise has: slips tried on its oracle, and common patterns.

Each learner's function here is written out as a learner would write it, without labkit's own slips.
"""

from dataclasses import replace

import numpy as np
import pytest

from labkit.checks.diagnosis.case_features import features_of, separating
from labkit.checks.items import Case, Exercise
from labkit.checks.judge import check
from labkit.checks.lesson_files import cases_of, with_a_repeat
from labkit.checks.registry import registered


def strided_rows(x, w, stride, padding):
    """y[n, p] = sum over r of w[n, r] x[n, p stride + r - padding]: a filter of each row."""
    padded = np.pad(x, ((0, 0), (padding, padding)))
    length = (padded.shape[1] - w.shape[1]) // stride + 1
    y = np.zeros((len(x), length))
    for p in range(length):
        y[:, p] = (padded[:, p * stride : p * stride + w.shape[1]] * w).sum(axis=1)
    return y


FILTER = Exercise(
    "toy.filter",
    lambda x, w, stride, padding: strided_rows(x, w, stride, padding),
    cases_of(
        {"prime": (5, 7, 3, 1, 0), "all sizes 1": (1, 1, 1, 1, 0), "stride": (2, 11, 3, 2, 0)}
        | {"padding": (4, 6, 3, 1, 1), "both": (3, 13, 5, 3, 2), "square": (4, 4, 4, 2, 2)},
        lambda rng, N, L, R, *how: (rng.normal(size=(N, L)), rng.normal(size=(N, R)), *how),
    ),
    ("Look.",),
)
SCALE = Exercise(
    "toy.scale",
    lambda x, rate, name="": x * rate,
    cases_of(
        {"prime": ((5, 7), 0.25), "all sizes 1": ((1, 1), 3.0), "wide": ((2, 40), 0.5)}
        | {"tall": ((40, 3), -1.5), "square": ((4, 4), 2.0)},
        lambda rng, shape, rate: (rng.normal(size=shape), rate),
    ),
    ("Look.",),
)
PAIR = Exercise(
    "toy.pair",
    lambda x: (x.sum(axis=0), x.max(axis=0)),
    cases_of(
        {"prime": (5, 7), "one": (1, 1), "wide": (2, 9), "tall": (9, 2), "square": (3, 3)},
        lambda rng, *shape: (rng.normal(size=shape),),
    ),
    ("Look.",),
    outputs=("total", "top"),
)
COUNT = Exercise(
    "toy.count",
    lambda n, k: -(-n // k),
    lambda rng: [Case(f"{n} by {k}", (n, k)) for n, k in [(7, 2), (1, 1), (9, 3), (50, 8), (3, 7)]],
    ("Look.",),
)


@pytest.fixture
def cause(capsys, monkeypatch):
    """The likely cause that `check` names, or all it says where there is none."""
    monkeypatch.setenv("LABKIT_PROGRESS", "off")

    def ask(exercise, f):
        with registered(exercise):
            assert check(exercise.id, f) is not f
        said = " ".join(capsys.readouterr().out.split())
        _, found, rest = said.partition("Likely cause: ")
        return rest.partition(" Case: ")[0] if found else said

    return ask


SLIPS = {
    "stride dropped": (
        lambda x, w, stride, padding: strided_rows(x, w, 1, padding),
        "`stride` does not count: the result is that of 1.",
    ),
    "padding dropped": (
        lambda x, w, stride, padding: strided_rows(x, w, stride, 0),
        "`padding` does not count: the result is that of 0.",
    ),
    "w flipped": (
        lambda x, w, stride, padding: strided_rows(x, w[:, ::-1], stride, padding),
        "`w` is taken from the end to the beginning along axis 1.",
    ),
    "first row's w for all": (
        lambda x, w, stride, padding: strided_rows(x, w[:1] + 0 * w, stride, padding),
        "`w` is the first entry along axis 0 everywhere.",
    ),
    "last tap left out": (
        lambda x, w, stride, padding: strided_rows(
            x, np.c_[w[:, :-1], 0 * w[:, -1:]], stride, padding
        ),
        "`w` counts without the last entry along axis 1.",
    ),
    "one too far": (
        lambda x, w, stride, padding: strided_rows(np.roll(x, -1, 1), w, stride, padding),
        "`x` is shifted by one place along axis 1.",
    ),
    "result flipped": (
        lambda *args: strided_rows(*args)[:, ::-1],
        "the result is taken from the end to the beginning along axis 1.",
    ),
    "running sum": (
        lambda *args: strided_rows(*args).cumsum(axis=1),
        "the result is a running sum along axis 1.",
    ),
    "mean": (
        lambda x, w, *how: strided_rows(x, w, *how) / w.shape[1],
        "every value is 1/n of what it should be, where n is the length of `w` along axis 1.",
    ),
    "one too large": (
        lambda *args: strided_rows(*args) + 1,
        "every value is too large by 1.",
    ),
    "no negative": (
        lambda *args: np.maximum(strided_rows(*args), 0),
        "negative results are cut to 0.",
    ),
    "last one missing": (
        lambda *args: np.c_[strided_rows(*args)[:, :-1], 0 * strided_rows(*args)[:, -1:]],
        "the result counts without the last entry along axis 1.",
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_common_slip_is_named(cause, name):
    learner, says = SLIPS[name]
    assert cause(FILTER, learner) == says


def test_a_case_is_named_where_no_slip_fits(cause):
    def clamps(x, w, stride, padding):
        edge = np.pad(x, ((0, 0), (padding, padding)), mode="reflect" if x.shape[1] > 2 else "edge")
        return strided_rows(edge, w, stride, 0)

    assert cause(FILTER, clamps) == (
        "it is right in every case where `padding` is 0, and wrong in every other."
    )


def test_places_are_named_where_no_slip_fits(cause):
    def border(*args):
        y = strided_rows(*args)
        y[:, -1] = np.sin(y[:, -1])
        return y

    assert cause(FILTER, border).startswith("only the last place along axis 1 is wrong")


def test_a_number_has_the_wrong_sign_or_is_turned_over(cause):
    assert cause(SCALE, lambda x, rate: x / rate) == (
        "`rate` multiplies where it should divide, or the other way round."
    )
    assert cause(SCALE, lambda x, rate: x * (1 - rate)) == (
        "`rate` stands where 1 minus it belongs, or the other way round."
    )
    assert cause(SCALE, lambda x, rate: x) == "`rate` does not count: the result is that of 1."


def test_outputs_in_another_order(cause):
    said = cause(PAIR, lambda x: (x.max(axis=0), x.sum(axis=0)))
    assert said == "`top` stands where `total` belongs: the outputs are in another order."


def test_what_is_kept_between_calls(cause):
    seen = {}

    def remembers(x, rate):
        return seen.setdefault(x.shape, x * rate)

    assert cause(SCALE, remembers).startswith("it is right at the first call with these sizes")
    sums = {}

    def adds_up(x, rate):
        sums[x.shape] = sums.get(x.shape, 0) + x * rate
        return sums[x.shape].copy()

    assert cause(SCALE, adds_up).startswith("the results of earlier calls are added")


def test_what_is_kept_by_length_where_whole_numbers_differ(cause):
    first = {}

    def keeps_the_part(x, part):
        return x * first.setdefault(len(x), part)

    def keeps_the_sum(x, part):
        return first.setdefault(("sum", len(x)), x * part)

    exercise = Exercise(
        "toy.parts",
        lambda x, part: x * part,
        cases_of(
            {"prime": (7,), "one": (1,), "many": (40,), "two": (2,), "some": (12,)},
            lambda rng, n: (rng.normal(size=n), int(rng.integers(3, 10**6))),
        ),
        ("Look.",),
    )
    assert "`part` is still that of the first such call" in cause(exercise, keeps_the_part)
    assert "the result is still that of the first such call" in cause(exercise, keeps_the_sum)
    assert "kept" not in cause(exercise, lambda x, part: x * (part % 7))


def test_chance_is_no_cause(cause):
    """Noise gets an index, and nothing that only chance could have told."""
    noise = np.random.default_rng(5)

    def random(x, w, stride, padding):
        return noise.normal(size=strided_rows(x, w, stride, padding).shape)

    assert "Look again" in cause(FILTER, random)


def test_whole_numbers_may_be_floats(capsys, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")

    def with_ceil(n, k):
        return np.ceil(n / k)

    with registered(COUNT):
        assert check("toy.count", with_ceil) is with_ceil
    assert "Right" in capsys.readouterr().out


def test_cases_may_have_different_numbers_of_arguments(cause):
    total = Exercise(
        "toy.total",
        lambda *xs: sum(xs),
        lambda rng: [Case(f"{n} arrays", tuple(rng.normal(size=(n, n)))) for n in (1, 2, 3)],
        ("Add.",),
    )
    assert "went wrong" not in cause(total, lambda *xs: xs[0] + 0)


# Slips of single exercises, and of what the cases have in common.

SHORTEST = Exercise(
    "toy.shortest",
    lambda lengths: int(np.nanargmin(lengths)),
    lambda rng: [
        Case(name, (np.array(lengths),))
        for name, lengths in {
            "one": [2.0],
            "all there": [3.0, 1.0, 2.0],
            "one missing": [3.0, np.nan, 2.0],
            "the first missing": [np.nan, 4.0, 5.0, 1.0],
            "two missing": [4.0, 2.0, np.nan, np.nan, 7.0],
        }.items()
    ],
    ("Look.",),
)
MICRO = Exercise(
    "toy.micro",
    lambda x, parts: sum(part.sum(axis=0) ** 2 for part in np.array_split(x, parts)),
    cases_of(
        {"prime": (7, 3, 2), "all sizes 1": (1, 1, 1), "more": (12, 4, 3), "many": (30, 5, 7)},
        lambda rng, N, D, parts: (rng.normal(size=(N, D)), parts),
    ),
    ("Look.",),
)
ADD = Exercise(
    "toy.add",
    lambda x, y: x + y.sum(),
    cases_of(
        {"prime": (7, 5), "all sizes 1": (1, 1), "shorter": (3, 9), "longer": (40, 11)},
        lambda rng, n, m: (rng.normal(size=n), rng.normal(size=m)),
    ),
    ("Look.",),
)
CLIP = Exercise(
    "toy.clip",
    lambda x, most: np.minimum(x, most),
    cases_of(
        {"prime": (7, 0.5), "one": (1, 9.0), "many": (40, 0.25), "low": (11, -0.5)},
        lambda rng, n, most: (rng.normal(size=n), most),
    ),
    ("Look.",),
)
PRODUCT = Exercise(
    "toy.product",
    lambda a, b: a * b,
    cases_of(
        {"prime": (7,), "one": (1,), "many": (40,), "two": (2,)},
        lambda rng, n: (rng.integers(-128, 128, n), rng.integers(-128, 128, n)),
    ),
    ("Look.",),
    dtype="int",
)


def up_to_the_length_of_y(x, y):
    z = np.zeros_like(x)
    for i in range(len(x)):
        if i < len(y):
            z[i] = x[i] + y.sum()
    return z


def without_the_last(x, parts):
    return sum((part.sum(axis=0) ** 2 for part in np.array_split(x, parts)[:-1]), 0 * x[0])


FOR_EACH = [
    (SHORTEST, lambda lengths: int(np.argmin(lengths)),
     "`lengths` has NaN, which counts as the smallest."),
    (MICRO, without_the_last, "`x` counts without the last of its `parts` parts."),
    (MICRO, lambda x, parts: sum(p.sum(0) ** 2 for p in np.array_split(x, 3)),
     "`parts` does not count: the result is that of 3."),
    (ADD, up_to_the_length_of_y, "the result is right up to the length of `y`, and wrong behind "
     "it: whose length does the guard, or the loop, compare with?"),
    (ADD, lambda x, y: (x + y.sum()).sum(),
     "it returns one number, the sum of those that are asked for."),
    (CLIP, lambda x, most: x.copy(), "the wrong values are above the largest of the others, where "
     "they should stop: a limit is missing."),
    (PRODUCT, lambda a, b: (a * b).astype(np.int8).astype(int),
     "the result is cut to 8 bits, the first of which is a sign."),
    (PRODUCT, lambda a, b: a * b % 256, "the result is cut to 8 bits, without a sign."),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "learner", "says"), FOR_EACH)
def test_a_slip_of_a_kind_is_named(cause, exercise, learner, says):
    assert cause(exercise, learner) == says


@pytest.mark.parametrize("exercise", [MICRO, ADD, CLIP, PRODUCT], ids=lambda one: one.id)
def test_noise_is_none_of_them(cause, exercise):
    noise = np.random.default_rng(5)

    def random(*args):
        shape = np.shape(exercise.oracle(*args))
        return (
            noise.integers(-(10**6), 10**6, shape)
            if exercise is PRODUCT
            else noise.normal(size=shape)
        )

    assert cause(exercise, random).startswith("Look again")


def test_a_pattern_is_told_only_where_cases_part_it_from_its_rivals(cause):
    """Where the stride is 1, every length is odd too: which of the two is it?"""

    def for_stride_1(x, stride):
        return x * stride if stride == 1 else np.sin(x)

    def strided(*cases):
        sizes = {f"{n} by {stride}": (n, stride) for n, stride in cases}
        return Exercise(
            "toy.stride",
            lambda x, stride: x * stride,
            cases_of(sizes, lambda rng, n, stride: (rng.normal(size=n), stride)),
            ("Look.",),
        )

    together = strided((7, 1), (8, 2), (5, 1), (12, 3))
    apart = strided((7, 1), (8, 2), (6, 1), (13, 3))
    assert cause(together, for_stride_1).startswith("Look again")
    assert cause(apart, for_stride_1) == (
        "it is right in every case where `stride` is 1, and wrong in every other."
    )


def test_an_address_is_no_number_of_parts(cause):
    """To cut an array into so many would take minutes."""
    copied = Exercise(
        "toy.copied",
        lambda x, address: x + address,
        cases_of(
            {"prime": (7, 10**9), "one": (1, 2**30), "many": (40, 10**9 + 7), "low": (3, 4096)},
            lambda rng, n, address: (rng.integers(0, 99, n), address),
        ),
        ("Look.",),
    )
    assert cause(copied, lambda x, address: x * x + address) == "`x` is squared."
    assert cause(copied, lambda x, address: x % 7 + address).startswith("Look again")


def test_a_pattern_is_told_as_fine_as_the_cases_show_it():
    """Whole blocks of 128 are whole blocks of 32, too."""
    assert features_told([128, 384], [96, 320, 5], kernel=True) == (
        "it is right in every case where the length of `x` is a multiple of 128, and wrong in "
        "every other."
    )


def features_told(right, wrong, kernel):
    right, wrong = (
        [features_of(Case(str(n), (np.zeros(n),)), ["x"], kernel) for n in lengths]
        for lengths in (right, wrong)
    )
    return separating(right, wrong, set(right[0]))


def test_what_is_half_right_behind_a_length_does_not_end_there(cause):
    exercise = Exercise(
        "toy.wide",
        lambda x, y: x + y.sum(),
        cases_of(
            {"prime": (4, 13, 7), "one": (1, 1, 1), "long": (3, 40, 11), "short": (5, 9, 3)},
            lambda rng, m, n, k: (rng.normal(size=(m, n)), rng.normal(size=k)),
        ),
        ("Look.",),
    )

    def some_rows(x, y):
        z = x + y.sum()
        z[::2, len(y) :] = 0
        return z

    def all_rows(x, y):
        z = x + y.sum()
        z[:, len(y) :] = 0
        return z

    assert "whose length does the guard" in cause(exercise, all_rows)
    assert "whose length does the guard" not in cause(exercise, some_rows)


def test_values_are_wrong_where_an_argument_is_of_a_kind(cause):
    assert cause(PRODUCT_OF_FLOATS, lambda x, y: x * x * y / x) == (
        "exactly those values are not finite for which `x` is 0."
    )
    assert cause(PRODUCT_OF_FLOATS, lambda x, y: x * y + (x < 0)) == (
        "exactly those values are wrong for which `x` is negative."
    )


PRODUCT_OF_FLOATS = Exercise(
    "toy.floats",
    lambda x, y: x * y,
    cases_of(
        {"prime": (7,), "one": (1,), "many": (40,), "two": (2,), "some": (12,)},
        lambda rng, n: (rng.permutation(n) - n // 2 + 0.0, rng.normal(size=n)),
    ),
    ("Look.",),
)


def test_what_depends_on_chance_shows_where_a_case_comes_twice(cause):
    noise = np.random.default_rng(5)
    exercise = replace(CLIP, cases=with_a_repeat(CLIP.cases))
    assert "two calls with the same arguments" in cause(
        exercise, lambda x, most: np.minimum(x, most) + noise.normal(size=x.shape)
    )
    assert "two calls" not in cause(exercise, lambda x, most: np.sin(x) + 2)


def test_infinities_are_no_pattern_and_no_obstacle_to_one(cause):
    """One infinity for all is not a running sum; and where there are some, 1 too few shows."""
    exercise = Exercise(
        "toy.limit",
        lambda x: np.where(x > 0, x, np.inf),
        cases_of(
            {"prime": (7,), "one": (1,), "many": (40,), "three": (3,), "some": (12,)},
            lambda rng, n: (rng.permutation(n) + 0.5 - (n > 1),),
        ),
        ("Look.",),
    )
    assert "each of them is to be found by itself" in cause(
        exercise, lambda x: np.full(x.shape, np.where(x > 0, x, np.inf).max())
    )
    assert cause(exercise, lambda x: np.where(x > 0, x - 1, np.inf)) == (
        "every value is too small by 1."
    )
    overflows = cause(exercise, lambda x: np.full(x.shape, 1e308) * x.size)
    assert "Warning" not in overflows


def test_right_at_first_and_wrong_in_every_later_call(cause):
    kept = []

    def appends(x):
        kept.append(x.sum(axis=0))
        return np.concatenate(kept), x.max(axis=0)

    assert cause(PAIR, appends).startswith("it is right at first, and wrong when it is called")


def test_errors_of_both_signs_as_small_as_those_of_float16(cause):
    def halved(x, rate):
        return x.astype(np.float16) * np.float64(rate)

    assert "of the size of float16's" in cause(SCALE, halved)
    assert "float16" not in cause(SCALE, lambda x, rate: x * rate + 1e-3 * abs(x))


def test_the_one_axis_of_another_length_is_named(cause):
    assert "Only axis 0 has another length: 4, where it should be 5." in cause(
        SCALE, lambda x, rate: (x * rate)[:-1] if len(x) == 5 else x * rate
    )
