"""The exercises of lesson choosing_hardware: how many machines, what binds, and the cheapest."""

from labkit.distributed.exercises.choosing_cheapest import cheapest
from labkit.distributed.exercises.choosing_count import machines_needed
from labkit.distributed.exercises.choosing_step import step_parts

EXERCISES = [machines_needed, step_parts, cheapest]
