"""What a launch refuses, or what ended it."""


class LaunchError(RuntimeError):
    """Processes that could not be started, failed, or did not end; the text says which and why."""


class NoClosedNetwork(LaunchError):
    """There is no network without a way out here, and so nothing was started; the text says why."""


class LaunchInterrupted(KeyboardInterrupt):
    """An interrupted launch, all of whose ranks were ended; the text says where each was."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: whoever interrupts a cell knows where it was."""
        return [f"KeyboardInterrupt: {self}"]
