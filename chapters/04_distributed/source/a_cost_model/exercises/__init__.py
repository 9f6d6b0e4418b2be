"""The exercises of lesson a_cost_model: a link's fit, and two orders compared."""

from labkit_lessons.distributed.a_cost_model.exercises import fit, order

EXERCISES = [
    fit.fit_link,
    order.rank_correlation,
]
