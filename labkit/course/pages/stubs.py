"""The digests of what learners find at first: labkit/checks/stubs.toml, written by the build.

By them `check` knows an answer that nobody has touched yet, and counts no attempt.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from labkit.checks.untouched import digest
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.source.lesson import Lesson

HEAD = "# Written by `labkit build`: the digest of what a notebook has at first, by exercise.\n"
CHECKED = re.compile(r"\bcheck\(\s*\"([\w.]+)\",\s*(\w+)\s*\)")


def files(lessons: Sequence[Lesson], config: Config) -> list[GeneratedFile]:
    """The digests as they should be; none in a course without lessons."""
    found = {id: digest(text) for lesson in lessons for id, text in stubs_of(lesson)}
    rows = "".join(f'"{id}" = "{found[id]}"\n' for id in sorted(found))
    path = config.course_root() / "labkit" / "checks" / "stubs.toml"
    return [GeneratedFile(path, (HEAD + rows).encode())] if lessons else []


def stubs_of(lesson: Lesson) -> Iterator[tuple[str, str]]:
    """Each exercise with the text that the learner's notebook gives to `check`."""
    texts: dict[str, str] = {}
    for cell in lesson.cells:
        if cell.type != "code":
            continue
        texts |= _named_texts(cell.learner)
        for id, name in CHECKED.findall(cell.learner):
            if name in texts:
                yield id, texts[name]


def _named_texts(code: str) -> dict[str, str]:
    """What a cell defines: functions, and names that stand for a text."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a magic: IPython's grammar
        return {}
    found = {}
    lines = code.splitlines()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                found[name] = "\n".join(lines[first - 1 : node.end_lineno])
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                found[name] = text
    return found
