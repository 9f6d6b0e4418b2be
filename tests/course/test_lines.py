"""tools/lines.py: what counts as a line and as a token, and what it says."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "lines.py"
spec = importlib.util.spec_from_file_location("lines", TOOL)
lines = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lines)


@pytest.mark.parametrize(
    ("source", "code", "tokens"),
    [
        ("", 0, 0),
        ("#!/bin/sh\n\n# only\n", 0, 0),
        ('"""Text\n\nof a module."""\n', 0, 0),
        ('class A:\n    """Text."""\n\n    x: int  # 1\n', 2, 6),
        ('async def f():\n    "text"\n', 1, 6),
        ("f(\n    1,\n    # two\n\n    2,\n)\n", 4, 7),
        ('x = """\na # no comment\n\n"""\n', 3, 3),
        ("x = 1; y = 2", 1, 7),
        ("x = \\\n    1\n", 2, 3),
    ],
)
def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings(source, code, tokens):
    assert lines.size_of(source) == (code, tokens)


def test_rooms_and_the_densest_files_are_told(tmp_path):
    for name, text in {
        "core.py": '"""Core."""\n\na = 1  # one\nb = """\n\n"""\n',
        "gpu/simt.py": "a = 1\n\n# a comment\n",
        "gpu/deep/x.py": 'def f():\n    """Two\n    lines."""\n    return 1\n',
        "fpga/top.v": "a\nb\nc\n",
        "data/big.py": "a\n" * 99,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    header, *rest = lines.report(tmp_path).splitlines()
    assert header.split() == ["lines", "tokens", "per", "line"]
    assert [row.split() for row in rest[:3]] == [
        ["gpu", "3", "3.3"],
        ["ground", "floor", "3", "2.0"],
        ["together", "6", "2.7"],
    ]
    assert "micrograd 8.3, nanoGPT 8.4, minitorch 7.7" in rest[4]
    assert rest[7].split() == ["gpu/deep/x.py", "2", "3.5"]
