"""The exercises of lesson processes_and_collectives: a share, and three with messages."""

from labkit_lessons.distributed.processes_and_collectives.exercises import my_share, with_messages

EXERCISES = [
    my_share.my_share,
    with_messages.pass_on,
    with_messages.broadcast,
    with_messages.gather_all_reduce,
]
