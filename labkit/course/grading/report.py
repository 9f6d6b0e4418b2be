"""What a grading found, as a table for a spreadsheet and as a page that needs no other file."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape

from labkit.course.grading.grading import Verdict

WORDS = ("Right", "Look again", "Not yet", "No answer", "Stopped", "Not judged", "Not graded")
HEADS = ("student", "file", "lesson", "variant", "exercise", "verdict", "diagnosis")
HEADS += ("predictions", "quiz", "note")
FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # what a spreadsheet would calculate
ODD = "backslashreplace"  # half a character, which no file can hold, is written as its number
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; vertical-align: top;
padding: 0.2em 0.8em 0.2em 0; border-bottom: 1px solid #8885 }
pre { white-space: pre-wrap; margin: 0.3em 0 } summary { cursor: pointer }
"""


@dataclass(frozen=True)
class Graded:
    """One submission, graded: all that the report says of it.

    predictions   [id, the student's number, the unit that was asked for]
    quizzes       [id, the student's answer, whether it is right: None where nobody knows]
    texts         what the student wrote in words, for a person to read
    """

    student: str
    file: str
    lesson: str = ""
    variant: str = ""
    verdicts: list[Verdict] = field(default_factory=list)
    predictions: list[list] = field(default_factory=list)
    quizzes: list[list] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict:
        """For a file of the state."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict) -> "Graded":
        """TypeError or KeyError where it is of another form."""
        return cls(**stored | {"verdicts": [Verdict(**one) for one in stored["verdicts"]]})

    @property
    def predicted(self) -> str:
        """How many predictions were made."""
        return str(len(self.predictions))

    @property
    def quiz(self) -> str:
        """How many quizzes are right, of those that were answered."""
        right = sum(one[2] is True for one in self.quizzes)
        return f"{right} right of {len(self.quizzes)}" if self.quizzes else ""


def as_csv(every: Sequence[Graded]) -> bytes:
    """A row for each exercise of each submission, and one for what could not be graded."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(HEADS)
    for one in every:
        notes = " ".join(one.notes)
        for verdict in one.verdicts or [Verdict("", "Not graded", notes)]:
            said = (one.student, one.file, one.lesson, one.variant, verdict.exercise)
            said += (verdict.word, verdict.cause, one.predicted, one.quiz, notes)
            rows.writerow([harmless(field) for field in said])
    return text.getvalue().encode("utf-8", ODD)


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    starts = text.startswith(FORMULA) or text.lstrip().startswith(FORMULA)
    return f"'{text}" if starts else text


def as_html(every: Sequence[Graded], title: str, said: Sequence[str]) -> bytes:
    """The page: who solved what, then each submission with all that `check` said of it.

    said   sentences on how it was graded
    """
    exercises = list(dict.fromkeys(v.exercise for one in every for v in one.verdicts))
    heads = ["student", *(id.rpartition(".")[2] for id in exercises), "predictions", "quiz"]
    rows = [_overview(one, exercises, place) for place, one in enumerate(every)]
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(sentence)}</p>" for sentence in said),
        _table(heads, rows),
        *(_submission(one, place) for place, one in enumerate(every)),
    ]
    head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{STYLE}</style>"
    page = f"<!doctype html><html lang='en'>{head}<body>{''.join(parts)}</body></html>"
    return page.encode("utf-8", ODD)


def _overview(one: Graded, exercises: Sequence[str], place: int) -> list[str]:
    words = {verdict.exercise: verdict.word for verdict in one.verdicts}
    name = f"<a href='#s{place}'>{escape(one.student)}</a>"
    cells = [escape(words.get(id, "")) for id in exercises]
    if not one.verdicts and exercises:
        cells[0] = "Not graded"
    return [name, *cells, one.predicted, escape(one.quiz)]


def _submission(one: Graded, place: int) -> str:
    variant = f", variant {one.variant}" if one.variant else ""
    parts = [f"<h2 id='s{place}'>{escape(one.student)}</h2>"]
    parts.append(f"<p>{escape(f'{one.file}: {one.lesson}{variant}')}</p>")
    parts += [f"<p>Note: {escape(note)}</p>" for note in one.notes]
    if one.verdicts:
        rows = [[escape(v.exercise), escape(v.word), _details(v)] for v in one.verdicts]
        parts.append(_table(["exercise", "verdict", "diagnosis"], rows))
    if one.predictions:
        rows = [[escape(str(field)) for field in guess] for guess in one.predictions]
        parts.append(_table(["prediction", "the student's", "unit"], rows))
    if one.quizzes:
        said = {True: "right", False: "wrong", None: "not known here"}
        rows = [[escape(q[0]), escape(q[1]), said.get(q[2], "")] for q in one.quizzes]
        parts.append(_table(["quiz", "answer", ""], rows))
    if one.texts:
        parts.append("<h3>Written answers, for a person to read</h3>")
        parts += [f"<pre>{escape(text)}</pre>" for text in one.texts]
    return "".join(parts)


def _details(verdict: Verdict) -> str:
    if not verdict.text:
        return escape(verdict.cause)
    summary = f"<summary>{escape(verdict.cause)}</summary>"
    return f"<details>{summary}<pre>{escape(verdict.text)}</pre></details>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the cells of the rows are HTML already."""
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
