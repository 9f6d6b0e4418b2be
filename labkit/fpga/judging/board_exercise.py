"""Exercises whose answer is a Python function that drives a board: `f(dma, x)` and the like.

Every case gets a board of its own (board/private.py), under the unmodified pynq: nothing of it
reaches the learner's board, and nothing of one case the next. Where a real board would hang, the
board tells why, and the learner reads it with the line. The function's work is limited as that of
any other, the board's clock cycles included, so that an endless loop ends too.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any

import numpy as np

from labkit.checks.items import Case, CostLimitExceeded, Exercise, NotJudged, Refused
from labkit.checks.lesson_files import exercise
from labkit.checks.phrasing import counted, refuse_other_parameters
from labkit.checks.watch.source import learner_line
from labkit.fpga.board.design import Design
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.private import PrivateBoard, load_pynq
from labkit.fpga.errors import RTLError

UNWAITED = (
    "Your function returns while the {name} channel's transfer is not done: wait() for it. On a "
    "real board, the DMA may still be at work in a buffer that is gone."
)
NO_BUFFER = (
    "`transfer` takes a buffer, which `allocate` makes in one piece of the board's memory. This is "
    "an array of this computer's: copy it into a buffer, `buffer[:] = array`."
)
ZEROS = (
    "Words came back from the circuit, but the result holds only zeros. Copy the buffer that you "
    "received into, and only after recvchannel.wait(): the words are not there before."
)
KEPT = (
    "The result is right, but {count} left in the board's memory, which fills up this way. wait() "
    "for both channels, and return a copy, such as np.array(buffer), instead of a buffer."
)

FREED = (
    "The result is right, but it lies in a buffer that was freed: on a real board, its memory may "
    "hold somebody else's words by now. Return a copy, such as np.array(buffer), made before."
)


def board_exercise(
    id: str,
    *,
    design: Callable[..., Design],
    given: Callable[[Any], tuple],
    solution: Callable,
    oracle: Callable,
    cases: Callable[[np.random.Generator], Iterable[Case]],
    wrong: Mapping[str, Callable],
    before: Callable[..., None] | None = None,
    demand: Callable[..., str | None] | None = None,
    frees: bool = True,
    **fields: Any,
) -> Exercise:
    """An `Exercise` whose function is called as f(*given(overlay), *inputs).

    design    design(*inputs) -> what the board has in it; called often, so remember it
    given     what of the board the function gets: lambda overlay: (overlay.axi_dma_0,)
    solution  the lesson's own function, from what `labkit build` writes
    oracle    oracle(*inputs): what is right, without a board
    wrong     a function like the oracle for each misconception
    before    before(overlay, *inputs): leaves the board as earlier work on it would
    demand    demand(board, *inputs) -> what is wrong although the result is right, or None; of
              the board there are `board.machine`, with its traffic, `board.calls`, `board.sent`
    frees     whether all buffers have to be free again after the function
    fields    those of an `Exercise`
    """
    judge = BoardJudge(design, given, solution, oracle, before, demand, frees)
    defaults = {"dtype": "any", "rtol": 0.0, "atol": 0.0}

    # A function of its own, since nobody else may call the oracle during a check.
    def expected(*inputs: Any) -> Any:
        return oracle(*inputs)

    expected.__signature__ = inspect.signature(oracle)
    return exercise(
        id,
        expected,
        judge.prepared(cases),
        wrong,
        adapter=judge.adapter,
        plain=judge.plain,
        fallback=solution,
        plain_python=True,
        **(defaults | fields),
    )


@dataclass(frozen=True)
class BoardJudge:
    """Runs a learner's function on private boards; the fields are those of `board_exercise`."""

    design: Callable[..., Design]
    given: Callable[[Any], tuple]
    solution: Callable
    oracle: Callable
    before: Callable[..., None] | None
    demand: Callable[..., str | None] | None
    frees: bool

    def prepared(self, cases: Callable) -> Callable[[np.random.Generator], list[Case]]:
        """The cases, after all that takes seconds once: pynq and the designs, before any clock."""

        def ready(rng: np.random.Generator) -> list[Case]:
            made = list(cases(rng))
            with suppress(BoardError, RTLError):  # told by the adapter
                load_pynq()
                for case in made:
                    _ = self.design(*case.args).model
            return made

        return ready

    def adapter(self, answer: object) -> Callable:
        """A function of the inputs that runs the answer on a board; or Refused."""
        if not callable(answer) or isinstance(answer, type):
            kind = type(answer).__name__
            raise Refused(f"The answer is a function; this is of type {kind}.")
        refuse_other_parameters(answer, self.solution)
        return lambda *inputs: self.judged(answer, inputs)

    def plain(self, answer: Callable, *inputs: Any) -> Any:
        """What a function gives back, judged by nobody; Refused where the board refuses."""
        return self._run(answer, inputs)[0]

    def judged(self, answer: Callable, inputs: tuple) -> Any:
        """What a function gives back; Refused for what a board would not forgive."""
        result, board, fault = self._run(answer, inputs)
        if not _same(result, self.oracle(*inputs)):
            if _only_zeros(result) and _received(board):
                raise Refused(ZEROS)
            return result
        if fault is None and self.demand:
            fault = self.demand(board, *inputs)
        if fault:
            raise CostLimitExceeded(fault)
        return result

    def _run(self, answer: Callable, inputs: tuple) -> tuple[Any, PrivateBoard, str | None]:
        """The result, copied; the board; what the function did wrong with its buffers."""
        try:
            load_pynq()
            board = PrivateBoard(self.design(*inputs))
        except (BoardError, RTLError) as error:
            raise NotJudged(str(error)) from None
        with board.active() as overlay:
            if self.before:
                self.before(overlay, *inputs)
            given = self.given(overlay)
            try:
                result = answer(*given, *inputs)
            except Exception as error:
                raise _board_refusal(board, error) or _no_buffer(error) or error from None
            self._refuse_unwaited(board)
            return _copied(result), board, self._fault(result, board)

    def _fault(self, result: Any, board: PrivateBoard) -> str | None:
        if _lies_in_freed(result):
            return FREED
        left = board.machine.memory.in_use
        return KEPT.format(count=_of_buffers(left)) if self.frees and left else None

    def _refuse_unwaited(self, board: PrivateBoard) -> None:
        dma = board.machine.fabric.dma
        for channel in (dma.receive, dma.send) if dma else ():
            if channel.fault:  # halted, and nobody has asked why
                raise Refused(channel.fault)
            if channel.buffer:
                raise Refused(UNWAITED.format(name=channel.name))


def _board_refusal(board: PrivateBoard, error: Exception) -> Refused | None:
    """What the board said, with the learner's line; None for an error that is not the board's."""
    if not board.refusals or board.refusals[-1] not in str(error):
        return None
    line = learner_line(reversed([*walk_tb(error.__traceback__)]))
    if line is None:
        return Refused(board.refusals[-1])
    text = f": `{line.text}`" if line.text else "."
    return Refused(f"{board.refusals[-1]} It happens in {line}{text}")


def _no_buffer(error: Exception) -> Refused | None:
    """An array that pynq was given for a buffer; None for another error."""
    if not isinstance(error, AttributeError) or error.name != "physical_address":
        return None
    line = learner_line(reversed([*walk_tb(error.__traceback__)]))
    return Refused(NO_BUFFER if line is None else f"{NO_BUFFER} It happens in {line}.")


def _copied(result: Any) -> Any:
    """Plain arrays in the place of buffers, which are gone with the board."""
    if isinstance(result, np.ndarray):
        return np.array(result)
    if type(result) in (tuple, list):
        return type(result)(_copied(one) for one in result)
    return result


def _lies_in_freed(result: Any) -> bool:
    """Whether it is, or holds, an array whose memory is that of a buffer that was freed."""
    if type(result) in (tuple, list):
        return any(map(_lies_in_freed, result))
    while isinstance(result, np.ndarray):
        if getattr(result, "freed", False):
            return True
        result = result.base
    return False


def _same(result: Any, expected: Any) -> bool:
    several = isinstance(expected, tuple)
    if several and (not isinstance(result, tuple | list) or len(result) != len(expected)):
        return False
    pairs = zip(result, expected, strict=True) if several else [(result, expected)]
    try:
        return all(np.array_equal(np.asarray(one), np.asarray(other)) for one, other in pairs)
    except Exception:  # a result that is no array at all
        return False


def _only_zeros(result: Any) -> bool:
    return isinstance(result, np.ndarray) and result.size > 0 and not result.any()


def _received(board: PrivateBoard) -> bool:
    return any(words.any() for words in board.received)


def _of_buffers(count: int) -> str:
    return f"{counted(count, 'buffer')} {'is' if count == 1 else 'are'}"
