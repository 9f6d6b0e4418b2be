"""The exercises of lesson a_cost_model: a link's fit, and two orders compared."""

from labkit_lessons.distributed.a_cost_model.exercises.fit import fit_link
from labkit_lessons.distributed.a_cost_model.exercises.order import rank_correlation

EXERCISES = [fit_link, rank_correlation]
