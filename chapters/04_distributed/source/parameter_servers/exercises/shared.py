"""What no answer of lesson parameter_servers may call."""

READY_MADE = (
    "labkit.distributed.parameter_server",
    "labkit_lessons.distributed.parameter_servers",
)
