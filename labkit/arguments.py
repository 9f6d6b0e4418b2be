"""What functions are given: of the right kind, or a sentence that names the argument.

Dense: there is one function, and its sentence has all its values.
"""


def whole(what: str, value: object, least: int = 1, error: type[Exception] = ValueError) -> int:
    """The number; raises `error` where it is no whole number from `least` on, or True or False."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise error(f"{what} is a whole number from {least} on, not {value!r}.")
    return value
