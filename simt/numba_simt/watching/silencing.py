"""Findings that are known: silenced by a comment in their line, or by a file of rules.

In a line: `# simt: ignore` silences all kinds, `# simt: ignore[race, same_value]` those named. A
rule is a line `KIND PLACE`, where PLACE is a path, `path:line` or `path::kernel`; in all parts `*`
and `?` stand for any text and any letter. `#` begins a comment. A kind that there is not is refused
in a rule, and told in a comment: either would silence nothing, and nobody would know.
"""

import linecache
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from numba_simt.ops import HAZARDS
from numba_simt.watching.findings import Finding, shown_path

_COMMENT = re.compile(r"#\s*simt:\s*ignore(?:\[([^\]]*)\])?", re.IGNORECASE)
_RULE = re.compile(r"(?P<kind>\S+)\s+(?P<path>.+?)(?:::(?P<kernel>[\w*?]+)|:(?P<line>[\d*?]+))?")
_THERE_ARE = f"There are {', '.join(sorted(HAZARDS))}, and * for all."


class Rule(NamedTuple):
    """What a line of the file silences: patterns; `line` and `kernel` are * where it has none."""

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
            and any(fnmatch(str(line), self.line) for line in finding.lines)
            and fnmatch(finding.kernel, self.kernel)
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
        parts = found.groupdict("*")
        parts["path"] = os.path.normpath(parts["path"])
        if not _is_kind(parts["kind"]):
            raise ValueError(f"{path}:{number}: `{parts['kind']}` is no kind. {_THERE_ARE}")
        rules.append(Rule(**parts, where=f"{path}:{number}"))
    return rules


def silence(findings: Iterable[Finding], rules: Iterable[Rule] = ()) -> None:
    """Says of each finding by what it is silenced, if it is."""
    rules = list(rules)
    for finding in findings:
        finding.silenced = _by_comment(finding) or _by_rule(finding, rules)


def in_vain(findings: Iterable[Finding], rules: Iterable[Rule]) -> Iterator[str]:
    """Sentences on rules that fit no finding, and on comments with a kind that there is not."""
    findings = list(findings)
    idle = [rule.where for rule in rules if not any(rule.fits(one) for one in findings)]
    if idle:
        yield f"No finding of this run fits the rules {', '.join(idle)}."
    unknown = {
        (one.file, line, kind): None
        for one in findings
        for line in one.lines
        for kind in _kinds_in_comment(one.file, line) or ()
        if not _is_kind(kind)
    }
    for file, line, kind in unknown:
        place = f"{shown_path(file)}:{line}"
        yield f"{place}: the comment says `{kind}`, which is no kind. {_THERE_ARE}"


def _is_kind(pattern: str) -> bool:
    return any(fnmatch(kind, pattern) for kind in HAZARDS)


def _by_comment(finding: Finding) -> str:
    for line in finding.lines:
        kinds = _kinds_in_comment(finding.file, line)
        if kinds is not None and (not kinds or finding.kind in kinds):
            return f"the comment in line {line}"
    return ""


def _kinds_in_comment(file: str, line: int) -> list[str] | None:
    """The kinds that a comment in the line silences: none stands for all; None of no comment."""
    found = _COMMENT.search(linecache.getline(file, line))
    if not found:
        return None
    return re.split(r"[,\s]+", found[1].strip()) if found[1] else []


def _by_rule(finding: Finding, rules: list[Rule]) -> str:
    return next((rule.where for rule in rules if rule.fits(finding)), "")
