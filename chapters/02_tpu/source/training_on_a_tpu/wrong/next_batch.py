"""Wrong ideas of tpu.next_batch: order[E,N], finished steps, batch -> rows[batch].

They may raise, as a learner's would.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np


def steps_of(order, batch):
    """The steps of an epoch, as they should be counted."""
    return order.shape[1] // batch


def rows_at(order, epoch, first, batch):
    """A batch of neighbours in the epoch's row."""
    return order[epoch, first : first + batch]


def in_epochs(rows: Callable) -> Callable:
    """rows(order, epoch, place, batch): of the right epoch, and the step's place in it."""

    @wraps(rows)
    def idea(order, step, batch):
        return rows(order, *divmod(step, steps_of(order, batch)), batch)

    return idea


@in_epochs
def first_epoch(order, epoch, place, batch):
    """Every epoch has the order of the first."""
    return rows_at(order, 0, place * batch, batch)


@in_epochs
def epoch_begins_again(order, epoch, place, batch):
    """The place in the epoch is forgotten."""
    return rows_at(order, epoch, 0, batch)


def remainder_kept(order, step, batch):
    """The epochs follow on one another, with all their images."""
    first = step * batch
    return order.ravel()[first : first + batch]


def place_in_images(order, step, batch):
    """An epoch has all its images."""
    N = order.shape[1]
    epoch, first = divmod(step * batch, N)
    return rows_at(order, epoch, first, batch)


def epoch_by_images(order, step, batch):
    """The epoch from the images shown, though each epoch drops some."""
    N = order.shape[1]
    epoch = step * batch // N
    place = step % steps_of(order, batch)
    first = place * batch
    return rows_at(order, epoch, first, batch)


def place_by_images(order, step, batch):
    """The epoch by its steps, the place by all images of an epoch."""
    epoch = step // steps_of(order, batch)
    first = step * batch % order.shape[1]
    return rows_at(order, epoch, first, batch)


@in_epochs
def second_at_most(order, epoch, place, batch):
    """After the first epoch, all have the order of the second."""
    return rows_at(order, min(epoch, 1), place * batch, batch)


@in_epochs
def two_in_turn(order, epoch, place, batch):
    """The first and the second epoch take turns."""
    return rows_at(order, min(epoch % 2, len(order) - 1), place * batch, batch)


@in_epochs
def first_images_dropped(order, epoch, place, batch):
    """What fills no batch is left out at the beginning of an epoch."""
    return rows_at(order, epoch, order.shape[1] % batch + place * batch, batch)


@in_epochs
def from_the_end(order, epoch, place, batch):
    """The batches of an epoch come from its last one to its first."""
    return rows_at(order, epoch, order.shape[1] - (place + 1) * batch, batch)


def epoch_too_late(order, step, batch):
    """The first step of an epoch still counts to the one before."""
    steps = steps_of(order, batch)
    epoch = max(step - 1, 0) // steps
    place = step - epoch * steps
    first = place * batch
    return rows_at(order, epoch, first, batch)


def rounded_up(order, step, batch):
    """The images that fill no batch make a step."""
    steps = -(-order.shape[1] // batch)
    epoch, place = divmod(step, steps)
    first = place * batch
    return rows_at(order, epoch, first, batch)


def to_the_nearest(order, step, batch):
    """A last batch that is more than half full makes a step."""
    steps = round(order.shape[1] / batch)
    epoch, place = divmod(step, steps)
    first = place * batch
    return rows_at(order, epoch, first, batch)


@in_epochs
def places_of_one(order, epoch, place, batch):
    """Batches begin one image apart."""
    return rows_at(order, epoch, place, batch)


def runs_out(order, step, batch):
    """Epoch 0 never ends."""
    first = step * batch
    return rows_at(order, 0, first, batch)


def second_epoch_only(order, step, batch):
    """Counts one wrap and no more."""
    steps = steps_of(order, batch)
    if step < steps:
        return rows_at(order, 0, step * batch, batch)
    return rows_at(order, 1, (step - steps) * batch, batch)


def interleaved(order, step, batch):
    """The images of an epoch are dealt out to its steps."""
    steps = steps_of(order, batch)
    epoch, place = divmod(step, steps)
    return order[epoch, place::steps][:batch]


def places(order, step, batch):
    """Where the images stand."""
    place = step % steps_of(order, batch)
    first = place * batch
    return np.arange(first, first + batch)


def step_as_epoch(order, step, batch):
    """A row for each step."""
    return rows_at(order, step, 0, batch)


def epoch_and_place_swapped(order, step, batch):
    """divmod, read the wrong way round."""
    place, epoch = divmod(step, steps_of(order, batch))
    first = place * batch
    return rows_at(order, epoch, first, batch)
