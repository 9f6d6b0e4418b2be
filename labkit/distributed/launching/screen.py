"""What ranks print, as the launching process shows it: whole lines, each behind its rank's number.

[rank 0] epoch 1, loss 2.31
"""

import sys
from collections.abc import Sequence

from labkit.distributed.launching.processes import RankProcess


class Screen:
    """Shows the lines of ranks, as they come or in the order of the ranks.

    live   False: the lines of rank 0 as they come, those of rank 1 as soon as rank 0 has ended, and
           so on. So the same program always shows the same. True: those of all ranks as they come
    """

    def __init__(self, ranks: Sequence[RankProcess], live: bool = False) -> None:
        self.ranks = ranks
        self.live = live
        self.shown = [0] * len(ranks)  # bytes of what each rank has said
        self.turn = 0  # the first rank of which more may come
        self.returned: int | None = None  # whose line the next one would replace

    def show(self) -> None:
        """What has come, and may be shown by now."""
        text = ""
        if self.live:
            text = "".join(map(self._lines, self.ranks))
        while not self.live and self.turn < len(self.ranks):
            rank = self.ranks[self.turn]
            text += self._lines(rank)
            if rank.running:
                break
            text += self._rest(rank)
            self.turn += 1
        _print(text)

    def show_all(self) -> None:
        """The lines that are left, rank after rank."""
        _print("".join(self._lines(rank) + self._rest(rank) for rank in self.ranks))

    def _lines(self, rank: RankProcess) -> str:
        """The lines of a rank that are whole, and were not shown.

        A bar of tqdm returns to the beginning of its line, where its next state replaces it.
        """
        start = self.shown[rank.number]
        but_last = len(rank.printed) - 1  # the last may be of "\r\n"
        returned = rank.printed.rfind(b"\r", start, but_last)
        whole = max(rank.printed.rfind(b"\n", start), returned) + 1
        self.shown[rank.number] = max(start, whole)
        text = ""
        for line in rank.printed[start:whole].splitlines(keepends=True):
            if line != b"\r":
                end = "\r" if line.endswith(b"\r") else "\n"
                text += self._line(rank, line.rstrip(b"\r\n"), end)
        return text

    def _rest(self, rank: RankProcess) -> str:
        """The last line, which has no end."""
        rest = rank.printed[self.shown[rank.number] :].rstrip(b"\r")
        self.shown[rank.number] = len(rank.printed)
        return self._line(rank, rest, "\n") if rest else ""

    def _line(self, rank: RankProcess, line: bytes, end: str) -> str:
        above = "" if self.returned in (None, rank.number) else "\n"
        self.returned = rank.number if end == "\r" else None
        return f"{above}[rank {rank.number}] {line.decode('utf-8', 'replace')}{end}"


def _print(text: str) -> None:
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()
