"""`RTLError`: what is wrong with a hardware description, in a sentence with file and line.

Its kind `ToolError` says that a tool could not judge it, and `DoesNotEnd` how far a run has come.
"""


class RTLError(Exception):
    """A SystemVerilog source that a tool refuses, or a simulation that cannot go on.

    The text says what is wrong, in which file and line, and what to do. `line` is the line of the
    learner's source, counted from 1, or None where the whole module is meant.
    """

    def __init__(self, sentence: str, line: int | None = None) -> None:
        super().__init__(sentence)
        self.line = line


class DoesNotEnd(RTLError):
    """A run in which the words that it waits for do not come.

    run   the `Simulation` up to where it was given up
    """

    def __init__(self, sentence: str, run: object) -> None:
        super().__init__(sentence)
        self.run = run


class ToolError(RTLError):
    """A tool could not do its work: this says nothing about the source."""


class ToolMissing(ToolError):
    """A tool is not there; the text says how to install it."""


class OutOfTime(ToolError):
    """A tool did not finish in time, and was stopped."""
