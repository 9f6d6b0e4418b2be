"""A toy exercise, prediction and quiz, registered alone, and the text that `check` answers with."""

import numpy as np
import pytest

from labkit.checks import record
from labkit.checks.items import Case, Exercise, Misconception, Prediction, Quiz
from labkit.checks.judge import check
from labkit.checks.registry import registered
from labkit.provenance import counted

SIZES = [
    ("one", 1, 1, 1),
    ("prime", 5, 3, 7),
    ("ragged", 9, 4, 17),
    ("flat", 1, 8, 2),
    ("square", 4, 4, 4),
    ("blocks", 33, 18, 34),
]


def oracle(x, w, b):
    return x @ w.T + b


def cases(rng):
    for name, n, d, k in SIZES:
        yield Case(name, (rng.normal(size=(n, d)), rng.normal(size=(k, d)), rng.normal(size=k)))


LINEAR = Exercise(
    id="toy.linear",
    oracle=oracle,
    cases=cases,
    hints=("Look at the shapes.", "Sum over d.", "y[n, k] = sum of x[n, d] w[k, d], plus b[k]"),
    misconceptions=(
        Misconception("The bias is never added.", lambda x, w, b: x @ w.T),
        Misconception("w is used without its transpose.", lambda x, w, b: x @ w + b),
    ),
    forbidden=(
        "numpy.einsum",
        "numpy.dot",
        "numpy.matmul",
        "numpy.ndarray.dot",
        "numpy.linalg",
        "math.fsum",
        "torch.nn.functional.linear",
    ),
    cost=lambda: [("multiply-adds", counted(1234, "FLOP", "the algorithm"))],
)
BACKWARD = Exercise(
    id="toy.backward",
    oracle=lambda dy, x: (dy.T @ x, dy.sum(axis=0)),
    cases=lambda rng: [
        Case(name, (rng.normal(size=(n, k)), rng.normal(size=(n, d)))) for name, n, d, k in SIZES
    ],
    hints=("Sum over n.",),
    outputs=("dw", "db"),
    misconceptions=(
        Misconception("db is the mean.", lambda dy, x: (dy.T @ x, dy.mean(axis=0))),
        Misconception("dw is transposed.", lambda dy, x: (x.T @ dy, dy.sum(axis=0))),
    ),
)
PREDICTION = Prediction("toy.bytes", "How many megabytes are moved?", "MB", 1, 500)
QUIZ = Quiz(
    "toy.why",
    "Why is it slow?",
    {"a": "too much memory traffic", "b": "too few cores"},
    "a",
    {"a": "Each value is read once and used once.", "b": "The cores wait."},
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_HOME", str(tmp_path))
    monkeypatch.delenv("LABKIT_PROGRESS", raising=False)
    monkeypatch.setattr(record, "_sentences_shown", set())
    return tmp_path


@pytest.fixture(autouse=True)
def toys():
    with registered(LINEAR, BACKWARD, PREDICTION, QUIZ) as registry:
        yield registry


@pytest.fixture
def answer(capsys):
    """What `check` prints, as one line; asserts that it returns f if and only if it says Right."""

    def ask(f, id="toy.linear"):
        returned = check(id, f)
        text = " ".join(capsys.readouterr().out.split())
        assert (returned is f) == text.startswith("Right:"), text
        args = cases(np.random.default_rng(1)).__next__().args
        if id == "toy.linear":
            assert np.allclose(returned(*args), oracle(*args)), "it must be a working function"
        return text

    return ask


@pytest.fixture
def exercises():
    return {"linear": LINEAR, "backward": BACKWARD}


def right(x, w, b):
    return (x[:, None, :] * w).sum(axis=2) + b


@pytest.fixture(name="right")
def the_right_function():
    return right
