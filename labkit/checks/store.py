"""The file of the learner's progress, which survives crashes and two notebooks at once.

It is `progress.json` in the folder LABKIT_HOME, or in the user's data folder. LABKIT_PROGRESS=off
records nothing. Every change reads the file under a lock, changes one entry and replaces the file
in one step. A file that cannot be read is set aside as `progress.json.broken-1`, never deleted.
Nothing here raises.

    {"version": 1,
     "exercises":   {id: {"attempts": 3, "solved": true, "date": "2026-01-31"}},
     "predictions": {id: {"value": 12.0, "unit": "GB/s", "first": 10.0}},
     "hints":       {id: 2},                                  the highest level seen
     "quizzes":     {id: {"attempts": 2, "solved": true, "answer": "b"}}}
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from labkit.checks.render import Message, show

try:
    import fcntl
except ImportError:  # not on Windows: there, the last writer wins
    fcntl = None

PATIENCE = 1.0  # seconds to wait for another notebook
_GO_ON = "The lesson works all the same."
_said: set[str] = set()


@dataclass
class Progress:
    """The stored state per id; see the module's docstring. Unknown keys are kept as they are."""

    exercises: dict[str, dict] = field(default_factory=dict)
    predictions: dict[str, dict] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)
    quizzes: dict[str, dict] = field(default_factory=dict)
    other: dict[str, object] = field(default_factory=dict)


def load() -> Progress:
    """The stored progress; empty when nothing is stored or recording is off."""
    if not enabled():
        return Progress()
    try:
        return _read(path())
    except Exception as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        _say_once(f"Your progress could not be read ({reason}).")
        return Progress()


def enabled() -> bool:
    return os.environ.get("LABKIT_PROGRESS", "").strip().lower() not in ("off", "0", "no", "false")


def path() -> Path:
    """Where the progress is kept."""
    if home := os.environ.get("LABKIT_HOME"):
        return Path(home).expanduser() / "progress.json"
    from platformdirs import user_data_path  # only when something is recorded

    return user_data_path("labkit") / "progress.json"


def update(change: Callable[[Progress], None]) -> None:
    """Applies one change to what is stored."""
    if not enabled():
        return
    try:
        file = path()
        file.parent.mkdir(parents=True, exist_ok=True)
        with _lock(file):
            progress = _read(file)
            change(progress)
            _replace(file, progress)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        _say_once(f"Your progress cannot be saved in {path().parent} ({reason}). {_GO_ON}")
    except Exception as error:
        _say_once(f"Your progress cannot be saved ({type(error).__name__}). {_GO_ON}")


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    """Waits for other notebooks, but not forever: a lost entry is better than a cell that hangs."""
    if fcntl is None:
        yield
        return
    with open(file.with_suffix(".lock"), "w") as held:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    break
                time.sleep(0.01)
        yield


def _read(file: Path) -> Progress:
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return _parse(stored)
    except FileNotFoundError:
        return Progress()
    except OSError:
        raise
    except Exception:  # not JSON, or not ours
        _set_aside(file)
        return Progress()


def _parse(stored: object) -> Progress:
    """Raises ValueError, TypeError or KeyError when this is not what `_replace` writes."""
    progress = Progress(
        other={k: v for k, v in stored.items() if k not in Progress.__dataclass_fields__}
    )
    for name in ("exercises", "quizzes"):
        for id, entry in stored.get(name, {}).items():
            fixed = {"attempts": int(entry["attempts"]), "solved": bool(entry["solved"])}
            getattr(progress, name)[id] = {**entry, **fixed}
    for id, entry in stored.get("predictions", {}).items():
        progress.predictions[id] = {
            **entry,
            "value": float(entry["value"]),
            "unit": str(entry["unit"]),
        }
    progress.hints = {id: int(level) for id, level in stored.get("hints", {}).items()}
    return progress


def _set_aside(file: Path) -> None:
    number = 1
    while (aside := file.with_name(f"{file.name}.broken-{number}")).exists():
        number += 1
    os.replace(file, aside)
    show(
        Message(
            "Note",
            f"The file of your progress could not be read. It is kept as {aside.name}.",
            (f"A new one is begun beside it, in {file.parent}.",),
        )
    )


def _replace(file: Path, progress: Progress) -> None:
    stored = {"version": 1, **progress.other}
    stored |= {
        name: getattr(progress, name) for name in ("exercises", "predictions", "hints", "quizzes")
    }
    handle, temporary = tempfile.mkstemp(prefix="progress-", suffix=".tmp", dir=file.parent)
    try:
        with open(handle, "w", encoding="utf-8") as target:
            json.dump(stored, target, indent=1, sort_keys=True)
            target.flush()
            os.fsync(target.fileno())
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise


def _say_once(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        show(Message("Note", sentence))
