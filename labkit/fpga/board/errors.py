"""`BoardError`: what a board refuses, or where a real one would hang, in a sentence."""


class BoardError(Exception):
    """The text says what is wrong, where, and what to do. It is sent to the client as it is."""
