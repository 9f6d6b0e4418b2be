"""Runs a lesson's solution, and then single cells of it again with something changed.

The code cells run one after the other, in one namespace, and every exercise of the lesson must be
told that it is solved: by day this is the proof of the solutions. What the lesson's sentences say
of its numbers (`holds`) must be true there as well. Then a cell runs again in a copy
of that namespace with one thing in it broken or replaced: what the cell prints must follow. Cells
are found by what they say, never by their number.
"""

import contextlib
import io
import linecache

from labkit.course.catalogue import sources
from labkit.course.config import config
from labkit.course.source.lesson import load


class Run:
    """The solution's code cells, the namespace they left behind, and what each printed.

    without   tags of cells that are left out, such as "timing" where no other cell needs them
    """

    def __init__(self, chapter, name, without=()):
        [path] = sources(config(), f"{chapter}/{name}")
        lesson = load(path, name)
        self.cells = []
        self.namespace, self.before, self.printed = {"__name__": "lesson"}, {}, {}
        relations = lesson.relations()
        for place, cell in enumerate(lesson.cells):
            if cell.type == "code" and not {"setup", *without} & set(cell.tags):
                code = cell.solution
                self.cells.append(code)
                self.before[code] = dict(self.namespace)
                self.printed[code] = self.execute(code, self.namespace)
            for one in relations.get(place, ()):
                assert one.holds_in(self.namespace), f"{one.here}: `{one.expression}` is false"
        said = "".join(self.printed.values())
        unsolved = [id for id in lesson.named_in("check") if f"{id} is solved" not in said]
        assert not unsolved, f"{name}: {unsolved} is not solved by the lesson's own solution"

    def cell(self, words):
        (found,) = (code for code in self.cells if words in code)
        return found

    def again(self, *words, **changed):
        """The cells with these words from where the first began, but with some names `changed`.

        Returns what they print and the namespace they leave behind.
        """
        namespace = self.before[self.cell(words[0])] | changed
        said = [self.execute(self.cell(w), namespace) for w in words]
        return "".join(said), namespace

    @staticmethod
    def execute(code, namespace):
        name = f"<lesson {hash(code)}>"  # kernels are compiled from their source
        linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(code, name, "exec"), namespace)
        return said.getvalue()
