"""Attempts to pass `check` without writing the function. None may get through.

The toy forbids functions of every make: written in Python (np.einsum), in C behind a dispatcher
(np.dot), a ufunc (np.matmul), a builtin (math.fsum), a method (ndarray.dot), a module (np.linalg)
and one of torch.
"""

import dataclasses
import functools
import gc
import importlib
import math
import operator
import signal
import sys
import threading
import types

import numpy as np
import pytest

from labkit.checks import registry
from labkit.checks.items import Case, Exercise
from labkit.checks.judge import check, seeded_cases
from labkit.checks.registry import registered
from labkit.checks.watch import clock, guard
from labkit.checks.watch.escapes import Escape
from labkit.checks.watch.forbidden import Forbidden

early_matmul, early_dot, early_fsum = np.matmul, np.dot, math.fsum
umath = sys.modules.get("numpy._core.umath") or sys.modules["numpy.core.umath"]
deep = [[[[[np.matmul]]]]]
held = {"product": np.matmul}
early_partial = functools.partial(np.matmul)
early_lambda = lambda x, w: np.dot(x, w)  # noqa: E731
early_method = np.ndarray.dot
early_type, early_dtype = np.float16, np.dtype("float16")


def helper(multiply, x, w):
    return multiply(x, w)


def rows(sum_, x, w, b):
    """y[n, k], summed by the function given."""
    return np.array([[sum_(list(x_n * w_k)) for w_k in w] for x_n in x]) + b


def in_thread(call):
    out = []
    worker = threading.Thread(target=lambda: out.append(call()))
    worker.start()
    worker.join()
    return out[0]


def local_import(x, w, b):
    from numpy import matmul as anything

    return anything(x, w.T) + b


def local_module(x, w, b):
    import numpy.linalg as la

    return la.multi_dot([x, w.T]) + b


def default_argument(x, w, b, product=np.matmul):
    return product(x, w.T) + b


def closure(product):
    return lambda x, w, b: product(x, w.T) + b


def second_call(x, w, b):
    helper(np.multiply, x, x)
    return helper(deep[0][0][0][0][0], x, w.T) + b


class Callable:
    def __init__(self):
        self.product = np.matmul

    def __call__(self, x, w, b):
        return np.einsum("nd,kd->nk", x, w) + b


FORBIDDEN = {
    "einsum": (lambda x, w, b: np.einsum("nd,kd->nk", x, w) + b, "numpy.einsum"),
    "dot": (lambda x, w, b: np.dot(x, w.T) + b, "numpy.dot"),
    "matmul": (lambda x, w, b: np.matmul(x, w.T) + b, "numpy.matmul"),
    "method dot": (lambda x, w, b: x.dot(w.T) + b, "numpy.ndarray.dot"),
    "method of the class": (lambda x, w, b: np.ndarray.dot(x, w.T) + b, "numpy.ndarray.dot"),
    "builtin": (lambda x, w, b: rows(lambda v: math.fsum(v), x, w, b), "math.fsum"),
    "alias of a ufunc": (lambda x, w, b: early_matmul(x, w.T) + b, "numpy.matmul"),
    "alias of a dispatcher": (lambda x, w, b: early_dot(x, w.T) + b, "numpy.dot"),
    "alias of a builtin": (lambda x, w, b: rows(early_fsum, x, w, b), "math.fsum"),
    "local import": (local_import, "numpy.matmul"),
    "local module": (local_module, "numpy.linalg"),
    "helper": (lambda x, w, b: helper(np.matmul, x, w.T) + b, "numpy.matmul"),
    "helper, early": (lambda x, w, b: helper(early_matmul, x, w.T) + b, "numpy.matmul"),
    "helper, second call": (second_call, "numpy.matmul"),
    "partial": (lambda x, w, b: functools.partial(np.matmul, x)(w.T) + b, "numpy.matmul"),
    "early partial": (lambda x, w, b: early_partial(x, w.T) + b, "numpy.matmul"),
    "partial of a builtin": (lambda x, w, b: rows(functools.partial(math.fsum), x, w, b), "math"),
    "map": (lambda x, w, b: np.array(list(map(np.matmul, [x], [w.T])))[0] + b, "numpy.matmul"),
    "map of a builtin": (
        lambda x, w, b: np.reshape(
            list(map(math.fsum, [x_n * w_k for x_n in x for w_k in w])), (len(x), len(w))
        )
        + b,
        "math.fsum",
    ),
    "getattr": (lambda x, w, b: getattr(np, "mat" + "mul")(x, w.T) + b, "numpy.matmul"),
    "module dictionary": (lambda x, w, b: vars(np)["matmul"](x, w.T) + b, "numpy.matmul"),
    "name from two": (lambda x, w, b: getattr(np, "d" + "ot")(x, w.T) + b, "numpy.dot"),
    "dictionary": (lambda x, w, b: np.__dict__["dot"](x, w.T) + b, "numpy.dot"),
    "lambda made outside": (lambda x, w, b: early_lambda(x, w.T) + b, "numpy.dot"),
    "alias of a method": (lambda x, w, b: early_method(x, w.T) + b, "numpy.ndarray.dot"),
    "name of a method": (lambda x, w, b: getattr(x, "d" + "ot")(w.T) + b, "numpy.ndarray.dot"),
    "eval": (lambda x, w, b: eval("np.dot(x, w.T) + b", {**locals(), "np": np}), "numpy.dot"),
    "default argument": (default_argument, "numpy.matmul"),
    "closure": (closure(np.matmul), "numpy.matmul"),
    "container": (lambda x, w, b: held["product"](x, w.T) + b, "numpy.matmul"),
    "instance": (Callable(), "numpy.einsum"),
    "bound method": (Callable().__call__, "numpy.einsum"),
    "partial as the answer": (functools.partial(closure(np.dot)), "numpy.dot"),
    "thread": (lambda x, w, b: in_thread(lambda: np.dot(x, w.T)) + b, "numpy.dot"),
    "thread, in Python": (
        lambda x, w, b: in_thread(lambda: np.einsum("nd,kd->nk", x, w)) + b, "numpy.einsum"),
    "exec": (lambda x, w, b: eval("np.einsum('nd,kd->nk', x, w)", {**locals(), "np": np}) + b,
             "numpy.einsum"),
    "through numpy": (
        lambda x, w, b: np.apply_along_axis(lambda row: np.dot(w, row), 1, x) + b, "numpy.dot"),
    "through numpy, passed": (
        lambda x, w, b: np.apply_along_axis(early_dot, 1, x, w.T) + b, "numpy.dot"),
    "tensordot uses dot": (lambda x, w, b: np.tensordot(x, w, ((1,), (1,))) + b, "numpy.dot"),
    "private module": (
        lambda x, w, b: umath.matmul(x, w.T) + b,
        "numpy.matmul",
    ),
    "only on the last case": (
        lambda x, w, b: np.dot(x, w.T) + b if len(x) > 30 else rows(sum, x, w, b), "numpy.dot"),
}  # fmt: skip


@pytest.mark.parametrize("attempt", FORBIDDEN)
def test_a_forbidden_function_is_found_under_every_name(answer, attempt):
    function, name = FORBIDDEN[attempt]
    text = answer(function)
    assert text.startswith("Look again: The function uses `")
    assert f"The function uses `{name}" in text
    assert "this exercise asks you to do without it" in text


def test_the_line_of_the_forbidden_call_is_shown(answer):
    def learner(x, w, b):
        product = np.dot
        return product(x, w.T) + b

    assert "line 3 of `learner`: return product(x, w.T) + b" in answer(learner)


@pytest.mark.parametrize("itself", [np.dot, np.matmul, np.einsum, functools.partial(np.matmul)])
def test_the_forbidden_function_itself_as_the_answer(answer, exercises, itself):
    product = dataclasses.replace(
        exercises["linear"],
        id="toy.product",
        oracle=lambda x, w: x @ w,
        cases=lambda rng: [
            dataclasses.replace(case, args=(case.args[0], case.args[1].T))
            for case in exercises["linear"].cases(rng)
        ],
        misconceptions=(),
    )
    with registered(product):
        if itself is np.einsum:
            itself = functools.partial(np.einsum, "nd,dk->nk")
        assert "The function uses `numpy." in answer(itself, "toy.product")
        assert answer(lambda x, w: x @ w, "toy.product").startswith("Right:")


def test_the_operator_can_be_forbidden(answer, right, exercises):
    no_at = dataclasses.replace(exercises["linear"], id="toy.no_at", forbidden=("@",))

    def in_place(x, w, b):
        y = x
        y = y @ w.T
        return y + b

    with registered(no_at):
        assert "The function uses `@`" in answer(in_place, "toy.no_at")
        assert answer(right, "toy.no_at").startswith("Right:")
    assert answer(in_place).startswith("Right:"), "where it is not forbidden it is fine"


EARLY_AT = functools.partial(operator.matmul)
BY_ANOTHER_NAME = {
    "function": lambda x, w, b: operator.matmul(x, w.T) + b,
    "name from two": lambda x, w, b: getattr(operator, "mat" + "mul")(x, w.T) + b,
    "partial": lambda x, w, b: EARLY_AT(x, w.T) + b,
    "mapped": lambda x, w, b: next(map(operator.matmul, [x], [w.T])) + b,
    "method": lambda x, w, b: x.__matmul__(w.T) + b,
    "of the class": lambda x, w, b: np.ndarray.__matmul__(x, w.T) + b,
    "by its name": lambda x, w, b: getattr(x, "__matmul__")(w.T) + b,  # noqa: B009
    "eval": lambda x, w, b: eval("x @ w.T", {"x": x, "w": w}) + b,
}


@pytest.mark.parametrize("attempt", BY_ANOTHER_NAME)
def test_the_operator_is_forbidden_under_its_other_names(answer, exercises, attempt):
    no_at = dataclasses.replace(exercises["linear"], id="toy.no_at", forbidden=("@",))
    with registered(no_at):
        text = answer(BY_ANOTHER_NAME[attempt], "toy.no_at")
    assert "The function uses `@`" in text or "The function uses `operator.matmul`" in text


def test_a_type_made_beforehand_is_found_and_another_is_not(answer, exercises, right):
    attempts = [
        lambda x, w, b: right(x, w, b) + 0 * np.zeros(1, early_type),
        lambda x, w, b: right(x, w, b) + 0 * np.zeros(1, early_dtype),
    ]
    no_half = {"id": "toy.half", "forbidden": ("numpy.float16",)}
    with registered(dataclasses.replace(exercises["linear"], **no_half)):
        for attempt in attempts:
            assert "The function uses `numpy.float16`" in answer(attempt, "toy.half")
        assert answer(right, "toy.half").startswith("Right:")
    for attempt in attempts:
        assert answer(attempt).startswith("Right:")


def test_the_message_names_all_that_is_forbidden(answer):
    """An exercise's text need not name every library."""
    text = answer(lambda x, w, b: np.dot(x, w.T) + b)
    assert "Not allowed in this exercise: `numpy.einsum`, `numpy.dot`, `numpy.matmul`, " in text


def test_torch_functions_and_the_whole_of_torch(answer, exercises):
    torch = pytest.importorskip("torch")
    early = torch.nn.functional.linear

    def tensors(*arrays):
        return [torch.from_numpy(a) for a in arrays]

    attempts = {
        "direct": lambda x, w, b: torch.nn.functional.linear(*tensors(x, w, b)).numpy(),
        "early": lambda x, w, b: early(*tensors(x, w, b)).numpy(),
        "module": lambda x, w, b: torch.nn.Linear(3, 7)(torch.ones(5, 3)).detach().numpy(),
        "mapped": lambda x, w, b: next(map(early, *[[t] for t in tensors(x, w, b)])).numpy(),
        "partial": lambda x, w, b: functools.partial(early, *tensors(x, w, b))().numpy(),
    }
    for name, attempt in attempts.items():
        assert "`torch.nn.functional.linear`" in answer(attempt), name
    no_torch = dataclasses.replace(exercises["linear"], id="toy.no_torch", forbidden=("torch",))
    with registered(no_torch):
        text = answer(
            lambda x, w, b: (torch.tensor(x) @ torch.tensor(w.T)).numpy() + b, no_torch.id
        )
        assert "The function uses `torch`" in text


def test_a_module_that_the_function_imports_first(answer, exercises, tmp_path, monkeypatch):
    (tmp_path / "toolbox.py").write_text(
        "def solve(x, w, b):\n    return (x[:, None] * w).sum(2) + b\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def learner(x, w, b):
        import importlib

        return importlib.import_module("toolbox").solve(x, w, b)

    for forbidden in ("toolbox", "toolbox.solve"):
        monkeypatch.delitem(sys.modules, "toolbox", raising=False)
        no_box = dataclasses.replace(exercises["linear"], id="toy.box", forbidden=(forbidden,))
        with registered(no_box):
            assert f"The function uses `{forbidden}`" in answer(learner, "toy.box")
            assert "toolbox" in sys.modules


def test_a_forbidden_module_is_found_without_any_call(answer, exercises, right):
    import colorsys
    import wave

    no_wave = dataclasses.replace(exercises["linear"], id="toy.wave", forbidden=("wave",))

    def imports(x, w, b):
        import wave

        return right(x, w, b) * (wave.WAVE_FORMAT_PCM == 1)

    def argument(x, w, b, module=wave):
        return right(x, w, b) * (module.WAVE_FORMAT_PCM == 1)

    def other_module(x, w, b, module=colorsys):
        return right(x, w, b) * (module.ONE_THIRD > 0)

    with registered(no_wave):
        for attempt in (imports, argument):
            assert "The function uses `wave`" in answer(attempt, "toy.wave")
        assert answer(other_module, "toy.wave").startswith("Right:")


def test_a_module_in_c_that_the_function_imports_first(answer, exercises, monkeypatch, right):
    import importlib

    def learner(x, w, b):
        return right(x, w, b) * importlib.import_module("cmath").sqrt(1).real

    monkeypatch.delitem(sys.modules, "cmath", raising=False)
    linear = exercises["linear"]
    no_cmath = dataclasses.replace(
        linear, cases=lambda rng: [next(linear.cases(rng))], id="toy.cmath", forbidden=("cmath",)
    )
    with registered(no_cmath):
        assert "The function uses `cmath`" in answer(learner, "toy.cmath")


def test_a_type_of_a_forbidden_module_is_found_and_so_is_its_name(answer, exercises, right):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    given = {"early": ml_dtypes.bfloat16, "right": right}
    by_type = eval("lambda x, w, b: right(x, w, b) * early(1).astype(float)", given)

    def by_name(x, w, b):
        return right(x, w, b) * np.ones(1).astype("bfloat16").astype(float)

    given = {"sample": np.ones(1, ml_dtypes.bfloat16), "right": right, "np": np}
    by_sample = eval("lambda x, w, b: right(x, w, b) * np.asarray(sample, float)", given)
    name = ["ml", "dtypes"]

    def by_import(x, w, b):
        early = getattr(importlib.import_module("_".join(name)), "bf" + name[1][:0] + "loat16")
        return right(x, w, b) * np.asarray(early(1), float)

    def by_table(x, w, b):
        early = getattr(sys.modules["_".join(name)], "bf" + name[1][:0] + "loat16")
        return right(x, w, b) * np.asarray(np.ones(1, early), float)

    def by_array(x, w, b):
        made = [np.ones(1, "_".join(["bfloat16"]))]
        return right(x, w, b) * made.pop().astype(float)

    attempts = (by_type, by_name, by_sample, by_import, by_table, by_array)
    for attempt in attempts:
        assert answer(attempt).startswith("Right:")  # where it is not forbidden
    no_bfloat16 = {"id": "toy.bfloat16", "forbidden": ("ml_dtypes",)}
    with registered(dataclasses.replace(exercises["linear"], **no_bfloat16)):
        for attempt in attempts:
            assert "The function uses `ml_dtypes`" in answer(attempt, "toy.bfloat16")


def test_what_the_garbage_collector_calls_is_not_the_learners_doing(answer, request):
    """jax, once imported, has a function of its own called at every collection."""
    hooked = lambda phase, info: math.fsum([1.0])  # noqa: E731
    gc.callbacks.append(hooked)
    request.addfinalizer(lambda: gc.callbacks.remove(hooked))

    def product(x, w, b):
        kept = [[] for _ in range(10_000)]  # enough new lists for many collections
        return x @ w.T + b + 0 * len(kept)

    assert answer(product).startswith("Right:")
    assert gc.isenabled(), "the collector works again after the check"


def test_nothing_is_imported_for_the_sake_of_a_forbidden_name():
    Forbidden(("tkinter.nothing", "antigravity"))
    assert "antigravity" not in sys.modules


# The course's own answer.


def test_the_oracle_from_the_registry(answer, exercises):
    def learner(x, w, b):
        return registry.registry().find("toy.linear", Exercise).oracle(x, w, b)

    assert "The function" in answer(learner)
    oracle = exercises["linear"].oracle
    for attempt in (oracle, lambda x, w, b: oracle(x, w, b), functools.partial(oracle)):
        assert "the course's own answer" in answer(attempt)


def test_the_function_that_an_earlier_check_handed_on(answer, capsys):
    course_version = check("toy.linear", None)
    capsys.readouterr()
    assert "the course's own answer" in answer(lambda x, w, b: course_version(x, w, b))
    assert "the course's own answer" in answer(functools.partial(course_version))


def test_another_exercises_function_may_be_used_even_if_it_uses_what_is_forbidden(answer, capsys):
    product = Exercise(
        "toy.product",
        lambda x, w: np.einsum("nd,dk->nk", x, w),
        lambda rng: seeded_cases(product_like)[:1],
        ("Sum.",),
    )
    product_like = registry.registry().find("toy.linear", Exercise)
    with registered(product, product_like):
        course_version = check("toy.product", None)
        capsys.readouterr()
        assert answer(lambda x, w, b: course_version(x, w.T) + b).startswith("Right:")


def test_check_inside_the_function(answer):
    def learner(x, w, b):
        return check("toy.linear", None)(x, w, b)

    assert answer(learner).startswith("Look again: The function")


def test_a_borrowed_module_name_does_not_make_it_course_code(answer):
    assert "labkit.checks.judge" in sys.modules
    space = {"__name__": "labkit.checks.watch.clock", "np": np}
    exec("def learner(x, w, b):\n    return np.dot(x, w.T) + b", space)
    assert "`numpy.dot`" in answer(space["learner"])


# Switching the check off.


def no_profile(x, w, b):
    sys.setprofile(None)
    return np.dot(x, w.T) + b


def no_profile_through_partial(x, w, b):
    functools.partial(sys.setprofile, None)()
    return np.dot(x, w.T) + b


def profile_put_back(x, w, b):
    mine = sys.getprofile()
    sys.setprofile(None)
    y = np.dot(x, w.T) + b
    sys.setprofile(mine)
    return y


def no_timer(x, w, b):
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True:
        pass


def no_handler(x, w, b):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    while True:
        pass


@pytest.mark.parametrize(
    "attempt",
    [
        no_profile,
        no_profile_through_partial,
        profile_put_back,
        no_timer,
        no_handler,
    ],
    ids=lambda f: f.__name__,
)
def test_the_check_cannot_be_switched_off(answer, attempt):
    before = sys.getprofile(), signal.getsignal(signal.SIGALRM)
    text = answer(attempt)
    assert "which disturbs the check; leave it out" in text
    assert (sys.getprofile(), signal.getsignal(signal.SIGALRM)) == before


@pytest.mark.parametrize("error", [clock.TimeUp, Escape, GeneratorExit, BaseException])
def test_raising_the_checks_own_exceptions_gains_nothing(answer, right, error):
    def learner(x, w, b):
        if len(x) == 33:
            raise error
        return right(x, w, b)

    assert f"The function raises {error.__name__}." in answer(learner)


# Finding the expected values, or changing them.


def arrays_in(value, depth=4):
    if isinstance(value, np.ndarray):
        yield value
    elif depth and type(value) in (list, tuple, dict):
        for inner in value.values() if type(value) is dict else value:
            yield from arrays_in(inner, depth - 1)


def test_the_expected_values_are_nowhere_during_the_run(answer, exercises):
    """Neither on the stack nor in the modules: only their fingerprint is kept."""
    linear, found = exercises["linear"], []
    only = dataclasses.replace(linear, cases=lambda rng: [list(linear.cases(rng))[1]])

    def learner(x, w, b):
        wanted = x.shape[:1] + w.shape[:1]
        y = (x[:, None] * w).sum(2)
        frame, places = sys._getframe(), []
        while frame is not None:
            places += [frame.f_locals] if "labkit" in frame.f_code.co_filename else [{"y": y}]
            frame = frame.f_back
        places += [vars(m) for name, m in sys.modules.items() if name.startswith("labkit.checks.")]
        found.extend(a for a in arrays_in(places) if a.shape == wanted)
        return y

    with registered(only):
        answer(learner)
        args = seeded_cases(only)[0].args
    assert any(np.allclose(a, args[0] @ args[1].T) for a in found), "the search finds arrays"
    assert not any(np.allclose(a, linear.oracle(*args)) for a in found)


def test_spoiling_what_the_oracle_uses_is_noticed(capsys, monkeypatch):
    monkeypatch.setattr(np, "cumsum", np.cumsum)  # so that it is restored
    original = np.cumsum
    running = Exercise(
        "toy.cumsum",
        lambda x: np.cumsum(x),
        lambda rng: [Case("five", (rng.normal(size=5),))],
        ("Sum.",),
    )

    def spoils(x):
        np.cumsum = lambda x: np.zeros(len(x))
        return np.zeros(len(x))

    def breaks(x):
        np.cumsum = None
        return np.zeros(len(x))

    with registered(running):
        for attempt in (spoils, breaks):
            assert check("toy.cumsum", attempt) is not attempt
            text = " ".join(capsys.readouterr().out.split())
            assert "changes something that the course's own answer needs" in text
            np.cumsum = original


# Values that lie.


class AlwaysEqual(np.ndarray):
    __eq__ = __le__ = __lt__ = lambda self, other: np.ones(self.shape, bool)
    __sub__ = __rsub__ = __abs__ = lambda self, *other: np.zeros(self.shape)


class Copycat:
    def __array__(self, dtype=None, copy=None):
        raise AssertionError("must not be asked")

    def __eq__(self, other):
        return True

    shape, dtype, ndim = (1, 1), np.dtype(float), 2


class LyingFloat(float):
    __eq__ = __le__ = lambda self, other: True


@pytest.mark.parametrize(
    "lie",
    [
        lambda x, w, b: np.zeros((len(x), len(w))).view(AlwaysEqual),
        lambda x, w, b: Copycat(),
        lambda x, w, b: LyingFloat(3),
        lambda x, w, b: np.full((len(x), len(w)), np.nan),
        lambda x, w, b: np.full((len(x), len(w)), LyingFloat(1), dtype=object),
        lambda x, w, b: np.zeros((0, 0)),
        lambda x, w, b: np.broadcast_to(7.0, (len(x), len(w))),
        lambda x, w, b: types.SimpleNamespace(shape=(1, 1)),
    ],
)
def test_results_that_lie_are_refused(answer, lie):
    assert answer(lie).startswith("Look again")


def test_rebinding_numpys_comparisons_changes_nothing(answer, monkeypatch):
    for name in (
        "allclose",
        "isclose",
        "array_equal",
        "abs",
        "isfinite",
        "all",
        "array",
        "argwhere",
    ):
        monkeypatch.setattr(np, name, getattr(np, name))  # so that they are restored

    def learner(x, w, b):
        np.allclose = np.array_equal = np.all = lambda *args, **kwargs: True
        np.isclose = np.isfinite = lambda a, *args, **kwargs: np.ones(np.shape(a), bool)
        np.abs = lambda a: a * 0
        return np.full((len(x), len(w)), 7.0)

    text = answer(learner)
    assert "it should be" in text and "Look again" in text


def test_zeroing_the_inputs_does_not_make_zero_right(answer):
    def learner(x, w, b):
        for array in (x, w, b):
            array[...] = 0
        return np.zeros((len(x), len(w)))

    assert "The function changes its input `x`." in answer(learner)


def test_right_on_the_small_cases_only(answer, right):
    for name, rows_ in (("one", 1), ("prime", 5), ("blocks", 33)):
        text = answer(lambda x, w, b, n=rows_: right(x, w, b) + (len(x) == n) * 0.01)
        assert f"Case: {name} (" in text


def test_one_buffer_for_all_cases_is_judged_case_by_case_and_refused(answer, right):
    """The caller of the second call would find the first result changed."""
    buffer = np.empty((40, 40))

    def learner(x, w, b):
        part = buffer[: len(x), : len(w)]
        part[...] = right(x, w, b) + (len(x) == 33)  # wrong in the last case alone
        return part

    text = answer(learner)
    assert "A later call of the function changes the result of an earlier one." in text
    assert "Make a new array in each call" in text


def test_the_watch_rests_after_many_calls_and_still_sees_the_next_case(answer, right):
    """A function with very many calls is not slowed down for long; each case is watched anew."""

    def many_calls(x, w, b):
        for number in range(guard.WATCHED):
            abs(number)
        return right(x, w, b)

    assert answer(many_calls).startswith("Right:")

    def at_once(x, w, b):
        result = np.einsum("nd,kd->nk", x, w) + b if len(x) == 33 else right(x, w, b)
        for number in range(guard.WATCHED):
            abs(number)
        return result

    assert "The function uses `numpy.einsum`" in answer(at_once)


def test_what_a_thread_from_before_does_meanwhile_is_not_the_functions(answer, right):
    asked, done = threading.Event(), threading.Event()

    def other():
        asked.wait()
        math.fsum([1.0])
        done.set()

    def learner(x, w, b):
        asked.set()
        done.wait()
        return right(x, w, b)

    worker = threading.Thread(target=other)
    worker.start()
    text = answer(learner)
    worker.join()
    assert text.startswith("Right:")


def test_modules_are_as_they_were_after_a_check(answer, right):
    before = np.matmul, np.dot, math.fsum, threading.getprofile(), sys.stdout
    answer(right)
    answer(lambda x, w, b: 1 / 0)
    assert (np.matmul, np.dot, math.fsum, threading.getprofile(), sys.stdout) == before
