"""Findings that are known: silenced by a comment in their line, or by a file of rules.

In a line: `# simt: ignore` silences all kinds, `# simt: ignore[race, same_value]` those named. A
rule is a line `KIND PLACE`, where KIND may be `*`, and PLACE is a path, `path:line` or
`path::kernel`; in both parts `*` and `?` stand for any text and any letter. `#` begins a comment.
"""

import linecache
import re
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from numba_simt.watching.findings import Finding

_COMMENT = re.compile(r"#\s*simt:\s*ignore(?:\[([^\]]*)\])?", re.IGNORECASE)
_RULE = re.compile(r"(?P<kind>\S+)\s+(?P<path>.+?)(?:::(?P<kernel>\w+)|:(?P<line>\d+))?")


class Rule(NamedTuple):
    """What a line of the file silences; `line` and `kernel` may be empty."""

    kind: str
    path: str
    line: str
    kernel: str
    where: str  # of the rule itself, such as known.txt:3

    def fits(self, finding: Finding) -> bool:
        """Whether it is about this finding."""
        paths = finding.shown_file, finding.file, Path(finding.file).name
        return (
            fnmatch(finding.kind, self.kind)
            and any(fnmatch(path, self.path) for path in paths)
            and self.line in ("", str(finding.line), str(finding.other_line))
            and self.kernel in ("", finding.kernel)
        )


def read_rules(path: str) -> list[Rule]:
    """The rules of a file; ValueError for a line that is none, OSError where it cannot be read."""
    rules = []
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        found = _RULE.fullmatch(text)
        if not found:
            raise ValueError(
                f"{path}:{number}: `{text}` is no rule. Write a kind and a place, such as "
                "`race kernels.py:12`, `same_value kernels.py::fill` or `* old/*.py`."
            )
        parts = found.groupdict("")
        rules.append(Rule(**parts, where=f"{path}:{number}"))
    return rules


def silence(findings: Iterable[Finding], rules: Iterable[Rule] = ()) -> None:
    """Says of each finding by what it is silenced, if it is."""
    rules = list(rules)
    for finding in findings:
        finding.silenced = _by_comment(finding) or _by_rule(finding, rules)


def _by_comment(finding: Finding) -> str:
    for line in (finding.line, finding.other_line):
        if line is None:
            continue
        found = _COMMENT.search(linecache.getline(finding.file, line))
        kinds = re.split(r"[,\s]+", found[1].strip()) if found and found[1] else []
        if found and (not kinds or finding.kind in kinds):
            return f"the comment in line {line}"
    return ""


def _by_rule(finding: Finding, rules: list[Rule]) -> str:
    return next((rule.where for rule in rules if rule.fits(finding)), "")
