"""The rules every stored notebook obeys. Tests, `labkit build --check` and `verify` share them.

Each rule takes a notebook and its name and yields a sentence for whatever is wrong. pytest --nbval
is blind to a cell without an execution count and to whatever a cell tells it to ignore, so these
rules look exactly there.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from labkit.course import CourseError, links, notebook
from labkit.course.config import Config
from labkit.course.notebook import located, markdown, source_of, tags_of
from labkit.course.prose import headings, words

LARGEST = 1  # MB of a notebook file
CELLS = 35
CODE_LINES = 20  # of one cell, empty ones too
SENTENCE_WORDS = 3  # what must stand above a code cell, headings apart
# The level-2 headings of a lesson, in this order, by how they begin.
SECTIONS = ("What you will be able to do", "Predict", "Build", "Check", "Measure", "Explain")
SECTIONS += ("On trial", "Recap", "Quiz")
ALT_WORDS = 5  # fewer cannot say what a picture shows
MEASURED = re.compile(r"\d\S* \S+ \(measured on [^)]+\)")  # as `labkit.provenance` prints it
CLOCK = re.compile(r"timeit|(perf_counter|process_time|monotonic)(_ns)?|measure_\w+|benchmark\w*")
IGNORE = "nbval-ignore-output"
# Everything else by which a cell can tell nbval not to compare it.
NBVAL_TAG = re.compile(r"nbval-(?!ignore-output$|check-output$).*|raises-exception")
NBVAL_COMMENT = re.compile(r"#\s*(?:NBVAL_\w+|PYTEST_VALIDATE_\w+)")


def examine(path: Path, config: Config) -> list[str]:
    """Every broken rule of one notebook file, as sentences."""
    name, size = config.relative(path), path.stat().st_size / 1e6
    if size > LARGEST:
        return [f"{name} has {size:.1f} MB; the limit is 1 MB: show fewer or smaller pictures."]
    try:
        made = notebook.read(path, name)
    except CourseError as error:
        return [str(error)]
    rules = (kernelspec, counts, outputs, untouched, alt_texts, ignored)
    rules += (lengths, explained, sections)
    return [sentence for rule in rules for sentence in rule(made, name)] + links.dead(path, config)


def kernelspec(made: dict, name: str) -> Iterator[str]:
    spec = made["metadata"].get("kernelspec", {})
    if spec != notebook.KERNELSPEC:
        yield f"{name} has the kernelspec {spec.get('name')!r}, not python3 of the course."


def counts(made: dict, name: str) -> Iterator[str]:
    seen = []
    for here, cell in located(made, name, "code"):
        seen.append(cell.get("execution_count"))
        if seen[-1] is None:
            yield f"{here} has no execution count, so nbval would compare nothing: build it."
    if None not in seen and seen != [*range(1, len(seen) + 1)]:
        yield f"{name}: the execution counts are {seen}, not 1 to {len(seen)} in order."


def outputs(made: dict, name: str) -> Iterator[str]:
    for here, cell in located(made, name, "code"):
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                yield f"{here} stores an error: {output.get('ename')}."
            if output.get("name") == "stderr":
                said = "".join(output.get("text", "")).strip()
                yield f"{here} writes to stderr, {said[-200:]!r}: a lesson has no warnings."


def untouched(made: dict, name: str) -> Iterator[str]:
    """nbval compares no timing, no picture and no "Runs on:" line, so the digest does."""
    digest = made["metadata"].get("labkit", {}).get("outputs_sha256")
    if digest != notebook.outputs_sha256(made):
        yield f"{name}: its outputs were edited by hand: run `labkit build --force`."


def alt_texts(made: dict, name: str) -> Iterator[str]:
    for here, cell in located(made, name):
        html = source_of(cell) if cell.get("cell_type") == "markdown" else ""
        if re.search(r"!\[\s*\]", html):
            yield f"{here} shows an image without alt text: write ![what it shows](...)."
        for output in cell.get("outputs", []):
            html += _text(output, "text/html")
            for mime in _images(output):
                alt = str(output.get("metadata", {}).get(mime, {}).get("alt", ""))
                if len(alt.split()) < ALT_WORDS:
                    yield f"{here} shows an image without alt text of {ALT_WORDS} words or more."
                elif alt != _text(output, "text/plain"):
                    yield f"{here} shows an image whose alt text is not its text/plain."
        for tag in re.findall(r"<img\b[^>]*>", html, re.I):
            if not re.search(r"\balt\s*=\s*(\"[^\"]*\S[^\"]*\"|'[^']*\S[^']*')", tag):
                yield f'{here} shows an <img> without alt text: add alt="what it shows".'
        for tag in re.findall(r"<svg\b.*?</svg>", html, re.I | re.S):
            if not re.search(r"aria-label\s*=|<title\b", tag):
                yield f"{here} shows an <svg> without a <title> or aria-label: say what it shows."


def _images(output: dict) -> list[str]:
    return [mime for mime in output.get("data", {}) if mime.startswith("image/")]


def _text(output: dict, mime: str) -> str:
    return "".join(output.get("data", {}).get(mime, ""))


def ignored(made: dict, name: str) -> Iterator[str]:
    """A cell may hide its output from nbval only as a timing or a picture, and must be one."""
    for here, cell in located(made, name, "code"):
        tags, shown = tags_of(cell), cell.get("outputs", [])
        hidden = [tag for tag in tags if NBVAL_TAG.fullmatch(tag)]
        for marker in hidden + NBVAL_COMMENT.findall(source_of(cell)):
            yield f"{here} is kept from nbval by {marker!r}; only the tag {IGNORE} is allowed."
        if IGNORE in tags and not {"timing", "picture"} & set(tags):
            yield f"{here} ignores its output, but is tagged neither timing nor picture."
        if "timing" in tags and not any(map(_measured, shown)):
            yield f"{here} is tagged timing, but shows no `NUMBER UNIT (measured on DEVICE)`."
        if "timing" in tags and not _asks_a_clock(source_of(cell)):
            yield f"{here} is tagged timing, but calls no clock, such as timeit or perf_counter."
        if "picture" in tags and not any(map(_images, shown)):
            yield f"{here} is tagged picture, but shows none."


def _measured(output: dict) -> bool:
    """Does its text, or its HTML without the tags, hold a measured quantity?"""
    html = " ".join(re.sub(r"<[^>]*>", " ", _text(output, "text/html")).split())
    texts = ("".join(output.get("text", "")), _text(output, "text/plain"), html)
    return any(map(MEASURED.search, texts))


def _asks_a_clock(source: str) -> bool:
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except SyntaxError:  # a magic: IPython's grammar, not Python's
        return bool(re.search(r"^%{1,2}timeit\b", source, re.M))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = [getattr(func, "attr", getattr(func, "id", "")) for func in called]
    return any(map(CLOCK.fullmatch, names))


def lengths(made: dict, name: str) -> Iterator[str]:
    """Cells and their lines; how long one studies is an estimate, and only has to be there."""
    if (cells := len(made["cells"])) > CELLS:
        yield f"{name} has {cells} cells; a lesson has at most {CELLS}. Cut or split it."
    for here, cell in located(made, name, "code"):
        size = len(source_of(cell).splitlines())
        if size > CODE_LINES:
            yield f"{here} has {size} lines; a code cell has at most {CODE_LINES}, empty ones too."
    minutes = made["metadata"].get("labkit", {}).get("minutes")
    if type(minutes) is not int or minutes < 1:
        yield f"{name} is planned for {minutes!r} minutes; write a whole number of at least 1."


def explained(made: dict, name: str) -> Iterator[str]:
    """Above every code cell, the setup cell apart, stands a sentence that says why."""
    before: dict = {}
    for here, cell in located(made, name):
        if cell.get("cell_type") == "code" and "setup" not in tags_of(cell):
            above = source_of(before) if before.get("cell_type") == "markdown" else ""
            if words(re.sub(r"^#.*", "", above, flags=re.M)) < SENTENCE_WORDS:
                yield f"{here} has no sentence above it that says why."
        before = cell


def sections(made: dict, name: str) -> Iterator[str]:
    titles = [title for level, title in headings("\n\n".join(markdown(made))) if level == 2]
    places = []
    for section in SECTIONS:
        found = [place for place, title in enumerate(titles) if title.startswith(section)]
        places += found[:1]
        if not found:
            yield f"{name} has no section `## {section}`."
    if places != sorted(places):
        yield f"{name}: its sections are not in the order {', '.join(SECTIONS)}."
