"""The exercises of lesson a_cost_model: a link's fit, and two orders compared."""

from labkit.distributed.exercises.cost_model_fit import fit_link
from labkit.distributed.exercises.cost_model_order import rank_correlation

EXERCISES = [fit_link, rank_correlation]
