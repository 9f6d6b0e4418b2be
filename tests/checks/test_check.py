"""`check`: each way to be wrong has its own sentence, and a right function comes back."""

import dataclasses
import functools
import inspect

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.checks import record
from labkit.checks.course_version import is_course_version
from labkit.checks.items import Case, Exercise, Misconception
from labkit.checks.judge import check, seeded_cases
from labkit.checks.registry import registered


def test_right_function_is_returned_with_cases_and_costs(answer, right):
    text = answer(right)
    assert "Right: toy.linear is solved." in text
    assert "6 cases: one, prime, ragged, flat, square, blocks" in text
    assert "multiply-adds 1.23 kFLOP (counted by the algorithm)" in text
    assert "hint" not in text


def test_costs_are_shown_only_after_success(answer):
    assert "multiply-adds" not in answer(lambda x, w, b: None)


@pytest.mark.parametrize(
    "right_too",
    [
        functools.partial(lambda s, x, w, b: s * ((x[:, None] * w).sum(2) + b), 1.0),
        lambda *args: (args[0][:, None] * args[1]).sum(2) + args[2],
        lambda x, w, b: ((x[:, None] * w).sum(2) + b).astype(np.float32),
        type("Model", (), {"__call__": lambda self, x, w, b: (x[:, None] * w).sum(2) + b})(),
        lambda x, w, b: ((x[:, None] * w).sum(2) + b)[::-1][::-1],
    ],
    ids=["partial", "star", "float32", "instance", "view"],
)
def test_every_kind_of_right_callable_passes(answer, right_too):
    assert answer(right_too).startswith("Right:")


def test_the_stub_is_not_an_error(answer):
    text = answer(lambda x, w, b: None)
    assert text.startswith("Not yet: toy.linear is not solved yet: the function returns None.")
    assert "The cells below use our version until then." in text
    assert record.load()["exercises"] == {}


def test_none_in_some_cases_is_no_stub(answer, exercises):
    place = Exercise(
        "toy.place",
        lambda x: int(x.argmax()) if x.size else -1,
        lambda rng: [Case(str(n), (rng.normal(size=n),)) for n in (3, 0, 7, 1, 5)],
        ("Look.",),
    )
    with registered(place):
        text = answer(lambda x: int(x.argmax()) if x.size else None, "toy.place")
        assert "Look again: In this case the function returns None; it should return -1." in text
        assert answer(lambda x: None, "toy.place").startswith("Not yet:")
    both = dataclasses.replace(
        exercises["backward"], id="toy.both", oracle=lambda dy, x: (dy.sum(), x.sum())
    )
    with registered(both):
        text = answer(lambda dy, x: (None, x.sum()), "toy.both")
        assert "`dw` is None; it should be " in text


def test_a_stub_of_several_outputs_is_not_an_error(answer):
    text = answer(lambda dy, x: (None, None), "toy.backward")
    assert text.startswith("Not yet: toy.backward is not solved yet: `dw` and `db` are still None.")


def test_a_stub_that_leaves_zeros_is_not_an_error(answer, right):
    text = answer(lambda x, w, b: 0 * right(x, w, b))
    assert text.startswith("Not yet: toy.linear is not solved yet: every value is still 0.")
    assert record.load()["exercises"] == {}
    one_case_is_zero = []  # a wrong answer, not a stub, is zero somewhere only

    def learner(x, w, b):
        one_case_is_zero.append(len(x))
        return right(x, w, b) * (len(one_case_is_zero) > 1)

    assert answer(learner).startswith("Look again:")


def test_a_stub_that_computes_something_is_not_an_error(answer, exercises, right):
    def stub(x, w, b):
        return np.ones((len(x), len(w)))

    with registered(dataclasses.replace(exercises["linear"], id="toy.ones", stub=stub)):
        text = answer(stub, "toy.ones")
        assert text.startswith("Not yet: toy.ones is not solved yet: it returns what the stub")
        assert answer(lambda x, w, b: stub(x, w, b) + 1, "toy.ones").startswith("Look again:")
        assert answer(right, "toy.ones").startswith("Right:")


def test_an_exercise_may_have_words_of_its_own(answer, exercises):
    def wording(args, output, got, expected):
        return f"{output} of {args[0].shape} differs in {np.sum(got != expected)} places."

    with registered(dataclasses.replace(exercises["linear"], id="toy.words", wording=wording)):
        text = answer(lambda x, w, b: x @ w.T + 2 * b, "toy.words")
        assert "Look again: result of (1, 1) differs in 1 places." in text
        assert "it should be" not in text


def test_raises_names_the_error_and_the_learners_line(answer):
    def learner(x, w, b):
        table = {}
        return table["weights"]

    text = answer(learner)
    assert "The function raises KeyError." in text
    assert "KeyError: 'weights'" in text
    assert 'line 3 of `learner`: return table["weights"]' in text
    assert "Case: one (x 1 × 1, w 1 × 1, b 1 element)" in text


def test_raises_inside_a_library_names_the_learners_line(answer):
    def learner(x, w, b):
        return np.concatenate([x, w, b])

    text = answer(learner)
    assert "raises ValueError" in text
    assert "line 2 of `learner`" in text


def test_system_exit_is_caught_and_explained(answer):
    def learner(x, w, b):
        raise SystemExit(3)

    assert "The function ends the program" in answer(learner)


def test_ctrl_c_stops_the_check_politely(answer):
    def learner(x, w, b):
        raise KeyboardInterrupt

    assert "The check of toy.linear was interrupted." in answer(learner)
    assert record.load()["exercises"] == {}


def test_an_exception_that_cannot_be_printed(answer):
    class Nasty(Exception):
        def __str__(self):
            raise RuntimeError

    def learner(x, w, b):
        raise Nasty

    assert "The function raises Nasty." in answer(learner)


def test_no_memory_address_is_shown(answer):
    def learner(x, w, b):
        raise TypeError(f"bad {object()}")

    text = answer(learner)
    assert "TypeError: bad <object object>" in text
    assert "0x" not in text


def test_changed_input_is_named(answer, right):
    def learner(x, w, b):
        result = right(x, w, b)
        w *= 2
        return result

    text = answer(learner)
    assert "The function changes its input `w`." in text
    assert "`w[0, 0]` was " in text


def test_changed_shape_and_nan_in_inputs(answer):
    def learner(x, w, b):
        b.shape = (len(b), 1)
        return x

    assert "changes its input `b`" in answer(learner)


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (
            lambda y: y.tolist(),
            "`result` is a list; it should be a NumPy array. `np.array(result)`",
        ),
        (lambda y: (y,), "a tuple with one value in it. Look for a comma"),
        (lambda y: (y, y), "`result` is a tuple; it should be a NumPy array."),
        (lambda y: np.matrix(y), "matrix; it should be a plain NumPy array"),
        (lambda y: np.ma.masked_array(y), "MaskedArray; it should be a plain NumPy array"),
        (lambda y: "done", "`result` is of type str; it should be a NumPy array."),
        (lambda y: (v for v in y), "`result` is a generator"),
        (lambda y: y.astype(object), "`result` is an array of dtype object"),
        (lambda y: np.array(["a"]), "`result` is an array of dtype <U1"),
        (
            lambda y: y.T,
            "wrong shape: 7 × 5; it should be 5 × 7. That is the shape of the transpose",
        ),
        (
            lambda y: y.ravel(),
            "wrong shape: 1 element; it should be 1 × 1. An axis of length 1 is missing: keep",
        ),
        (
            lambda y: y[None, :2],
            "wrong shape: 1 × 1 × 1; it should be 1 × 1. An axis of length 1 is too many",
        ),
        (lambda y: float(y[0, 0]), "wrong shape: a single number; it should be 1 × 1."),
        (lambda y: y.astype(int), "holds integers (int64); it should hold floating-point numbers"),
        (lambda y: y > 0, "holds truth values (bool); it should hold floating-point numbers"),
        (lambda y: y + 0j, "holds complex numbers"),
        (lambda y: y * np.nan, "`result[0, 0]` is NaN (not a number)."),
        (lambda y: y + np.inf, "`result[0, 0]` is infinite."),
    ],
)
def test_wrong_type_shape_dtype_and_nan(answer, right, returned, sentence):
    assert sentence in answer(lambda x, w, b: returned(right(x, w, b)))


def test_a_torch_tensor_is_told_what_to_do(answer, right):
    torch = pytest.importorskip("torch")
    text = answer(lambda x, w, b: torch.tensor(right(x, w, b)))
    assert "`result` is a torch tensor; it should be a NumPy array." in text


def test_wrong_values_name_index_both_values_count_and_case(answer, right):
    def learner(x, w, b):
        y = right(x, w, b)
        if y.shape == (5, 7):
            y[2, 3] = 42
        return y

    text = answer(learner)
    assert "`result[2, 3]` is 42; it should be " in text
    assert "1 of 35 elements is wrong." in text
    assert "Case: prime (x 5 × 3, w 7 × 3, b 7 elements). 5 cases are right." in text
    assert 'For a hint: `hint("toy.linear")`' in text


def test_nearly_equal_values_are_shown_with_enough_digits(answer, right):
    text = answer(lambda x, w, b: right(x, w, b) * (1 + 2e-4))
    got, expected = text.split("is ")[1].split("; it should be ")
    assert got != expected.split()[0].rstrip(".")


def test_misconception_is_the_diagnosis(answer):
    text = answer(lambda x, w, b: (x[:, None] * w).sum(2))
    assert "Likely cause: The bias is never added." in text


def test_misconception_that_raises_on_some_cases(answer):
    assert "Likely cause: w is used without its transpose." in answer(lambda x, w, b: x @ w + b)


def test_another_mistake_is_not_taken_for_a_misconception(answer):
    assert "Likely cause" not in answer(lambda x, w, b: (x[:, None] * w).sum(2) + np.sin(b))


def test_a_misconception_must_fit_every_case(answer):
    def learner(x, w, b):
        return x @ w + b if x.shape[1] == len(w) else np.zeros((len(x), len(w)))

    assert "w is used without its transpose." not in answer(learner)


def test_a_misconception_that_never_computes_is_no_diagnosis(answer, exercises):
    def fails(x, w, b):
        raise ValueError

    never = dataclasses.replace(
        exercises["linear"], id="toy.never", misconceptions=(Misconception("Never.", fails),)
    )
    with registered(never):
        text = answer(fails, "toy.never")
    assert "raises ValueError" in text and "Never." not in text


def test_misconceptions_are_told_apart_by_output(answer):
    text = answer(lambda dy, x: (dy.T @ x, dy.mean(axis=0)), "toy.backward")
    assert "`db[0]` is" in text and "db is the mean." in text
    text = answer(lambda dy, x: (x.T @ dy, dy.mean(axis=0)), "toy.backward")
    assert "`dw` has the wrong shape" in text and "dw is transposed." in text


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (lambda y: -y, "Likely cause: every value has the wrong sign."),
        (lambda y: y / 2, "Likely cause: every value is 0.5 times what it should be."),
    ],
)
def test_patterns_without_a_misconception(answer, right, returned, sentence):
    assert sentence in answer(lambda x, w, b: returned(right(x, w, b)))


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (lambda dy, x: dy.T @ x, "returns one value; it should return 2 values: `dw, db`"),
        (lambda dy, x: (1, 2, 3), "returns 3 values; it should return 2 values: `dw, db`"),
        (lambda dy, x: (), "returns 0 values"),
        (lambda dy, x: (dy.T @ x, None), "`db` is None: it has not been computed yet."),
    ],
)
def test_number_of_outputs(answer, learner, sentence):
    assert sentence in answer(learner, "toy.backward")


def test_a_list_of_outputs_is_as_good_as_a_tuple(answer):
    assert answer(lambda dy, x: [dy.T @ x, dy.sum(axis=0)], "toy.backward").startswith("Right:")


@pytest.mark.parametrize(
    ("junk", "sentence"),
    [
        (None, "needs your function; it was given None"),
        (3, "a value of type int. Write the function's name without parentheses"),
        (np.zeros(3), "a value of type ndarray"),
        (dict, "it was given the class dict"),
        (lambda x, w: x, "cannot be called as `f(x, w, b)`: too many positional arguments."),
        (
            lambda x, w, b, c: x,
            "missing a required argument: 'c'. Yours is defined as `f(x, w, b, c)`",
        ),
    ],
)
def test_what_cannot_be_called_is_refused_before_the_run(answer, junk, sentence):
    assert sentence in answer(junk)


def test_generator_and_coroutine_functions(answer):
    def generator(x, w, b):
        yield x

    async def coroutine(x, w, b):
        return x

    assert "A function with `yield` hands out a generator" in answer(generator)
    assert "defined with `async def`" in answer(coroutine)
    assert "`result` is a coroutine" in answer(lambda x, w, b: coroutine(x, w, b))


def test_forgotten_function_and_forgotten_id(capsys):
    assert callable(check("toy.linear"))
    assert "needs your function" in capsys.readouterr().out
    assert check(max) is max
    assert "The id is a text" in capsys.readouterr().out


def test_unknown_id_gives_the_near_ones_and_the_function_back(capsys):
    assert check("toy.liner", max) is max
    assert "Did you mean 'toy.linear'?" in capsys.readouterr().out
    assert check("toy.why", max) is max
    out = " ".join(capsys.readouterr().out.split())
    assert "'toy.why' is the id of a quiz: use quiz('toy.why', answer)." in out


def test_prints_are_shown_once_and_shortened(answer, right):
    def learner(x, w, b):
        for number in range(30):
            print("line", number, "x" * 200)
        return right(x, w, b)

    text = answer(learner)
    assert text.count("line 3 ") == 1
    assert "line 9 " in text and "line 10 " not in text
    assert len(text) < 2000


def test_prints_of_the_wrong_case_are_the_ones_shown(answer, right):
    def learner(x, w, b):
        print("rows", len(x))
        return right(x, w, b) + (len(x) == 9)

    text = answer(learner)
    assert "rows 9" in text and "rows 5" not in text


def test_output_is_the_same_every_time(answer):
    def learner(x, w, b):
        return np.zeros((len(x), len(w)))

    assert answer(learner) == answer(learner)


def test_warnings_of_the_function_are_not_shown(answer, recwarn):
    answer(lambda x, w, b: np.log(-abs(x)))
    assert not recwarn.list


def test_the_fallback_has_the_oracles_signature_and_is_recognised(answer, capsys):
    course_version = check("toy.linear", lambda x, w, b: None)
    assert list(inspect.signature(course_version).parameters) == ["x", "w", "b"]
    capsys.readouterr()
    assert "the course's own version, which an earlier check handed on" in answer(course_version)


def test_exact_dtype_is_asked_and_handed_on(exercises, answer, right):
    exact = dataclasses.replace(exercises["linear"], id="toy.exact", dtype="float32")
    with registered(exact):
        assert "`result` has dtype float64; it should be float32." in answer(right, "toy.exact")
        as_float32 = check("toy.exact", lambda x, w, b: right(x, w, b).astype(np.float32))
        assert as_float32(*seeded_cases(exact)[1].args).dtype == np.float32
        course_version = check("toy.exact", right)
        assert course_version(*seeded_cases(exact)[1].args).dtype == np.float32


def test_each_output_may_have_a_dtype_of_its_own(exercises, answer):
    def both(dy, x):
        return dy.T @ x, dy.sum(axis=0)

    def narrow(dy, x):
        return dy.T @ x, dy.sum(axis=0).astype(np.float32)

    exact = dataclasses.replace(exercises["backward"], id="toy.each", dtype=(None, "float32"))
    with registered(exact):
        assert "`db` has dtype float64; it should be float32." in answer(both, "toy.each")
        assert answer(narrow, "toy.each").startswith("Right")
        dw, db = check("toy.each", both)(*seeded_cases(exact)[1].args)
        assert (dw.dtype, db.dtype) == (np.float64, np.float32)
    with pytest.raises(ValueError, match="one entry for each of the outputs"):
        dataclasses.replace(exact, dtype=("float32",))


def test_integers_are_compared_exactly(answer):
    count = Exercise(
        "toy.count",
        lambda n: np.arange(n) + 2**60,
        lambda rng: [Case("some", (5,)), Case("none", (0,))],
        ("Count.",),
    )
    with registered(count):
        assert answer(lambda n: np.arange(n) + 2**60, "toy.count").startswith("Right:")
        text = answer(lambda n: np.arange(n) + 2**60 + (np.arange(n) == 3), "toy.count")
        assert "`result[3]`" in text and "Case: some (n 5)." in text
        rounded = answer(lambda n: np.arange(n) + 2.0**60, "toy.count")
        assert "`result[1]` is 1152921504606846976" in rounded, "float64 has no 2**60 + 1"


def test_infinities_that_belong_there_are_right(answer):
    mask = Exercise(
        "toy.mask",
        lambda x: np.where(x > 0, x, -np.inf),
        lambda rng: [Case("some", (rng.normal(size=20),))],
        ("Mask.",),
    )
    with registered(mask):
        assert answer(lambda x: np.where(x > 0, x, -np.inf), "toy.mask").startswith("Right:")
        assert "it should be -inf" in answer(lambda x: np.where(x > 0, x, np.inf), "toy.mask")


def test_adapter_launches_what_is_no_plain_function(answer):
    class Kernel:
        def __init__(self, body):
            self.body = body

    def launch(kernel):
        if not isinstance(kernel, Kernel):
            raise TypeError("Decorate your function with @kernel.")

        def run(x):
            out = np.zeros_like(x)
            for i in range(len(x)):
                kernel.body(i, x, out)
            return out

        return run

    working = Kernel(lambda i, x, out: out.__setitem__(i, 2 * x[i]))
    double = Exercise(
        "toy.kernel",
        lambda x: 2 * x,
        lambda rng: [Case("five", (rng.normal(size=5),))],
        ("Twice.",),
        adapter=launch,
        fallback=working,
    )
    with registered(double):
        mine = Kernel(lambda i, x, out: out.__setitem__(i, x[i] + x[i]))
        assert answer(mine, "toy.kernel").startswith("Right:")
        assert "Decorate your function with @kernel." in answer(max, "toy.kernel")
        wrong = Kernel(lambda i, x, out: out.__setitem__(0, x[i]))
        assert check("toy.kernel", wrong) is working


def test_a_fault_of_the_check_itself_is_said_and_the_oracle_comes_back(answer, right, capsys):
    def broken(rng):
        raise RuntimeError("no cases today")

    with registered(Exercise("toy.broken", right, broken, ("None.",))):
        returned = check("toy.broken", max)
    text = " ".join(capsys.readouterr().out.split())
    assert "The check of toy.broken itself went wrong" in text
    assert "RuntimeError: no cases today" in text
    assert returned(np.ones((1, 1)), np.ones((1, 1)), np.ones(1)) == 2


def test_a_cost_that_fails_does_not_hide_the_verdict(answer, right, exercises):
    def broken():
        raise RuntimeError("no meter")

    free = dataclasses.replace(exercises["linear"], id="toy.free", cost=broken)
    with registered(free):
        assert answer(right, "toy.free").startswith("Right:")


def test_a_closed_output_is_no_reason_to_raise(right, monkeypatch):
    import sys

    class Closed:
        def write(self, text):
            raise ValueError("I/O operation on closed file")

        flush = write

    monkeypatch.setattr(sys, "stdout", Closed())
    assert check("toy.linear", right) is right


class Hostile:
    """Raises wherever it is looked at."""

    def __getattr__(self, name):
        raise RuntimeError("no")

    __eq__ = __hash__ = __repr__ = __bool__ = __len__ = lambda self, *_: 1 / 0


class Liar(Hostile):
    @property
    def __class__(self):
        raise RuntimeError("no class")

    def __call__(self, *args, **kwargs):
        return self


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.text(),
    st.binary(),
    st.lists(st.integers()),
    st.functions(like=lambda *args, **kwargs: None, returns=st.integers() | st.text()),
    st.functions(like=lambda x, w, b: None, returns=st.lists(st.floats())),
    st.sampled_from([print, len, np.add, np.ndarray, type, max]),
    st.builds(functools.partial, st.sampled_from([print, len, max])),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(id=JUNK | st.sampled_from(["toy.linear", "toy.backward"]), f=JUNK)
def test_check_never_raises_whatever_it_is_given(id, f, capsys):
    returned = check(id, f)
    text = capsys.readouterr().out
    assert text and not text.startswith("Right")
    if isinstance(id, str) and id.startswith("toy."):
        assert callable(returned) and returned is not f


@pytest.mark.parametrize("id", ["toy.linear", "toy.backward", Hostile()], ids=["a", "b", "hostile"])
@pytest.mark.parametrize("make", [Hostile, Liar, lambda: lambda *args: Hostile(), lambda: Hostile])
def test_check_survives_hostile_objects(id, make, capsys):
    check(id, make())
    text = capsys.readouterr().out
    assert text and not text.startswith("Right")


def test_the_author_is_told_about_mistakes():
    with pytest.raises(ValueError, match="args must be a tuple"):
        Case("one", np.zeros(1))
    with pytest.raises(ValueError, match="'linear' is no id"):
        Exercise("linear", max, list, ("Hint.",))
    with pytest.raises(ValueError, match="forbidden must be a tuple"):
        Exercise("toy.x", max, list, ("Hint.",), forbidden="torch")
    with pytest.raises(ValueError, match="at least one output and one hint"):
        Exercise("toy.x", max, list, ())
    assert Misconception("A.", max).function is max


def test_handed_out_functions_are_known():
    wrapped = check("toy.linear", None)
    assert is_course_version(wrapped, "toy.linear")
    assert not is_course_version(wrapped, "toy.backward")
    assert not is_course_version(max, "toy.linear")


def test_memory_is_counted_where_it_is_the_point(answer):
    def whole(n, m):
        return (np.arange(n)[:, None] + np.arange(n))[m]

    def rows_alone(n, m):
        return m[:, None] + np.arange(n)

    exercise = Exercise(
        "toy.rows",
        lambda n, m: np.add.outer(m, np.arange(n)),
        lambda rng: [Case("small", (5, np.array([3]))), Case("large", (1000, np.array([7, 2])))],
        ("Look.",),
        memory=lambda n, m: 100_000,
    )
    with registered(exercise):
        assert answer(rows_alone, "toy.rows").startswith("Right:")
        text = answer(whole, "toy.rows")
    assert "The numbers are right, but it holds" in text and "100,000 B are enough" in text
    assert "One case is right." in text
