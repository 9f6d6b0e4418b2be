"""What an exception says, as a part of a sentence of ours."""


def in_a_line(error: Exception) -> str:
    """What an exception says, to be put between brackets: never empty, never two lines."""
    said = str(error).strip() or type(error).__name__
    first_line = said.splitlines()[0]
    return first_line.rstrip(":. ")
