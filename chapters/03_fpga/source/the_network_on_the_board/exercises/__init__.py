"""The exercises of lesson the_network_on_the_board: a job, `last`, who is done, what differs."""

from labkit_lessons.fpga.the_network_on_the_board.exercises import (
    add_tlast,
    run_job,
    what_differs,
    who_is_done,
)

EXERCISES = [
    run_job.run_job,
    add_tlast.add_tlast,
    who_is_done.who_is_done,
    what_differs.what_differs,
]
