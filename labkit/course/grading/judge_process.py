"""The process that finds verdicts: it has the course's answers, and draws the cases.

It is started in a closed room of its own. Of a function it gets results, as data, from the process
that the student's code runs in; of a text or a kernel all of it, as data, too. What has to be
called here all the same, since its judge is built around it, arrives in a pickle: the judge of
ranks opens it in the processes of the ranks alone, all others open it here ("together"), and then
this process is used for nothing else.

    {"judge": id, "answer": description, "seed": text}
        -> {"ask": {...}} for the results of a function, then {"word": ..., "text": ..., ...}
    {"items": {"quizzes": {id: answer}, "predictions": {id: value}}} -> what is known of them
"""

import base64
import inspect
import linecache
import pickle
import sys
from dataclasses import replace
from itertools import count
from typing import Any, BinaryIO

from labkit.checks.items import Case, Exercise, Prediction, Quiz
from labkit.checks.judge import ANSWERS, judged, run_here, seeded_cases
from labkit.checks.registry import UnknownId, registry
from labkit.checks.render import Message
from labkit.checks.watch import CaseRun, Hit, Line, OwnAnswer, WatchedRun
from labkit.course.grading import data
from labkit.course.grading.calls import Called, asked
from labkit.course.grading.student_process import take_pipes

APART, IN_CALLS, AS_DATA, IN_RANKS = "apart", "apart, call by call", "as data", "in ranks"
TOGETHER = "together with its judge"
_number = count()


def main() -> None:
    """Serve whoever started this process, until there is no more to do."""
    refuse_readers()
    requests, replies = take_pipes()
    while True:
        try:
            request = data.receive(requests)
        except data.Broken:
            return
        if "judge" in request:
            data.send(replies, verdict_on(request, requests, replies))
        else:
            data.send(replies, items(request["items"]))


def refuse_readers() -> None:
    """No other process of this user may read or change this one's memory: ranks are such."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def way_of(exercise: Exercise) -> str:
    """How an answer to this exercise is judged: where its code runs, and what crosses."""
    if exercise.adapter is None:
        return APART
    owner = getattr(exercise.adapter, "__self__", None)
    if isinstance(exercise.fallback, str) or type(owner).__name__ == "KernelJudge":
        return AS_DATA
    return IN_RANKS if type(owner).__name__ == "RankJudge" else IN_CALLS


def verdict_on(request: dict, requests: BinaryIO, replies: BinaryIO) -> dict:
    """The verdict on one answer, as data."""
    try:
        exercise = registry().find(request["judge"], Exercise)
    except UnknownId as error:
        return {"word": "Not judged", "text": str(error), "cause": "", "way": ""}
    way = way_of(exercise)
    asks = Asks(exercise, requests, replies)
    try:
        message, more = _message(exercise, way, request, asks)
        if more:
            way = TOGETHER
            message, _ = _message(exercise, way, request, asks)
    except (data.Broken, ImportError, AttributeError, pickle.UnpicklingError) as error:
        message = Message("Not judged", f"The answer could not be taken over: {error}.")
    return {"word": message.word, "text": str(message), "cause": cause_in(message), "way": way}


def _message(exercise: Exercise, way: str, request: dict, asks: "Asks") -> tuple[Message, bool]:
    """What is said, and whether the answer has to be called here, which this way does not do."""
    described = request["answer"]
    if way in (IN_RANKS, TOGETHER) and described["form"] == "function":
        described |= asks.pickle()
    answer = answer_of(exercise, way, described)
    if way == IN_CALLS and described["form"] == "function":
        answer = Called(asks.one_call, answer)

    def run(exercise: Exercise, f: object, cases: list[Case]) -> WatchedRun:
        if way == APART:
            return asks.every_case(cases)
        found = run_here(exercise, f, cases)
        return answer.completed(found) if isinstance(answer, Called) else found

    message, _ = judged(exercise, answer, seeded_cases(exercise, request["seed"]), run)
    return message, isinstance(answer, Called) and answer.not_data


def cause_in(message: Message) -> str:
    """The sentence that names the likely cause, or else the headline."""
    causes = [one for one in message.body if isinstance(one, str) and "Likely cause" in one]
    return causes[0].partition("Likely cause: ")[2] if causes else message.headline


# Answers, as this process has them.


def answer_of(exercise: Exercise, way: str, described: dict) -> object:
    """What is judged: a text, a kernel made anew, or what stands in a function's place."""
    form = described["form"]
    if form == "none":
        return None
    if form == "text":
        return described["text"]
    if form == "kernel" and way == AS_DATA:
        from labkit.course.grading.kernels import made

        return made(described["kernel"])
    if form == "function" and way in (IN_RANKS, TOGETHER):
        return from_elsewhere(way, described)
    return stand_in(described)


def from_elsewhere(way: str, described: dict) -> object:
    """A function that came in a pickle; for ranks, what becomes it where they open it."""
    if not described["pickle"]:
        why = data.read_error(described["why"])
        raise data.Broken(f"it uses what cannot be sent to another process ({why})")
    packed = base64.b64decode(described["pickle"])
    if way == TOGETHER:
        return pickle.loads(packed)
    found = stand_in(described)
    return Sealed(packed, getattr(found, "__signature__", None), found)


class Sealed:
    """In the place of a function that only the processes of ranks may open."""

    def __init__(self, packed: bytes, signature: object, source: object) -> None:
        self._packed = packed
        self.__signature__ = signature
        self.__wrapped__ = source
        self.__name__ = getattr(source, "__name__", "answer")

    def __call__(self, *_: object, **__: object) -> None:
        """Refuses: it is sealed here."""
        raise TypeError("this function is called in ranks alone")

    def __reduce__(self) -> tuple:
        return pickle.loads, (self._packed,)


def stand_in(described: dict) -> object:
    """Something of the same form, with the same signature and source, that nobody calls."""
    name = str(described.get("type", ""))
    form = described["form"]
    if form == "class":
        return type(str(described["name"]), (), {})
    if form not in ("function", "coroutine"):
        return type(name, (), {"__module__": str(described.get("module"))})()
    text = str(described.get("source") or "")
    file = f"<answer {next(_number)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    own: dict[str, Any] = {}
    word = "async def" if form == "coroutine" else "def"
    exec(compile(f"{word} answer(*args, **kwargs): pass", file, "exec"), own)
    function = own["answer"]
    parameters = described.get("parameters")
    if parameters is not None:
        function.__signature__ = _signature(parameters)
    return function


def _signature(parameters: list) -> inspect.Signature:
    kinds = list(inspect._ParameterKind)
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(str(name), kinds[kind], default=None if given else empty)
            for name, kind, given in parameters
        ]
    )


# A function's results, from the process that it runs in.


class Asks:
    """What is asked of the student's process, by way of whoever started both."""

    def __init__(self, exercise: Exercise, requests: BinaryIO, replies: BinaryIO) -> None:
        self._exercise, self._requests, self._replies = exercise, requests, replies

    def _reply(self, asked: dict, **more: bool) -> dict:
        data.send(self._replies, {"ask": asked} | more)
        found = data.receive(self._requests)
        if not isinstance(found, dict):
            raise data.Broken("its process does not answer as asked")
        return found

    def pickle(self) -> dict:
        """The answer itself, which whoever opens it may be changed by."""
        return {"why": None} | self._reply({"pickle": True}, alone=True)

    def every_case(self, cases: list[Case]) -> WatchedRun:
        """What it does in every case, and what was expected of it."""
        own = OwnAnswer(self._exercise, cases)
        found = self._reply(asked(cases, own.seconds, self._exercise, ANSWERS))
        return replace(watched(found, cases), expected=own.outputs())

    def one_call(self, cases: list[Case]) -> tuple[WatchedRun, tuple]:
        """What it does in one case, and what its arguments are then."""
        request = asked(cases, [0.0], self._exercise, ANSWERS) | {"whole": True}
        found = self._reply(request)
        run = watched(found, cases)
        after = data.read(found.get("after"))
        fits = isinstance(after, list) and len(after) == 1 and isinstance(after[0], tuple)
        if not fits and run.hit is None and not run.expired:
            raise data.Broken("it does not give its arguments back")
        return run, after[0] if fits else cases[0].args


def watched(found: Any, cases: list[Case]) -> WatchedRun:
    """What happened in the student's process; Broken where it is not of that form."""
    try:
        runs = [_case_run(case, one) for case, one in zip(cases, found["runs"], strict=False)]
        hit = found["hit"]
        left = found["left"]
        run = WatchedRun(
            runs,
            None if hit is None else Hit(str(hit[0]), str(hit[1]), _line(hit[2]), bool(hit[3])),
            bool(found["expired"]),
            bool(found["idle"]),
            None if left is None else (str(left[0]), str(left[1])),
        )
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise data.Broken("what it tells of the cases is of another form") from error
    stopped = run.expired or run.interrupted or (hit is not None and hit[0] == "escape")
    if not runs or (len(runs) < len(cases) and not stopped):
        raise data.Broken("it tells of fewer cases than there are")
    return run


def _case_run(case: Case, found: dict) -> CaseRun:
    changed = []
    for place, after in found["changed"]:
        changed.append((int(place), case.args[int(place)], data.read(after)))
    return CaseRun(
        case,
        data.read(found["returned"]),
        data.read_error(found["error"]),
        _line(found["line"]),
        tuple(changed),
        str(found["prints"]),
        overwritten=bool(found["overwritten"]),
        held=int(found["held"]),
    )


def _line(found: list | None) -> Line | None:
    return None if found is None else Line(str(found[0]), int(found[1]), str(found[2]))


# Predictions and quizzes: they were read from the notebook's text.


def items(asked: dict) -> dict:
    """Of each quiz whether the letter is right; of each prediction its unit and question."""
    quizzes = {id: _quiz(id, answer) for id, answer in asked["quizzes"].items()}
    predictions = {id: _prediction(id) for id in asked["predictions"]}
    return {"quizzes": quizzes, "predictions": predictions}


def _quiz(id: str, answer: str) -> bool | None:
    try:
        item = registry().find(id, Quiz)
    except UnknownId:
        return None
    return answer.strip().strip("()").lower() == item.answer.lower()


def _prediction(id: str) -> dict | None:
    try:
        item = registry().find(id, Prediction)
    except UnknownId:
        return None
    return {"unit": item.unit, "question": item.question, "possible": [item.low, item.high]}


if __name__ == "__main__":
    main()
