"""The report as one HTML file: source with counters line by line, findings at their lines.

It needs nothing else, and follows the reader's choice of a light or dark screen.
"""

from collections.abc import Iterator, Sequence
from html import escape

from numba_simt.profiling import profile_table
from numba_simt.profiling.counters import derive
from numba_simt.watching.findings import Finding, shown_path
from numba_simt.watching.session import KernelRecord
from numba_simt.watching.sources import lines_of
from numba_simt.watching.summary import Summary, plural

STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #3d8bd447; }
.error { --mark: #b03024; } .warning { --mark: #8a5a00; } .note { --mark: #1f618d; }
@media (prefers-color-scheme: dark) {
  .error { --mark: #ff8f80; } .warning { --mark: #f0b95a; } .note { --mark: #7fb8e6; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 80em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
code, td { white-space: pre; }
td, th { padding: 0 0.6em; text-align: right; } td.code { text-align: left; }
tr.hit td.code { box-shadow: inset 3px 0 var(--mark); }
article { border-left: 4px solid var(--mark); padding: 0.2em 1em; margin: 0.6em 0; }
article { background: color-mix(in srgb, var(--mark) 8%, transparent); }
article { max-width: min(60em, calc(100vw - 7em)); }
article { text-align: left; white-space: normal; position: sticky; left: 0; }
article code { white-space: pre-wrap; } article p { overflow-wrap: anywhere; }
article h3 { margin: 0; font-size: 15px; color: var(--mark); } article p { margin: 0.3em 0; }
footer, .dim { opacity: 0.75; }
h2 { margin: 1.6em 0 0.4em; border-bottom: 1px solid var(--line); }
"""


def as_html(summary: Summary) -> str:
    """The page."""
    title = f"numba-simt: {escape(summary.verdict)}"
    body = [f"<h1>{title}</h1>", f"<p>{escape(summary.program)}</p>"]
    for one in summary.refusals:
        place = f"{shown_path(one.file)}:{one.line}"
        said = f"<h3>{escape(place)}: refused</h3><p>{escape(one.sentence)}</p>"
        body.append(f'<article class="error">{said}</article>')
    shown: set[int] = set()
    for kernel in summary.kernels:
        body += _kernel(kernel, summary.findings, shown)
    body += [_finding(one) for one in summary.findings if id(one) not in shown]
    body.append(f"<footer>{''.join(f'<p>{escape(one)}</p>' for one in _numbers(summary))}</footer>")
    if summary.ending.traceback:
        body.append(f"<pre>{escape(summary.ending.traceback)}</pre>")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    page = f"<head>{head}</head><body>{''.join(body)}</body>"
    return f'<!DOCTYPE html>\n<html lang="en">{page}</html>\n'


def _numbers(summary: Summary) -> Iterator[str]:
    """How much was looked at, and what else is to be known."""
    yield f"{summary.how_launched}."
    if summary.silenced:
        yield f"{plural(len(summary.silenced), 'finding')} silenced."
    yield from summary.notes


def _kernel(kernel: KernelRecord, findings: Sequence[Finding], shown: set[int]) -> Iterator[str]:
    """Its source; `shown` is filled with the findings that have a line there."""
    places = [*lines_of(kernel)]
    rows = [
        (line, text, derive(kernel.lines[file, line]) if (file, line) in kernel.lines else {})
        for file, line, text in places
    ]
    columns = profile_table.used_columns(rows, derive(kernel.total)) if kernel.lines else []
    yield f"<h2>{escape(kernel.name)}</h2>"
    part = f"{kernel.in_part:,} watched in part, " if kernel.in_part else ""
    launches = f"{plural(kernel.watched, 'launch')} watched, {part}{kernel.plain:,} plain"
    yield f'<p class="dim">{escape(shown_path(kernel.file))}:{kernel.line}, {launches}</p><table>'
    yield f"<tr><th></th><th></th>{''.join(f'<th>{escape(c.heading)}</th>' for c in columns)}</tr>"
    for i, (file, line, text) in enumerate(places):
        here = [one for one in findings if (one.file, one.line) == (file, line)]
        mark = f' class="hit {here[0].severity}"' if here else ""
        cells = "".join(_cell(c.numbers[i], c.shares[i]) for c in columns)
        code = f'<td class="code"><code>{escape(text)}</code></td>'
        yield f"<tr{mark}><td>{line}</td>{code}{cells}</tr>"
        for one in here:
            shown.add(id(one))
            yield f'<tr><td></td><td colspan="{1 + len(columns)}">{_finding(one)}</td></tr>'
    if columns:
        cells = "".join(_cell(c.numbers[-1], 0) for c in columns)
        yield f'<tr><td></td><td class="code">all lines</td>{cells}</tr>'
    yield "</table>"


def _cell(number: str, share: float) -> str:
    """A number, with a bar behind it."""
    if not number or not share:
        return f"<td>{escape(number)}</td>"
    bar = f"background: linear-gradient(to left, var(--bar) {share:.0%}, transparent 0)"
    return f'<td style="{bar}">{escape(number)}</td>'


def _finding(one: Finding) -> str:
    """What it is, both lines with both threads, the cure, the target and the link."""
    title = f"{one.shown_file}:{one.line}: {one.severity}: {one.kind.replace('_', ' ')}"
    parts = [f"<h3>{escape(title)}</h3>", f"<p>{escape(one.what)}</p>"]
    accesses = [(one.other_line, one.other_text, one.threads[1:])]
    accesses.append((one.line, one.text, one.threads[:1]))
    for line, text, threads in accesses:
        if line is not None:
            who = f", {threads[0]}" if threads else ""
            parts.append(f"<p>line {line}{escape(who)}: <code>{escape(text)}</code></p>")
    for label, text in (("Cure", one.cure), ("Undefined on", one.undefined_on)):
        if text:
            parts.append(f"<p><b>{label}:</b> {escape(text)}</p>")
    if one.guide:
        parts.append(f'<p><a href="{escape(one.guide)}">{escape(one.guide)}</a></p>')
    seen = f"Seen {plural(one.count, 'time')} in {plural(one.launches, 'launch')}"
    seen += f", first in {one.launch}; {', '.join(one.elements)}".rstrip("; ")
    parts.append(f'<p class="dim">{escape(seen)}</p>')
    return f'<article class="{escape(one.severity)}">{"".join(parts)}</article>'
