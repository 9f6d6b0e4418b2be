"""The exercises of lesson choosing_hardware: how many machines, what binds, and the cheapest."""

from labkit_lessons.distributed.choosing_hardware.exercises import cheapest, count, step

EXERCISES = [
    count.machines_needed,
    step.step_parts,
    cheapest.cheapest,
]
