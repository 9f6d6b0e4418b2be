"""What lesson parameter_servers prints follows from what it computes.

Here its cluster is one process, which goes through the replayed orders by itself. So what the
notebook has stored, from six real processes, is held against another computation of the same.
"""

from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from labkit.course.config import config
from labkit.distributed.parameter_server.arrivals import arrival_order
from labkit.distributed.parameter_server.processes import cluster
from labkit_lessons.distributed.parameter_servers import throughput
from tests.night import others_by_night
from tests.notebooks.running import Run

LESSON = "6_parameter_servers"


class OneProcess:
    """The methods of a Cluster that the lesson calls."""

    def __init__(self, servers, workers):
        self.ended = False

    def train(self, job, rule, steps=48, *, rate, seconds, duration=None, replay_seed=0):
        assert not self.ended
        workers = len(seconds)
        w = job.start()
        finished, pulled, waiting = [0] * workers, {}, []
        version = 0
        run = SimpleNamespace(losses=[], moments=[], workers=[], steps=[], staleness=[], leads=[])
        for event in arrival_order(seconds, steps, rule, replay_seed).events:
            worker = event.worker
            if event.kind == "pull":
                pulled[worker] = w.clone(), version, finished[worker] - min(finished)
                continue
            at, before, lead = pulled[worker]
            loss, gradient, _ = job.gradient(at, worker, finished[worker], workers)
            finished[worker] += 1
            step = finished[worker] - 1
            waiting.append((worker, loss, gradient, version - before, lead, step))
            if rule.together and len(waiting) < workers:
                continue
            w -= rate * sum(one[2] for one in waiting) / len(waiting)
            version += 1
            for worker, loss, _, stale, lead, step in sorted(waiting, key=lambda one: one[0]):
                run.losses.append(loss)
                run.moments.append(event.moment)
                run.workers.append(worker)
                run.steps.append(step)
                run.staleness.append(stale)
                run.leads.append(lead)
            waiting = []
        notes = [SimpleNamespace(staleness=stale) for stale in run.staleness]
        run.logs = [notes, notes]
        run.weights, run.pushes, run.seconds = w, len(run.losses), run.moments[-1]
        return run

    def end(self):
        self.ended = True


@pytest.fixture(scope="module")
def lesson():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "Cluster", OneProcess)
        return Run("04_distributed", LESSON)


@pytest.fixture(scope="module")
def stored():
    """What each cell of the stored solution has printed, by its code."""
    path = config().course_root() / "chapters/04_distributed/solutions" / f"{LESSON}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    return {cell.source: cell.outputs for cell in cells if cell.cell_type == "code"}


def said_by(outputs):
    found = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return "".join("".join(one).rstrip("\n") + "\n" for one in found)


CELLS = ["one big batch", "def bytes_sent", "def learns"]
PRINT = "chapters/04_distributed/6_parameter_servers.ipynb"


@pytest.mark.parametrize("words", others_by_night(CELLS, PRINT))
def test_six_processes_print_what_one_computes(lesson, stored, words):
    (outputs,) = (one for code, one in stored.items() if words in code)
    printed = [line.rstrip() for line in lesson.printed[lesson.cell(words)].splitlines()]
    for line in said_by(outputs).splitlines():
        assert line.rstrip() in printed


def test_the_pictures_are_those_of_one_process(lesson, stored):
    words = "pictures.losses_picture"
    (outputs,) = (one for code, one in stored.items() if words in code)
    assert said_by(outputs) == lesson.printed[lesson.cell(words)]


def test_the_rule_in_the_middle_is_the_learners(lesson):
    words = "class YourBound"
    assert "begins with a lead of 2 at most: 25 steps" in lesson.printed[lesson.cell(words)]
    said, _ = lesson.again(words, may_begin=lambda finished, bound: finished >= 0)
    assert "a lead of 2 at most: 62 steps" in said


def test_formulas_and_arrivals_stand_side_by_side(lesson):
    words = "14_000"
    _, names = lesson.again(words)
    for _, duration, count, formula, constant in names["rows"]:
        assert float(constant) == 100  # n / s = 4 / 0.04
        assert float(count) == pytest.approx(float(formula), rel=0.03 if duration < 1 else 0.01)
    assert [round(float(row[3])) for row in names["rows"][3:6]] == [138, 104, 100]
    short, _, long = (float(row[2]) for row in names["rows"][3:6])
    assert 1 - 100 / short == pytest.approx(0.25, abs=0.02) and long == pytest.approx(100, rel=0.01)
    _, names = lesson.again(words, bounded=lambda *_: 7.0)
    assert {float(row[3]) for row in names["rows"][3:6]} == {7}


def test_staleness_and_one_big_batch_are_compared(lesson):
    words = "one big batch"
    assert lesson.printed[lesson.cell(words)].count("True") == 2
    assert "largest lead at a step's beginning: 5" in lesson.printed[lesson.cell(words)]
    said, _ = lesson.again(words, staleness=lambda *_: np.zeros(400), Cluster=OneProcess)
    assert "the servers': False" in said
    other = OneProcess(2, 4)
    other.train = lambda *args, **options: OneProcess(2, 4).train(*args, **options | {"rate": 0.3})
    said, _ = lesson.again(words, Cluster=lambda **_: other)
    assert "within 1e-6: False" in said


def test_the_largest_rate_is_one_that_learns(lesson):
    assert float(lesson.namespace["results"]["learning rate"]) == 0.1
    by_hand = (10 + 3 * 15) / 0.4  # the slow worker's steps, and those of three others
    assert float(lesson.namespace["results"]["bounded rate"]) == pytest.approx(by_hand)
    words = "figures.guesses"
    runs = dict(lesson.namespace["runs"])
    runs["asynchronous", 0.1] = runs["asynchronous", 0.2]
    _, names = lesson.again(words, runs=runs)
    assert float(names["results"]["learning rate"]) == 0.05


def test_what_jumps_does_not_learn(lesson):
    learns = lesson.namespace["learns"]
    assert learns([2.3] * 40 + [1.5] * 40)
    assert not learns([2.3] * 40 + [1.7] * 40)
    assert not learns([2.3] * 39 + [3.5] + [1.5] * 40)
    assert not learns([2.3, float("inf"), *[float("nan")] * 80])


def test_the_margins_are_wide(lesson):
    """No machine's arithmetic decides: every training is far from both limits."""
    runs = lesson.namespace["runs"]
    names = lesson.namespace
    trained = {key: run.losses for key, run in runs.items()}
    for name, job, rate, batches in names["controls"]:
        trained[name, rate] = names["one_process"](job, rate, batches)[1]
    for key, losses in trained.items():
        if max(losses) < 2.6:
            assert np.mean(losses[-40:]) < 1.5, key
        else:
            assert not max(losses) < 4, key


def test_the_claim_is_decided_by_the_runs(lesson):
    words = "def learns"
    rows = lesson.namespace["rows"]
    learnt = [row[2:4] for row in rows]
    trained = [[True, False], [False, False], [True, True], [True, True]]
    controls = [[False, None], [True, None], [False, None], [True, None]]
    assert learnt == trained + controls
    assert float(rows[3][4]) > 3 * float(rows[0][4])
    always = SimpleNamespace(end=lambda: None)
    always.train = lambda *_, rate, **__: SimpleNamespace(
        losses=[rate + 1.45] * 40, moments=[0.0] * 40, workers=[0], steps=[0], pushes=40, seconds=2
    )
    _, names = lesson.again(words, cluster=always)
    assert [row[2] for row in names["rows"][:4]] == [False, False, True, True]
    assert {float(row[4]) for row in names["rows"][:4]} == {40}


def test_the_control_takes_the_batches_of_the_asynchronous_training(lesson):
    batches = lesson.namespace["controls"][-1][-1]
    steps = [[step for worker, step, _ in batches if worker == one] for one in range(4)]
    assert steps == [list(range(count)) for count in (123, 123, 123, 31)]


def test_a_server_carries_more_than_a_rank_of_a_ring(lesson):
    _, names = lesson.again("def bytes_sent")
    size = 4 * 24_938
    for n, server, server_formula, rank, rank_formula in names["rows"]:
        assert float(server) == float(server_formula) == n * size / 2
        assert float(rank) == pytest.approx(2 * (n - 1) / n * size, abs=16)
        assert float(rank_formula) == 2 * (n - 1) / n * size
    said, _ = lesson.again("def bytes_sent", sharded_servers=lambda *_, rate: None)
    assert said != lesson.printed[lesson.cell("def bytes_sent")]


def test_as_many_servers_as_workers_send_what_a_ring_sends():
    """On the workers' own machines: a part to each other server, and one to each other worker."""
    for n in (2, 4, 16):
        part = 1 / n  # of S, on each server
        machine = (n - 1) * part + (n - 1) * part
        assert machine == pytest.approx(2 * (n - 1) / n)


def test_the_numbers_of_the_text():
    seconds = [0.010, 0.010, 0.010, 0.040]
    assert throughput.asynchronous(seconds) == pytest.approx(325)
    assert throughput.synchronous(seconds) == pytest.approx(100)
