"""What became of a test, from what its run wrote down: a status, a short reason, and the words."""

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

PASSED, REFUSED, OTHER = "passed", "refused", "not about kernels"
FORBIDDEN = {
    "CRASH": "the process ended, the test did not, or the machine failed inside",
    "WRONG": "a value differs",
    "LENIENT": "Numba refuses, the machine accepts",
    "UNCLEAR": "an error that is no sentence of the machine's",
}
STATUSES = (*FORBIDDEN, OTHER, REFUSED, PASSED)  # the worst first
REASONS = tomllib.loads(Path(__file__).with_name("reasons.toml").read_text("utf-8"))
MADE = "asks what the compiler made"  # the name of a pattern
UNUSED = {"jit", "gpus"}  # names that a test may touch without using the machine


class Verdict(NamedTuple):
    status: str
    reason: str = ""
    text: str = ""


def judge(record: dict) -> Verdict:
    """A test's verdict: the worst of what was found.

    A test that checks what kernels computed, and looks at the compiler's work then, has passed when
    it comes to that.
    """
    if record["found"]:
        worst = min(map(_one, record["found"]), key=lambda one: STATUSES.index(one.status))
        return Verdict(PASSED) if worst[:2] == (OTHER, MADE) and record["checks"] else worst
    if record["launches"] or record["refusals"] or {*record["names"]} - UNUSED:
        return Verdict(PASSED)
    return Verdict(OTHER, "uses nothing of the machine")


def _one(found: dict) -> Verdict:
    """The verdict of one exception, or of one reason to skip."""
    kind, text = found["kind"], found["text"]
    classes = found.get("classes", [kind])
    said = re.sub(r"^line \d+: `.*?`: ", "", text, flags=re.S)
    inside = "numba_simt/" in found.get("file", "")
    if kind == "died":
        return Verdict("CRASH", "", text)
    if kind == "unexpected success":
        return Verdict("LENIENT", "", text)
    if kind == "skip" or classes[0] == "Skipped":
        return Verdict(OTHER, _short(OTHER, text) or f"skipped: {text}", text)
    checked = classes[0] in ("AssertionError", "Failed")
    if not checked and (reason := _short(OTHER, said)):
        return Verdict(OTHER, reason, text)
    worded = classes[0] == "AttributeError" and not re.search("object has no attr|^module '", text)
    if "KernelError" in classes or (worded and inside):
        return Verdict(REFUSED, _short(REFUSED, said) or f"unnamed: {said[:70]}", text)
    if kind == "expected failure" and checked:
        return Verdict(PASSED)
    if checked:
        lenient = re.search("not raised|DID NOT RAISE", text)
        return Verdict("LENIENT" if lenient else "WRONG", "", text)
    return Verdict("CRASH" if inside else "UNCLEAR", "", f"{classes[0]}: {text}")


def _short(status: str, text: str) -> str | None:
    """The name of the first pattern of reasons.toml that is found in the text."""
    patterns = REASONS[status].items()
    return next((name for name, pattern in patterns if re.search(pattern, text, re.S)), None)
