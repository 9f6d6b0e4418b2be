"""The rules for what a notebook stores of its last run: counts, outputs, pictures, timings.

pytest --nbval is blind to a cell without an execution count and to whatever a cell tells it to
ignore, so these rules look exactly there. Each takes a notebook and yields a sentence for whatever
is wrong.
"""

import ast
import json
import re
from collections.abc import Iterator

from labkit.course.notebook import Notebook, holds_of, source_of, tags_of

ALT_WORDS = 5  # fewer cannot say what a picture shows
MEASURED = re.compile(r"\d\S* \S+ \(measured on [^)]+\)")  # as `labkit.provenance` prints it
CLOCK = re.compile(r"timeit|(perf_counter|process_time|monotonic)(_ns)?|measure_\w+|benchmark\w*")
CLOCK_MAGIC = re.compile(r"^%{1,2}timeit\b", re.MULTILINE)
REFUSED = re.compile(r"\b(Look again|Not yet|Check failed)\b")
IGNORE = "nbval-ignore-output"
# Everything else by which a cell can tell nbval not to compare it.
NBVAL_TAG = re.compile(r"nbval-(?!ignore-output$|check-output$).*|raises-exception")
NBVAL_COMMENT = re.compile(r"#\s*(?:NBVAL_\w+|PYTEST_VALIDATE_\w+)")
# Pictures by other means than an output of their own.
IMAGE_WITHOUT_ALT = re.compile(r"!\[\s*\]")
IMG = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
ALT = re.compile(r"\balt\s*=\s*(\"[^\"]*\S[^\"]*\"|'[^']*\S[^']*')")
SVG = re.compile(r"<svg\b.*?</svg>", re.IGNORECASE | re.DOTALL)
SVG_TITLE = re.compile(r"aria-label\s*=|<title\b")


def counts(notebook: Notebook) -> Iterator[str]:
    """Every code cell ran, and in order: nbval compares no cell without an execution count."""
    seen = []
    for here, cell in notebook.located("code"):
        seen.append(cell.get("execution_count"))
        if seen[-1] is None:
            yield f"{here} has no execution count, so nbval would compare nothing: build it."
    if None not in seen and seen != list(range(1, len(seen) + 1)):
        yield f"{notebook.name}: the execution counts are {seen}, not 1 to {len(seen)} in order."


def outputs(notebook: Notebook) -> Iterator[str]:
    """No error and no warning is stored."""
    for here, cell in notebook.located("code"):
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                yield f"{here} stores an error: {output.get('ename')}."
            if output.get("name") == "stderr":
                said = "".join(output.get("text", "")).strip()
                yield f"{here} writes to stderr, {said[-200:]!r}: a lesson has no warnings."


def solutions(notebook: Notebook) -> Iterator[str]:
    """The twin's own solutions are right: `check` takes each."""
    if notebook.course_metadata.get("twin") != "solution":
        return
    for here, cell in notebook.located("code"):
        text = json.dumps(cell.get("outputs", []))
        if "exercise:" in " ".join(tags_of(cell)) and REFUSED.search(text):
            yield f"{here} stores a solution that `check` refuses: mend it, or the exercise."


def relations(notebook: Notebook) -> Iterator[str]:
    """Each relation that its source states was found to hold when it ran."""
    for here, cell in notebook.located():
        for expression, outcome in holds_of(cell).items():
            if outcome is not True:
                yield f"{here} has no record that `{expression}` holds: run `labkit build`."


def untouched(notebook: Notebook) -> Iterator[str]:
    """nbval compares no timing, no picture and no "Runs on:" line, so the digest does."""
    if not notebook.has_whole_seal():
        what = "its outputs or outcomes were edited by hand"
        yield f"{notebook.name}: {what}: run `labkit build --force`."


def alt_texts(notebook: Notebook) -> Iterator[str]:
    """Every picture, drawn or linked, says what it shows to those who do not see it."""
    for here, cell in notebook.located():
        html = source_of(cell) if cell.get("cell_type") == "markdown" else ""
        if IMAGE_WITHOUT_ALT.search(html):
            yield f"{here} shows an image without alt text: write ![what it shows](...)."
        for output in cell.get("outputs", []):
            yield from _alt_texts_of(output, here)
            html += _text(output, "text/html")
        for tag in IMG.findall(html):
            if not ALT.search(tag):
                yield f'{here} shows an <img> without alt text: add alt="what it shows".'
        for tag in SVG.findall(html):
            if not SVG_TITLE.search(tag):
                yield f"{here} shows an <svg> without a <title> or aria-label: say what it shows."


def _alt_texts_of(output: dict, here: str) -> Iterator[str]:
    """The pictures of one output: alt text, and the same as text/plain for a terminal."""
    for kind in _images(output):
        alt = str(output.get("metadata", {}).get(kind, {}).get("alt", ""))
        if len(alt.split()) < ALT_WORDS:
            yield f"{here} shows an image without alt text of {ALT_WORDS} words or more."
        elif alt != _text(output, "text/plain"):
            yield f"{here} shows an image whose alt text is not its text/plain."


def ignored(notebook: Notebook) -> Iterator[str]:
    """A cell may hide its output from nbval only as a timing or a picture, and must be one."""
    for here, cell in notebook.located("code"):
        tags = tags_of(cell)
        source = source_of(cell)
        shown = cell.get("outputs", [])
        hidden = [tag for tag in tags if NBVAL_TAG.fullmatch(tag)]
        for marker in hidden + NBVAL_COMMENT.findall(source):
            yield f"{here} is kept from nbval by {marker!r}; only the tag {IGNORE} is allowed."
        if IGNORE in tags and "timing" not in tags and "picture" not in tags:
            yield f"{here} ignores its output, but is tagged neither timing nor picture."
        if "timing" in tags and not any(map(_is_measured, shown)):
            yield f"{here} is tagged timing, but shows no `NUMBER UNIT (measured on DEVICE)`."
        if "timing" in tags and not _asks_a_clock(source):
            yield f"{here} is tagged timing, but calls no clock, such as timeit or perf_counter."
        if "picture" in tags and not any(map(_images, shown)):
            yield f"{here} is tagged picture, but shows none."


def _images(output: dict) -> list[str]:
    return [kind for kind in output.get("data", {}) if kind.startswith("image/")]


def _text(output: dict, kind: str) -> str:
    return "".join(output.get("data", {}).get(kind, ""))


def _is_measured(output: dict) -> bool:
    """Does its text, or its HTML without the tags, hold a measured quantity?"""
    without_tags = re.sub(r"<[^>]*>", " ", _text(output, "text/html"))
    html = " ".join(without_tags.split())
    texts = ("".join(output.get("text", "")), _text(output, "text/plain"), html)
    return any(MEASURED.search(text) for text in texts)


def _asks_a_clock(source: str) -> bool:
    """Does the code call something that reads a clock?"""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic: IPython's grammar, not Python's
        return bool(CLOCK_MAGIC.search(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if CLOCK.fullmatch(name):
                return True
    return False
