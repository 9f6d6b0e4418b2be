"""The committed answers of numba-cuda: which function compiles for which dtypes, with which result.

And a digest of the values of the compiled code, for all that is determined to the last bit.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple

from functions_by_dtype.cases import Case, names

ROOT = Path(__file__).resolve().parents[2]
ACCEPTED = ROOT / "tests" / "beside_numba" / "numba_functions.toml"
DIGESTS = ROOT / "tests" / "beside_numba" / "numba_digests.toml"
HEAD = """\
# What numba-cuda compiles: expressions with the dtypes that it accepts, by the type of the result.
# Made by `tools/numba_functions.py --write`. tools/functions_by_dtype/cases.py says which dtypes
# are asked, and what is asked and not listed is refused. b1 is bool, i4 int32, u8 uint64,
# f2 float16, c16 complex128. "i4,f8": x is int32 and y float64; "i4[]" is an array.
"""
DIGEST_HEAD = """\
# Digests of what numba-cuda's code computes from tools/functions_by_dtype/inputs.py, where that is
# determined to the last bit: dtypes:digest. Made by `tools/numba_functions.py --write`.
"""


class Verdicts(NamedTuple):
    version: str  # of numba-cuda
    accepted: dict[str, dict[tuple[str, ...], str]]  # text -> dtypes -> result type
    digests: dict[Case, str]

    def type(self, case: Case) -> str | None:
        """The type of the result; None if numba-cuda refuses the case."""
        return self.accepted[case.text].get(case.dtypes)


def load() -> Verdicts:
    """The committed ones."""
    table = tomllib.loads(ACCEPTED.read_text("utf-8"))
    accepted = {text: {} for text in table["refused"]}
    for group in table["accepted"]:
        found = {
            tuple(dtypes.split(",")): kind
            for kind, listed in group["results"].items()
            for dtypes in listed.split()
        }
        accepted |= {text: found for text in group["functions"]}
    digests = {
        Case(text, tuple(dtypes.split(","))): digest
        for text, listed in tomllib.loads(DIGESTS.read_text("utf-8")).items()
        for dtypes, digest in (one.split(":") for one in listed.split())
    }
    return Verdicts(table["numba-cuda"], accepted, digests)


def save(verdicts: Verdicts) -> None:
    """Writes both files; functions with the same answers share an entry."""
    groups, refused = {}, []
    for text, found in verdicts.accepted.items():
        by_type = {}
        for dtypes, kind in found.items():
            by_type.setdefault(kind, []).append(",".join(dtypes))
        key = tuple((kind, " ".join(listed)) for kind, listed in by_type.items())
        groups.setdefault((key, len(names(text))), []).append(text) if key else refused.append(text)
    lines = [HEAD, f'numba-cuda = "{verdicts.version}"', f"refused = {_list(refused)}"]
    for (key, _), texts in groups.items():
        lines += ["", "[[accepted]]", f"functions = {_list(texts)}", "[accepted.results]"]
        lines += [f'"{kind}" = "{listed}"' for kind, listed in key]
    ACCEPTED.write_text("\n".join(lines) + "\n", "utf-8")
    by_text = {}
    for case, digest in verdicts.digests.items():
        by_text.setdefault(case.text, []).append(f"{','.join(case.dtypes)}:{digest}")
    lines = [f'"{text}" = "{" ".join(listed)}"' for text, listed in by_text.items()]
    DIGESTS.write_text(DIGEST_HEAD + "\n".join(lines) + "\n", "utf-8")


def _list(texts: list[str]) -> str:
    """A TOML list, wrapped."""
    lines, line = [], " "
    for text in texts:
        if len(line) + len(text) > 96:
            lines.append(line)
            line = " "
        line += f' "{text}",'
    return "[\n" + "\n".join([*lines, line]) + "\n]"
