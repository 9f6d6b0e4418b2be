"""What the learner has done so far, in a file that survives crashes and two notebooks at once.

It is `progress.json` in the folder LABKIT_HOME, else on Colab in the Drive that is mounted, else in
the user's data folder. LABKIT_PROGRESS=off records nothing. Every change reads the file under a
lock, changes one entry and replaces the file in one step. A file that cannot be read is set aside
as `progress.json.broken-1`, never deleted. Nothing here raises: what goes wrong is said once, and
the lesson goes on.

    {"version": 1,
     "exercises":   {id: {"attempts": 3, "solved": true, "date": "2026-01-31",
                          "answer": "module mac ..."}},       the last right one, if it is a text
     "predictions": {id: {"value": 12.0, "unit": "GB/s", "first": 10.0}},
     "hints":       {id: 2},                                  the highest level seen
     "quizzes":     {id: {"attempts": 2, "solved": true, "answer": "b"}}}
"""

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from labkit.checks.render import Message, say
from labkit.files import set_aside, write_whole

try:
    import fcntl
except ImportError:  # on Windows the last writer wins
    fcntl = None

NAMES = ("exercises", "predictions", "hints", "quizzes")
DRIVE = Path("/content/drive/MyDrive")  # of Colab's user, where it is mounted
PATIENCE = 60.0  # seconds to wait for another notebook: ten times what a busy machine needs
Progress = dict[str, dict]  # what is stored; see the module's docstring
_sentences_shown: set[str] = set()


def load() -> Progress:
    """The stored progress; empty when nothing is stored or recording is off."""
    if not enabled():
        return _parse({})
    try:
        return _read(path())
    except Exception as error:
        _say_once(f"Your progress could not be read ({_reason(error)}).")
        return _parse({})


def path() -> Path:
    """Where the progress is kept."""
    if home := os.environ.get("LABKIT_HOME"):
        return Path(os.path.expanduser(home), "progress.json")
    if "google.colab" in sys.modules and DRIVE.is_dir():
        return DRIVE / "four-machines" / "progress.json"
    from platformdirs import user_data_path  # only when something is recorded

    return user_data_path("labkit") / "progress.json"


def _stored(change: Callable) -> Callable:
    """Makes of `change(progress, ...)` a function `(...)` that changes what is stored."""

    @functools.wraps(change)
    def record(*args: object, **kwargs: object) -> None:
        if not enabled():
            return
        file = path()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with _lock(file):
                progress = _read(file)
                change(progress, *args, **kwargs)
                text = json.dumps(progress, indent=1, sort_keys=True)
                write_whole(file, text.encode())
        except Exception as error:
            problem = f"Your progress cannot be saved in {file.parent} ({_reason(error)})."
            _say_once(f"{problem} The lesson works all the same.")

    return record


@_stored
def record_check(progress: Progress, id: str, solved: bool, answer: str | None = None) -> None:
    """One attempt at an exercise, with the text of a right answer. Solved stays solved."""
    entry = progress["exercises"].setdefault(id, {"attempts": 0, "solved": False})
    entry["attempts"] += 1
    if solved and not entry["solved"]:
        entry.update(solved=True, date=date.today().isoformat())
    if answer is not None:
        entry["answer"] = answer


@_stored
def record_prediction(progress: Progress, id: str, value: float, unit: str) -> None:
    """The latest prediction; the first one is kept beside it."""
    first = progress["predictions"].get(id, {}).get("first", value)
    progress["predictions"][id] = {"value": value, "unit": unit, "first": first}


@_stored
def record_hint(progress: Progress, id: str, level: int) -> None:
    """A hint was shown; the highest level is kept."""
    progress["hints"][id] = max(level, progress["hints"].get(id, 0))


@_stored
def record_quiz(progress: Progress, id: str, answer: str, solved: bool) -> None:
    """One answer. Solved stays solved; the latest answer is kept."""
    entry = progress["quizzes"].setdefault(id, {"attempts": 0, "solved": False})
    entry.update(answer=answer, attempts=entry["attempts"] + 1)
    entry["solved"] |= solved


def enabled() -> bool:
    """Whether anything is recorded."""
    setting = os.environ.get("LABKIT_PROGRESS", "").strip().lower()
    return setting not in ("off", "0", "no", "false")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    """Waits for other notebooks, but not forever: a lost entry is better than a cell that hangs.

    Where others write to LABKIT_HOME, a link of theirs is not followed, and no file is emptied.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(file.with_suffix(".lock"), flags, 0o600), "w") as held:
        end = time.monotonic() + PATIENCE
        while fcntl is not None and time.monotonic() < end:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:  # this file system has no locks, as Colab's Drive may have none
                break
        yield


def _read(file: Path) -> Progress:
    try:
        return _parse(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return _parse({})
    except OSError:
        raise
    except Exception:  # not JSON, or not ours
        _set_aside(file)
        return _parse({})


def _parse(stored: dict) -> Progress:
    """Raises any exception when this is not what a change stores; keeps what it does not know."""
    empty = {name: {} for name in NAMES}
    progress = {"version": 1} | empty | stored
    for entry in (*progress["exercises"].values(), *progress["quizzes"].values()):
        entry["attempts"] = int(entry["attempts"])
        entry["solved"] = bool(entry["solved"])
    for entry in progress["predictions"].values():
        entry["value"] = float(entry["value"])
        entry["unit"] = str(entry["unit"])
    progress["hints"] = {id: int(level) for id, level in progress["hints"].items()}
    return progress


def _set_aside(file: Path) -> None:
    aside = set_aside(file)
    headline = f"The file of your progress could not be read. It is kept as {aside.name}."
    say(Message("Note", headline, (f"A new one is begun beside it, in {file.parent}.",)))


def _say_once(sentence: str) -> None:
    if sentence not in _sentences_shown:
        _sentences_shown.add(sentence)
        say(Message("Note", sentence))
