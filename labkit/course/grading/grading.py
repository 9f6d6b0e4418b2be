"""One submission's verdicts: its statements run in one closed room, and are judged from another.

This process only carries messages between the two. It runs no code of a student's, and of what the
student's room sends it reads JSON alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.course.grading.answer_keys import Course, defined
from labkit.course.grading.answers import Answers, Seconds
from labkit.course.grading.closed_process import ClosedProcess, Ended, Room
from labkit.course.grading.slices import needed
from labkit.course.grading.submissions import Submission

JUDGE = "labkit.course.grading.judge_process"
MOST_CALLS = 20_000  # of one answer
NOT_RIGHT = ("Look again", "Not yet", "Stopped")


@dataclass(frozen=True)
class Verdict:
    """What is said of one exercise.

    word     "Right", "Look again", "Not yet", "Not judged"; "Stopped": its process was ended;
             "No answer": the notebook has none
    cause    a sentence: the likely cause, or what is wrong
    text     all that `check` says
    way      where its code ran (judge_process.py)
    """

    exercise: str
    word: str
    cause: str = ""
    text: str = ""
    way: str = ""


class Grader:
    """Grades one submission after the other; `close` ends what it has started.

    seed   of the cases: a secret until the students' answers are handed in
    user   the first of the two numbers of users that its rooms have, where this process is root
    """

    def __init__(self, room: Room, course: Course, seed: str, user: int, seconds: Seconds) -> None:
        self._room, self._course, self._seed = room, course, seed
        self._user, self._seconds = user, seconds
        self._judge: ClosedProcess | None = None

    def close(self) -> None:
        """End the judge's process."""
        if self._judge is not None:
            self._judge.close()
            self._judge = None

    def items(self, asked: dict) -> dict:
        """What the course says of predictions and quizzes; nothing where it cannot be asked."""
        try:
            return self._ask_judge({"items": asked})
        except Ended:
            self.close()
            return {"quizzes": {}, "predictions": {}}

    def verdicts(self, one: Submission) -> list[Verdict]:
        """A verdict for each exercise of the lesson."""
        found = {}
        with Answers(self._room, self._course, self._user, self._seconds, one) as answers:
            for id in self._course.exercises:
                found[id] = self._verdict(id, answers)
        for id in self._course.exercises:
            if found[id].word in NOT_RIGHT:
                found[id] = self._with_our_earlier(id, one, found)
        return list(found.values())

    def _verdict(self, id: str, answers: "Answers") -> Verdict:
        """The last answer counts; an earlier one that is right counts, as it does in progress."""
        described = answers.of(id)
        if not described:
            return Verdict(id, "No answer", answers.why_none(id))
        last = None
        for place in reversed(range(len(described))):
            verdict = self._judged(id, described[place], answers, place)
            last = last or verdict
            if verdict.word == "Right":
                return verdict
        return last

    def _judged(self, id: str, described: dict, answers: "Answers", place: int) -> Verdict:
        try:
            reply = self._ask_judge({"judge": id, "answer": described, "seed": self._seed})
            alone = False
            asked = 0
            while isinstance(reply.get("ask"), dict):
                asked += 1
                if asked > MOST_CALLS:
                    raise Ended("was called more often than any judge does")
                alone |= bool(reply.get("alone"))
                reply = self._ask_judge(answers.ask(id, place, reply["ask"]))
        except Ended as error:
            self.close()
            said = f"The process of this answer {error}."
            return Verdict(id, "Stopped", said, said)
        if alone:  # code of the student's may have run in it
            self.close()
        return Verdict(id, *(str(reply.get(key)) for key in ("word", "cause", "text", "way")))

    def _ask_judge(self, message: dict) -> dict:
        if self._judge is None:
            self._judge = ClosedProcess(self._room, JUDGE, self._user)
        return self._judge.ask(message, self._seconds.answer)

    def _may_be_given(self, other: str, id: str) -> bool:
        """Whether there is a text of ours for an exercise, and it has not the answer to this."""
        ours, own = self._course.solutions.get(other), self._course.solutions.get(id)
        return ours is not None and (own is None or own.name not in defined(ours.text))

    def _with_our_earlier(self, id: str, one: Submission, found: dict[str, Verdict]) -> Verdict:
        """The verdict with the course's answers in the place of earlier ones that are not right.

        So `check` does it in a notebook. It needs a process of its own, since the course's answers
        can be read there: only this exercise is judged in it.
        """
        earlier = self._course.exercises[: self._course.exercises.index(id)]
        given = {
            other: self._course.solutions[other].text
            for other in uses(one, id, earlier)
            if found[other].word != "Right" and self._may_be_given(other, id)
        }
        if not given:
            return found[id]
        with Answers(
            self._room, self._course, self._user, self._seconds, one, only=id, given=given
        ) as answers:
            return self._verdict(id, answers)


def uses(one: Submission, id: str, earlier: Iterable[str]) -> list[str]:
    """The earlier exercises whose answers this one's answer uses by their names."""
    wanted = [statement for statement in one.statements if id in statement.checks]
    chain = needed(one.statements, wanted)
    checked = {other for statement in chain for other in statement.checks}
    return [other for other in earlier if other in checked]
