"""Which statements of a notebook its answers need, and which can be left out."""

import pytest

from labkit.course.grading.slices import needed, statements, without_magic


def lines_for(text, id="gpu.x"):
    """The lines that are run for an exercise."""
    found = statements(1, text)
    return [one.line for one in needed(found, [s for s in found if id in s.checks])]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "import numpy as np\nimport os\ndef f(x):\n    return np.sum(x)\ncheck('gpu.x', f)",
            [1, 3, 5],
        ),
        (
            "def g():\n    return 1\ndef f():\n    return g()\nprint(f())\ncheck('gpu.x', f)",
            [1, 3, 6],
        ),
        (
            "t = []\nt.append(3)\nu = []\nu.append(4)\nf = lambda: t\ncheck('gpu.x', f)",
            [1, 2, 5, 6],
        ),
        ("t = [0]\nt[0] = 1\nt[0] += 1\nf = lambda: t\ncheck('gpu.x', f)", [1, 2, 3, 4, 5]),
        ("n = 1\nn = n + 1\nf = lambda: n\ncheck('gpu.x', f)", [1, 2, 3, 4]),
        ("import plt\nplt.show(3)\nf = lambda: 1\ncheck('gpu.x', f)\nf()", [3, 4]),
        ("f = 1\ncheck('gpu.y', f)\ng = 2\ncheck('gpu.x', g)", [3, 4]),
        ("f = 1\nf = check('gpu.y', f)\ng = lambda: f\ncheck('gpu.x', g)", [1, 2, 3, 4]),
        ("for n in range(3):\n    a = n\nf = lambda: a\ncheck('gpu.x', f)", [1, 3, 4]),
        (
            "try:\n    import a\nexcept ImportError:\n    a = 1\nf = lambda: a\ncheck('gpu.x', f)",
            [1, 5, 6],
        ),
        ("def f():\n    global n\n    n = 1\nn = 0\ncheck('gpu.x', f)", [1, 5]),
        ("n = 0\ndef f():\n    global n\n    n += 1\ncheck('gpu.x', f)", [1, 2, 5]),
        ("@cuda.jit\ndef f():\n    pass\nx = check('gpu.x', f)", [2, 4]),
        (
            "check('gpu.x', lambda: 1)\ncheck(1, 2)\ncheck('gpu.y')\nlabkit.check('gpu.x', 1)",
            [1, 4],
        ),
    ],
)
def test_what_is_needed(text, lines):
    assert lines_for(text) == lines


def test_lines_of_ipython_keep_their_place():
    text = "%matplotlib inline\nx = 1\n!rm -rf /\nhelp?\ny = x % 2  # why?\n"
    assert without_magic(text).splitlines()[1] == "x = 1"
    assert [one.line for one in statements(1, without_magic(text))] == [1, 2, 3, 4, 5]
    assert without_magic("%%bash\nls\n") == ""


def test_a_notebook_of_twenty_thousand_statements_is_read():
    text = "a = 1\n" * 20_000 + "check('gpu.x', a)"
    assert len(lines_for(text)) == 20_001


@pytest.mark.parametrize("part", ["-{}", "not {}", "({})", "{}.b", "{} + a", "f({})", "{}[0]"])
def test_a_statement_of_any_depth_ends_nobody(part):
    before, _, after = part.partition("{}")
    with pytest.raises((SyntaxError, RecursionError, MemoryError)):
        statements(1, before * 100_000 + "a" + after * 100_000)
