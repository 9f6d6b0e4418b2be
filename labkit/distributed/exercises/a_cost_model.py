"""The exercises of lesson a_cost_model: a link's fit, what overlap hides, and a step's terms."""

from labkit.distributed.exercises.cost_model_fit import fit_link
from labkit.distributed.exercises.cost_model_hidden import hidden_seconds
from labkit.distributed.exercises.cost_model_step import hybrid_step

EXERCISES = [fit_link, hidden_seconds, hybrid_step]
