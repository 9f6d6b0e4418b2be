"""The ledger: what became of each of Numba's kernel tests, as it is committed.

[modules]   those that are not about kernels, each with the reason: their tests are not run
[slow]      tests that `--quick` leaves out, with what they need
[excuses]   failures that are not about kernels: the reason, and words that are in the failure
[folder.module]              the tests that passed, below their classes
[folder.module.refused]      reason -> tests
[folder.module."not about kernels"]
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill

from .judge import FORBIDDEN, OTHER, PASSED, REFUSED, Verdict

HEAD = """\
# Numba's own kernel tests on the SIMT machine: what became of each. `make numba-tests ARGS=--write`
# writes the version and all tables below [excuses] anew, and keeps what stands between."""
PARTS = "modules", "slow", "excuses"


@dataclass
class Ledger:
    version: str = ""  # of numba-cuda
    modules: dict[str, str] = field(default_factory=dict)
    slow: dict[str, str] = field(default_factory=dict)
    excuses: dict[str, dict[str, str]] = field(default_factory=dict)
    tests: dict[str, Verdict] = field(default_factory=dict)  # "cudapy.test_sm.TestX.test_y"

    def excused(self, name: str, verdict: Verdict) -> Verdict:
        """The verdict, or that of the excuse for just this failure."""
        excuse = self.excuses.get(name)
        if excuse and verdict.status in FORBIDDEN and excuse["failure"] in verdict.text:
            return Verdict(OTHER, excuse["reason"], verdict.text)
        return verdict

    def counts(self) -> Counter:
        return Counter(verdict.status for verdict in self.tests.values())


def module_of(test: str) -> str:
    """cudapy.test_sm of cudapy.test_sm.TestX.test_y"""
    return ".".join(test.split(".")[:2])


def read(path: Path) -> Ledger:
    """The ledger in a file; an empty one, if there is no file."""
    if not path.exists():
        return Ledger()
    table = tomllib.loads(path.read_text("utf-8"))
    ledger = Ledger(table.pop("numba-cuda"), *(table.pop(part, {}) for part in PARTS))
    for folder, modules in table.items():
        for module, groups in modules.items():
            for status in (PASSED, REFUSED, OTHER):
                given = groups.get(status, {})
                for reason, text in ({"": given} if isinstance(given, str) else given).items():
                    verdict = Verdict(status, reason)
                    ledger.tests |= {f"{folder}.{module}.{n}": verdict for n in _names(text)}
    return ledger


def _names(text: str) -> Iterator[str]:
    """`TestA: test_x test_y` names TestA.test_x and TestA.test_y; functions come first."""
    owner = ""
    for word in text.split():
        if word.endswith(":"):
            owner = word[:-1] + "."
        else:
            yield owner + word


def _text(names: Iterable[str]) -> str:
    """The names, below their classes, as a string of TOML."""
    owners: dict[str, list[str]] = {}
    for name in sorted(names):
        owner, _, test = name.rpartition(".")
        owners.setdefault(owner, []).append(test)
    rows = [f"{owner}: " * bool(owner) + " ".join(tests) for owner, tests in sorted(owners.items())]
    if len(rows) == 1 and len(rows[0]) < 60:
        return f'"{rows[0]}"'
    rows = [fill(row, 100, subsequent_indent="    ", break_on_hyphens=False) for row in rows]
    return "\n".join(['"""', *rows, '"""'])


def _table(name: str, rows: dict[str, str]) -> list[str]:
    """The lines of a table whose values are strings; keys are quoted where TOML wants it."""
    quoted = {key if re.fullmatch(r"[\w-]+", key) else f'"{key}"': rows[key] for key in rows}
    rows = {key: text if text[:1] == '"' else f'"{text}"' for key, text in quoted.items()}
    return ["", f"[{name}]", *(f"{key} = {text}" for key, text in rows.items())]


def write(path: Path, ledger: Ledger) -> None:
    """Write the file anew; what is forbidden is left out."""
    lines = [HEAD, "", f'numba-cuda = "{ledger.version}"']
    lines += _table("modules", ledger.modules) + _table("slow", ledger.slow)
    for name, excuse in sorted(ledger.excuses.items()):
        lines += _table(f'excuses."{name}"', excuse)
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name, verdict in sorted(ledger.tests.items()):
        if verdict.status not in FORBIDDEN:
            module, key = module_of(name), (verdict.status, verdict.reason)
            test = name.removeprefix(f"{module}.")
            groups.setdefault(module, {}).setdefault(key, []).append(test)
    for module, tests in groups.items():
        if names := tests.get((PASSED, "")):
            lines += _table(module, {PASSED: _text(names)})
        for status in (REFUSED, OTHER):
            rows = {why: _text(tests[one, why]) for one, why in sorted(tests) if one == status}
            title = f"{module}.{status}" if " " not in status else f'{module}."{status}"'
            lines += _table(title, rows) if rows else []
    path.write_text("\n".join([*lines, ""]), "utf-8")
