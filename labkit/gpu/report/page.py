"""report.md: the page of a report, for whoever has ten minutes."""

from collections.abc import Iterable

from labkit.gpu.report.rows import STATES
from labkit.gpu.report.runner import SECTIONS
from labkit.provenance import Quantity

ENDINGS = {
    "done": "",
    "stopped": "It was stopped.",
    "died": "It died.",
    "not reached": "It was not reached.",
}


NOTE = "A row that only tells a number counts in none of the three columns in the middle."


def page(report: dict, picture: str = "") -> str:
    """The whole page in Markdown; `picture`: a line that shows one, or says why there is none."""
    parts = [_head(report), _short(report)]
    parts += [f"{picture}\n"] if picture else []
    parts += [_section(report, name) for name in report["sections"]]
    return "\n".join(parts)


def device(report: dict) -> str:
    """The GPU that the numbers come from."""
    if report["dry"]:
        return "the SIMT machine, in a dry run"
    return report["gpu"].get("name", "an unknown GPU")


def _head(report: dict) -> str:
    title = "A dry run" if report["dry"] else device(report)
    lines = [f"# What a GPU says of Four Machines: {title}", ""]
    if report["dry"]:
        lines += ["This ran on the SIMT machine, with small sizes: nothing in it was measured.", ""]
    else:
        lines += [
            f"Written by `make gpu-report` on {report['date']} in {report['seconds']:.0f} seconds. "
            f"A number without a word behind it was **measured** on {device(report)}; each other "
            "number carries its word: counted, compiled, predicted or published.",
            "",
        ]
    gpu = ", ".join(f"{name} {value}" for name, value in report["gpu"].items() if name != "name")
    lines += [f"- GPU: {device(report)}" + (f"; {gpu}" if gpu else "")]
    lines += [f"- System: {report['system']}"]
    lines += [f"- Versions: {_listed(report['versions'])}"]
    lines += [f"- Tools: {_listed(report['tools'])}"]
    return "\n".join([*lines, ""])


def _listed(found: dict[str, str | None]) -> str:
    """ "numpy 2.1, triton not here"."""
    return ", ".join(f"{name} {number or 'not here'}" for name, number in found.items())


def _short(report: dict) -> str:
    """The table of all sections: how many rows are as they should be."""
    lines = [
        "## In short",
        "",
        NOTE,
        "",
        "| | rows | as they should be | not | not run | seconds |",
    ]
    lines += ["|---|---|---|---|---|---|"]
    for name, section in report["sections"].items():
        rows = section["rows"]
        good = sum(row["ok"] is True for row in rows)
        bad = sum(row["ok"] is False or row["state"] in ("failed", "no memory") for row in rows)
        idle = sum(row["state"] in ("not here", "not reached") for row in rows)
        title = SECTIONS[name]["title"]
        if ended := ENDINGS[section["state"]]:
            title += f" **{ended}**"
        lines.append(
            f"| {title} | {len(rows)} | {good} | {bad} | {idle} | {section['seconds']:.0f} |"
        )
    return "\n".join([*lines, ""])


def _section(report: dict, name: str) -> str:
    section = report["sections"][name]
    lines = [f"## {SECTIONS[name]['title']}", "", SECTIONS[name]["about"], ""]
    if section["why"]:
        lines += [f"**{ENDINGS[section['state']]}** {_cell(section['why'])}", ""]
    if section["rows"]:
        lines += table(section["rows"])
    return "\n".join([*lines, ""])


def table(rows: Iterable[dict]) -> list[str]:
    """Rows as a table: what it is, its number, the details, and what follows."""
    lines = ["| what | number | details | what follows |", "|---|---|---|---|"]
    for row in rows:
        first, *others = _numbers(row) or [STATES[row["state"]]]
        says = row["says"]
        if row["ok"] is False:
            says = f"**{says}**"
        cells = [_named(row), first, "; ".join(others), says]
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return lines


def _numbers(row: dict) -> list[str]:
    """The row's numbers in words, the first without its name; a rate behind whose rate it is."""
    said: list[str] = []
    last = ""
    for name, number in row["numbers"].items():
        quantity = Quantity(**number)
        text = quantity.number
        if quantity.word != "measured":
            text += f" ({quantity.word})"
        if name == f"{last}, rate":
            said[-1] += f" at {text}"
        else:
            said.append(f"{name} {text}" if said else text)
        last = name
    return said


def _named(row: dict) -> str:
    """What the row is about, with the lesson whose prediction it tries."""
    if "lesson" not in row:
        return row["what"]
    return f"{row['what']} (lesson *{row['lesson'].replace('_', ' ').capitalize()}*)"


def _cell(text: str) -> str:
    """Text that fits into a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())
