"""What lesson faults prints follows from what it computes.

TensorFlow's cluster is played here: the stored notebooks, which are run again and compared, have
its real processes, and so have its own tests.
"""

import json
import re
from contextlib import nullcontext
from types import SimpleNamespace
from typing import ClassVar

import pytest

from labkit import check
from labkit.course.config import config
from labkit.course.source.lesson import load
from labkit.distributed.tensorflow.claims import FOUR_NAMES, NAMES, ONE_SCRIPT
from tests.no_namespaces import forbid
from tests.notebooks.running import Run

CHAPTER = config().course_root() / "chapters" / "04_distributed"


class PlayedCluster:
    """Answers as a TfCluster in which nothing real runs; `extra` steps are applied twice."""

    extra = (700,)
    made: ClassVar[list] = []

    def __init__(self, servers, workers, config):
        self.orders = []
        self.config = config
        PlayedCluster.made.append(self)

    def __getattr__(self, name):
        return lambda *what, **options: self.orders.append((name, *what))

    def begin(self, **options):
        self.orders.append(("begin", options))

    def paused(self):
        return "worker 2"

    def run(self, steps, checkpoint=None, save_every=None):
        resumed = 200 if checkpoint else 0
        losses = [2.0 - number / steps for number in range(steps)]
        return SimpleNamespace(
            scheduled=steps - resumed,
            applied=steps,
            resumed_at=resumed,
            losses=losses,
            on_servers=[24_896, 42],
        )

    def finish(self):
        options = self.orders_of("begin")[-1][0]
        if "checkpoint" in options:
            return SimpleNamespace(
                error="UnavailableError",
                dead_servers=[0],
                applied=300,
                saved=200,
                lost=list(range(200, 300)),
            )
        steps = options["steps"]
        return SimpleNamespace(
            scheduled=steps, applied=steps + len(self.extra), twice=list(self.extra)
        )

    def orders_of(self, name):
        return [what for said, *what in self.orders if said == name]


BEGUN = "the parameter server has begun"
PLAYED_CLAIMS = {
    "first_failure": lambda cluster: "AttributeError: played",
    "with_old_api": lambda cluster: "the weight is played",
    "names_today": lambda cluster: {name: [name == "ClusterSpec", True] for name in NAMES},
    "one_script": lambda cluster: SimpleNamespace(line=7, text="server.join()", printed=[BEGUN]),
}


@pytest.mark.parametrize("id", ["tf_config", "apply_once", "cost_of_faults"])
def test_a_stub_is_not_yet_an_answer(id, capsys):
    (cell,) = [
        cell.learner
        for cell in load(CHAPTER / "source" / "faults" / "lesson.py", "7_faults.py").cells
        if f"exercise:distributed.{id}" in cell.tags
    ]
    exec(cell, {"json": json, "check": check})
    assert f"distributed.{id} is not solved yet" in " ".join(capsys.readouterr().out.split())


@pytest.fixture(scope="module")
def lesson():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labkit.distributed.tensorflow.cluster.TfCluster", PlayedCluster)
        for name, played in PLAYED_CLAIMS.items():
            patch.setattr(f"labkit.distributed.tensorflow.claims.{name}", played)
        yield Run("04_distributed", "7_faults")


@pytest.mark.night(
    instead="tests/distributed/tensorflow/test_recorded.py::test_where_none_may_start_the_record_answers"
)
def test_where_no_network_can_be_closed_the_lesson_goes_on(tmp_path, monkeypatch):
    forbid(tmp_path, monkeypatch)
    lesson = Run("04_distributed", "7_faults")
    printed = lesson.printed[lesson.cell("weights on each server")]
    assert (
        "Operation not permitted" in printed and "what follows is a record: counted by" in printed
    )
    assert "100 steps scheduled, 100 applied" in printed and "the loss falls: True" in printed
    printed = lesson.printed[lesson.cell("steps that were applied twice")]
    assert "1500 steps scheduled, 1501 applied" in printed and "twice: [700]" in printed
    rows = lesson.again('cluster.restart("server 0")')[1]["rows"]
    assert [number for _, number in rows] == [300, 200, 100, 100, 300]
    assert "It waits at: server.join()" in lesson.printed[lesson.cell("one_script(cluster)")]


def test_a_worker_is_killed_and_comes_back(lesson):
    words = "steps that were applied twice"
    assert "1500 steps scheduled, 1501 applied" in lesson.printed[lesson.cell(words)]
    cluster = lesson.namespace["cluster"]
    assert cluster.orders_of("kill")[0] == ["worker 2"] == cluster.orders_of("restart")[0]


def test_the_learners_text_is_what_the_cluster_runs_on(lesson):
    (cluster,) = PlayedCluster.made
    assert cluster.config is lesson.namespace["tf_config"]


def test_the_cluster_is_ended(lesson):
    (cluster,) = PlayedCluster.made
    assert cluster.orders[-1] == ("end",)


def test_the_loss_is_looked_at(lesson):
    words = "weights on each server"
    assert "the loss falls: True" in lesson.printed[lesson.cell(words)]


def test_the_code_shown_stands_in_the_program(lesson):
    program = [line.strip() for line in (CHAPTER / "train_tf_ps.py").read_text().splitlines()]
    lesson_of = load(CHAPTER / "source" / "faults" / "lesson.py", "7_faults.py")
    (text,) = [cell.text for cell in lesson_of.cells if "self.coordinator.schedule(" in cell.text]
    # A line of the program that is too wide for a text block stands in two.
    block = text.split("```")[1].replace("schedule(\n        ", "schedule(")
    shown = block.strip().splitlines()
    places = [program.index(line.strip()) for line in shown if line.strip()]
    assert len(places) >= 6


def test_the_shares_come_from_the_learners_function(lesson):
    words = "intervals_picture(shares"
    _, names = lesson.again(words)
    assert float(names["results"]["minutes of work"]) == pytest.approx(18.3, abs=0.05)
    assert float(names["results"]["gradients applied"]) == 1501
    assert names["shares"][1200] == pytest.approx(0.1, abs=0.01)
    assert names["shares"][120] == pytest.approx(0.34, abs=0.01)
    assert names["shares"][9600] == pytest.approx(0.36, abs=0.02)
    _, names = lesson.again(words, cost_of_faults=lambda moments, every, write: (0, every))
    assert names["shares"][1200] == 1200 / names["days"]


def test_the_verdicts_read_what_the_programs_said(lesson):
    said = lesson.printed[lesson.cell("first_failure(cluster)")]
    assert FOUR_NAMES in said and "It ends with AttributeError: played" in said
    assert "With tf.compat.v1, it prints: the weight is played" in said
    assert re.search(r"ClusterSpec +yes +yes", said) and re.search(r"Server +no +yes", said)
    said = lesson.printed[lesson.cell("one_script(cluster)")]
    assert ONE_SCRIPT in said
    assert f"It prints: {BEGUN}" in said and "It waits at: server.join()" in said


def test_a_guess_is_told_by_how_much_it_misses(lesson):
    said = lesson.printed[lesson.cell("guesses_table(guesses, results)")]
    assert "1 too low" in said


def test_faults_are_counted_by_the_servers(lesson):
    _, names = lesson.again("an answer is lost, once=False")
    rows = {name: rest for name, *rest in names["rows"]}
    assert rows["an answer is lost, once=False"] == [201, 1, False]
    for name in ("a worker dies", "an answer is lost", "a server with a copy dies"):
        assert rows[name] == [200, 0, True]


def test_the_table_says_what_a_run_came_to(lesson, monkeypatch):
    calm = lesson.namespace["calm"]
    moved = SimpleNamespace(weights=calm.weights + 1)
    outcome = SimpleNamespace(run=moved, applied=190, surplus=3)
    servers = SimpleNamespace(train=lambda *_, **__: calm)
    room = "labkit.distributed.parameter_server"
    monkeypatch.setattr(f"{room}.processes.cluster.Cluster", lambda **_: nullcontext(servers))
    monkeypatch.setattr(f"{room}.faults.run_with_fault", lambda *_, **__: outcome)
    _, names = lesson.again("an answer is lost, once=False")
    assert [rest for _, *rest in names["rows"]] == [[190, 3, False]] * 4


def test_the_table_of_a_lost_gradient_and_a_lost_answer():
    rate, gradient, w = 0.1, 4, 10
    once = w - rate * gradient
    assert once == pytest.approx(9.6) and once - rate * gradient == pytest.approx(9.2)


def test_the_example_of_two_faults(lesson):
    assert lesson.namespace["cost_of_faults"]([31, 48], 10, 2) == (12, 6)


def test_a_dead_server_costs_the_steps_since_its_checkpoint(lesson):
    words = 'cluster.restart("server 0")'
    assert "UnavailableError; it names server [0]" in lesson.printed[lesson.cell(words)]
    cluster = lesson.namespace["cluster"]
    assert cluster.orders_of("kill")[1] == ["server 0"] == cluster.orders_of("restart")[1]
    _, names = lesson.again(words)
    assert [number for _, number in names["rows"]] == [300, 200, 100, 100, 300]


def test_restarts_come_on_top():
    assert round(100 * 419 * 5 * 60 / (54 * 86_400), 1) == 2.7


@pytest.mark.parametrize("page", ["README.md", "train_tf_ps.py", "7_faults.ipynb"])
def test_whoever_starts_tensorflows_servers_is_warned(page):
    said = " ".join((CHAPTER / page).read_text("utf-8").split())
    assert "on all network interfaces" in said and "any graph that anybody sends" in said
