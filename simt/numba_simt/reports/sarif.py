"""The report as SARIF 2.1.0 (OASIS), which code hosts show beside the lines of a change."""

import json
import re
from pathlib import Path
from urllib.parse import quote

from numba_simt import __version__
from numba_simt.watching.findings import Finding, shown_path
from numba_simt.watching.session import Refusal
from numba_simt.watching.summary import Summary

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
REFUSED = "refused"


def as_sarif(summary: Summary) -> str:
    """One run with its results; what is silenced is there, as suppressed."""
    found = [*summary.findings, *summary.silenced]
    kinds = sorted({one.kind for one in found} | ({REFUSED} if summary.refusals else set()))
    driver = {
        "name": "numba-simt",
        "version": __version__,
        "rules": [_rule(k, found) for k in kinds],
    }
    results = [_result(one, kinds) for one in found]
    results += [_refusal(one, kinds) for one in summary.refusals]
    invocation = {"executionSuccessful": summary.ending.error is None}
    invocation["exitCode"] = summary.ending.code
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(kind: str, found: list[Finding]) -> dict:
    rule = {"id": kind, "shortDescription": {"text": kind.replace("_", " ").capitalize()}}
    guide = next((one.guide for one in found if one.kind == kind and one.guide), "")
    return rule | ({"helpUri": guide} if guide else {})


def _result(one: Finding, kinds: list[str]) -> dict:
    said = " ".join(filter(None, [one.what, one.cure]))
    result = {
        "ruleId": one.kind,
        "ruleIndex": kinds.index(one.kind),
        "level": one.severity,
        "message": {"text": said},
        "locations": [_location(one.file, one.line, one.text)],
        "partialFingerprints": {"kernel/v1": f"{one.kind}:{one.kernel}:{one.text}"},
    }
    if one.other_line is not None:
        other = _location(one.file, one.other_line, one.other_text)
        done = one.threads[1] if len(one.threads) > 1 else one.kernel
        result["relatedLocations"] = [other | {"id": 1, "message": {"text": f"The other: {done}."}}]
    if one.silenced:
        kind = "inSource" if "comment" in one.silenced else "external"
        result["suppressions"] = [{"kind": kind, "justification": one.silenced}]
    return result


def _refusal(one: Refusal, kinds: list[str]) -> dict:
    return {
        "ruleId": REFUSED,
        "ruleIndex": kinds.index(REFUSED),
        "level": "warning",
        "message": {"text": f"Not looked at, as the SIMT machine refused it: {one.sentence}"},
        "locations": [_location(one.file, one.line, one.text)],
    }


def _location(file: str, line: int, text: str) -> dict:
    """A physical location; of a notebook's cell without the line, which is not one of the file."""
    file, cell, _ = re.fullmatch(r"(.*?)(, cell \d+)?()", file, re.DOTALL).groups()
    place: dict = {"artifactLocation": {"uri": _uri(file)}}
    if line and not cell:
        place["region"] = {"startLine": line} | ({"snippet": {"text": text}} if text else {})
    return {"physicalLocation": place}


def _uri(file: str) -> str:
    """Relative to the current folder where it lies below, as code hosts want it."""
    shown = shown_path(file)
    return Path(file).as_uri() if Path(shown).is_absolute() else quote(Path(shown).as_posix())
