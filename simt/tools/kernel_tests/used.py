"""What of the machine a test has used so far, and what it has checked."""


class Used:
    """One for the process; `reset` before each test."""

    launches = 0
    refusals = 0  # those that the test expected
    checks = 0  # that held, after a launch
    names: frozenset[str] = frozenset()  # of cuda.…
    words_read = False  # of a refusal, since the last check or launch

    @classmethod
    def reset(cls) -> None:
        cls.launches = cls.refusals = cls.checks = 0
        cls.names, cls.words_read = frozenset(), False

    @classmethod
    def as_dict(cls) -> dict:
        numbers = {name: getattr(cls, name) for name in ("launches", "refusals", "checks")}
        return numbers | {"names": sorted(cls.names)}
