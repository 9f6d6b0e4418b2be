"""What is open in a text of SystemVerilog: its blocks, and the process that a line is in."""

import re

TOKEN = re.compile(r"`?[A-Za-z_$][\w$]*|[^\s\w]")
PROCESSES = {"always_ff", "always_comb", "always", "always_latch", "initial"}
OPENS = {
    "begin": "end",
    "module": "endmodule",
    "function": "endfunction",
    "generate": "endgenerate",
}
OPENS |= dict.fromkeys(("case", "casez"), "endcase")
# With these words something other than a statement of a process begins.
BEGIN_ANEW = {*PROCESSES, "assign", "logic", "endmodule", "for"}


def tokens(text: str) -> list[str]:
    """The words and signs of a text, without its numbers and blanks."""
    return TOKEN.findall(text)


class Structure:
    """What is open before a line: blocks, and the process that the line may be in."""

    def __init__(self, lines: list[str], line: int) -> None:
        self.blocks: list[tuple[str, int]] = []  # the words that opened them, and their lines
        self.process: tuple[str, int] | None = None
        self.ended: tuple[str, int] | None = None  # the latest process, if nothing came after it
        self.header = 0  # the line of the latest `if`, `else` or process
        self._depth = 0  # of blocks, where the process began
        self._parentheses = 0
        self._through = False  # the process's statement has ended: only an `else` goes on with it
        for number, text in enumerate(lines[: line - 1], start=1):
            for word in tokens(text):
                self.take(word, number)

    def take(self, word: str, number: int) -> None:
        """The next word, and its line."""
        self.settle(word)
        self._through = False
        self._parentheses += (word == "(") - (word == ")")
        if word in PROCESSES:
            self.process = (word, number)
            self._depth = len(self.blocks)
        if word in PROCESSES or word in ("if", "else"):
            self.header = number
        if word in OPENS:
            self.blocks.append((word, number))
        elif self.blocks and word == OPENS[self.blocks[-1][0]]:
            self.blocks.pop()
            self._end_process()
        elif word == ";" and not self._parentheses:
            self._end_process()
        elif word in BEGIN_ANEW:
            self.ended = None

    def _end_process(self) -> None:
        self._through = self.process is not None and len(self.blocks) == self._depth

    def settle(self, word: str) -> None:
        """A process ends where its statement does, and this word does not go on with it."""
        if self._through and word != "else":
            self.ended = self.process
            self.process = None
