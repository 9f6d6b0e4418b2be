"""Which lines of a notebook run."""

import json

import pytest

from numba_simt.command.notebooks import read_cells
from numba_simt.command.running import Program, run


def cells(tmp_path, *sources, **more):
    path = tmp_path / "a.ipynb"
    content = [{"cell_type": "code", "source": one} for one in sources]
    path.write_text(json.dumps({"nbformat": 4, "cells": content} | more))
    return read_cells(path)


@pytest.mark.parametrize(
    ("source", "runs", "left_out"),
    [
        ("x = 1\ny = x % 2", "x = 1\ny = x % 2\n", []),
        ("%pylab\nx = 1", "pass\nx = 1\n", ["%pylab"]),
        ("if True:\n    !ls\nx = 1", "if True:\n    pass\nx = 1\n", ["!ls"]),
        ("files = !ls\nx = 1", "pass\nx = 1\n", ["files = !ls"]),
        ("np.zeros?\nx = 1", "pass\nx = 1\n", ["np.zeros?"]),
        ("%timeit -n 3 f(2)", "f(2)\n", ["%timeit -n 3 f(2) (run once, untimed)"]),
        ("%%time\nx = 1", "\nx = 1\n", ["%%time"]),
        ("%%bash\nls", "\n", ["%%bash"]),
        ('s = """\n%not magic\n"""', 's = """\n%not magic\n"""\n', []),
        ("", "\n", []),
    ],
)
def test_magics_are_left_out_and_lines_keep_their_numbers(tmp_path, source, runs, left_out):
    (cell,) = cells(tmp_path, source)
    assert (cell.code, list(cell.left_out)) == (runs, left_out)


def test_cells_of_an_old_notebook_are_found(tmp_path):
    path = tmp_path / "old.ipynb"
    sheet = {"cells": [{"cell_type": "code", "input": ["a = 1\n", "b"]}]}
    path.write_text(json.dumps({"nbformat": 3, "worksheets": [sheet]}))
    (cell,) = read_cells(path)
    assert cell.code == "a = 1\nb\n" and cell.file == f"{path}, cell 1"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 3}', '{"cells": [{"source": "x"}]}'])
def test_what_is_no_notebook_is_a_sentence(tmp_path, text):
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    with pytest.raises(ValueError, match="is no notebook that can be read"):
        read_cells(path)


def test_a_cell_may_await(tmp_path, capsys):
    cells(tmp_path, "import asyncio\nx = 1", "await asyncio.sleep(0)\nx += 1", "print('x is', x)")
    program = Program(str(tmp_path / "a.ipynb"), [])
    program.check()
    assert run(program).code == 0
    assert "x is 2" in capsys.readouterr().out
