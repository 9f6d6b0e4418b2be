"""What an exception says, as a part of a sentence of ours."""


def in_a_line(error: Exception) -> str:
    """What an exception says, to be put between brackets: never empty, never two lines."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(":. ")
