"""What a launch refuses, or what ended it."""


class LaunchError(RuntimeError):
    """Processes that could not be started, failed, or did not end; the text says which and why."""
