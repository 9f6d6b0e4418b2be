"""The folder of a report: report.json, whose form is told here, report.md, and a picture.

    schema    1; a reader refuses what it does not know
    dry       true if it ran on the SIMT machine: no number in it was measured
    date      of the run, UTC
    gpu       what nvidia-smi says: name, driver, clocks, ...
    system, versions, tools   null for what is not there
    seconds   of the whole run
    sections  name -> {state, why, seconds, rows}; state: done, stopped, died or not reached
    rows      [{what, state, numbers, ok, says, lesson?}]; state: as in `rows.STATES`
    numbers   name -> {value, unit, word, source}; word: one of the five of labkit.provenance

Nothing of the user's is in it: paths, the names of the user and of the computer are taken out.
"""

import getpass
import json
import re
import socket
from pathlib import Path
from typing import Any

from labkit.files import write_whole
from labkit.provenance import WORDS

SCHEMA = 1
KEYS = {"schema", "dry", "date", "gpu", "system", "versions", "tools", "seconds", "sections"}
PATH = re.compile(r"(?<![\w.])(?:~|[A-Za-z]:)?(?:[/\\][\w.+@-]+){2,}[/\\]?")
TAG = re.compile(r"<(?=[A-Za-z/!?])")
COMMON = {"root", "user", "ubuntu", "jovyan", "colab", "localhost", "python", "nvidia", "cuda"}


def slug(name: str) -> str:
    """The folder's name for a GPU: "nvidia_h200" for "NVIDIA H200"."""
    return re.sub(r"\W+", "_", name.lower()).strip("_")


def private_words() -> list[str]:
    """The names of this user and of this computer, where they say anything."""
    try:
        names = [getpass.getuser(), socket.gethostname(), socket.gethostname().split(".")[0]]
    except (KeyError, OSError):  # a user without a name
        names = [socket.gethostname()]
    return [name for name in dict.fromkeys(names) if len(name) > 2 and name.lower() not in COMMON]


def scrubbed(value: Any, words: list[str]) -> Any:
    """The same without paths (their last part stays) and without these words, however deep."""
    if isinstance(value, dict):
        return {key: scrubbed(item, words) for key, item in value.items()}
    if isinstance(value, list):
        return [scrubbed(item, words) for item in value]
    if not isinstance(value, str):
        return value
    text = PATH.sub(lambda found: re.split(r"[/\\]", found[0].rstrip("/\\"))[-1], value)
    for word in words:
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "…", text)
    return text


def write(report: dict, page: str, folder: Path) -> None:
    """Both files, each whole or not at all; `page` is made from the report."""
    text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    write_whole(folder / "report.json", text.encode())
    write_whole(folder / "report.md", page.encode())


def read(folder: Path) -> dict:
    """A report from its folder. ValueError, in a sentence, for one that is not of this form.

    It may be a stranger's: no text in it makes lines or HTML of its own on a page.
    """
    path = folder / "report.json"
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path.parent.name}: report.json cannot be read ({error}).") from None
    try:
        wrong = _wrong(found)
    except (AttributeError, KeyError, TypeError) as error:
        wrong = f"is not of the form that labkit writes ({error})"
    if wrong:
        raise ValueError(f"{path.parent.name}: report.json {wrong}.")
    return _plain(found)


def _plain(value: Any) -> Any:
    """The same with each text, and each name, in one line and without tags, however deep."""
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, str):
        return value
    return TAG.sub("&lt;", " ".join(value.split()))


def _wrong(report: Any) -> str:
    """What is wrong with a report, a clause; "" if nothing."""
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        return f"is not of schema {SCHEMA}"
    if absent := KEYS - report.keys():
        return f"lacks {', '.join(sorted(absent))}"
    report["gpu"].items(), report["versions"].items()  # of whatever is no mapping, AttributeError
    for name, section in report["sections"].items():
        for row in section["rows"]:
            for number in row["numbers"].values():
                if number.get("word") not in WORDS:
                    return f"has a number of no known origin in {name}, {row['what']}"
                if report["dry"] and number["word"] == "measured":
                    return f"is a dry run and claims a measurement in {name}, {row['what']}"
    return ""
