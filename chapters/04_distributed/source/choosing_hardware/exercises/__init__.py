"""The exercises of lesson choosing_hardware: how many machines, what binds, and the cheapest."""

from labkit_lessons.distributed.choosing_hardware.exercises.cheapest import cheapest
from labkit_lessons.distributed.choosing_hardware.exercises.count import machines_needed
from labkit_lessons.distributed.choosing_hardware.exercises.step import step_parts

EXERCISES = [machines_needed, step_parts, cheapest]
