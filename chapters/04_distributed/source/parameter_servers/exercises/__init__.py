"""The exercises of lesson parameter_servers: a step through two servers, the rule, staleness."""

from labkit_lessons.distributed.parameter_servers.exercises import (
    may_begin,
    sharded_servers,
    staleness,
)

EXERCISES = [sharded_servers.sharded_servers, may_begin.may_begin, staleness.staleness]
