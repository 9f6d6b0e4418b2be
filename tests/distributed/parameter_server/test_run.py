"""What a run says of a training, from notes that are made up here."""

import torch

from labkit.distributed.parameter_server.arrivals import Arrivals, Event
from labkit.distributed.parameter_server.notes import Note
from labkit.distributed.parameter_server.run import run_of


def note(worker, step, version, moment, **more):
    return Note(worker, step, version, more.get("staleness", 0), 0, float(version), 8, moment)


ASYNCHRONOUS = [note(1, 0, 1, 0.5), note(0, 0, 2, 0.7, staleness=1), note(1, 1, 3, 0.9)]
TOGETHER = [note(0, 0, 1, 0.5), note(1, 0, 1, 0.5), note(0, 1, 2, 0.9), note(1, 1, 2, 0.9)]


def test_each_list_has_an_entry_for_each_applied_gradient():
    run = run_of([(ASYNCHRONOUS, 2, torch.ones(2)), (ASYNCHRONOUS[:2], 1, torch.zeros(1))])
    assert run.workers == (1, 0, 1) and run.steps == (0, 0, 1) and run.losses == (1, 2, 3)
    assert run.samples == (8, 16, 24) and run.staleness == (0, 1, 0)
    assert run.moments == (0.5, 0.7, 0.9) and run.seconds == 0.9
    assert (run.pushes, run.updates, run.repeated) == (3, 3, 3)
    assert run.weights.tolist() == [1, 1, 0] and [len(log) for log in run.logs] == [3, 2]


def test_means_count_once():
    run = run_of([(TOGETHER, 0, torch.ones(2))])
    assert (run.pushes, run.updates) == (4, 2)


def test_virtual_moments_are_those_of_the_last_push_of_an_update():
    order = [(0.0, 0, "pull"), (0.0, 1, "pull"), (1.0, 0, "push"), (4.0, 1, "push")]
    order += [(4.0, 0, "pull"), (4.0, 1, "pull"), (5.0, 0, "push"), (8.0, 1, "push")]
    arrivals = Arrivals(tuple(Event(*event) for event in order))
    assert run_of([(TOGETHER, 0, torch.ones(2))], arrivals).moments == (4, 4, 8, 8)
    apart = [note(0, 0, 1, 0.1), note(1, 0, 2, 0.2), note(0, 1, 3, 0.3)]
    assert run_of([(apart, 0, torch.ones(2))], arrivals).moments == (1, 4, 5)


def test_a_run_without_any_push():
    run = run_of([([], 0, torch.ones(2))])
    assert run.pushes == run.updates == 0 and run.seconds == 0.0 and run.samples == ()
