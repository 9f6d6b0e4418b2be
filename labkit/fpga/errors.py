"""`RTLError`: what is wrong with a hardware description, in a sentence with file and line."""


class RTLError(Exception):
    """A SystemVerilog source that a tool refuses, or a simulation that cannot go on.

    The text says what is wrong, in which file and line, and what to do. `line` is the line of the
    learner's source, counted from 1, or None where the whole module is meant.
    """

    def __init__(self, sentence: str, line: int | None = None) -> None:
        super().__init__(sentence)
        self.line = line
