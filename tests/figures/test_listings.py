"""Numbered lines: their numbers, the mark, and HTML that says the same as the plain text."""

import re
from html import unescape

import pytest

from labkit import figures
from labkit.figures import listings
from labkit.figures.listings import as_html, highlighted, is_numbered, numbered

MODULE = """
module pass (input logic a, output logic y);
  /* the first of two lines,
     and the second: a < b */
  assign y = a;  // 8'h3f

endmodule

"""


def plain(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


def test_numbers_are_those_of_the_text():
    lines = numbered(MODULE).splitlines()
    assert lines[0] == "    2 | module pass (input logic a, output logic y);"
    assert lines[-2:] == ["    6 |", "    7 | endmodule"]
    assert all(map(is_numbered, lines))


def test_a_range_and_a_mark():
    lines = numbered(MODULE, range(4, 7), mark=6).splitlines()
    assert lines == [
        "    4 |      and the second: a < b */",
        "    5 |   assign y = a;  // 8'h3f",
        "  > 6 |",
    ]


def test_numbers_of_several_digits_stand_below_each_other():
    lines = numbered("\n".join("abcdefghijk"), range(9, 12)).splitlines()
    assert lines == ["     9 | i", "    10 | j", "    11 | k"]


def test_nothing_to_show():
    assert numbered("") == numbered("\n\n") == numbered(MODULE, range(90, 95)) == ""


@pytest.mark.parametrize("language", listings.LANGUAGES)
def test_html_says_what_the_text_says(language):
    text = numbered(MODULE, mark=5)
    html = as_html(text, language)
    assert [line.rstrip() for line in plain(html).splitlines()] == text.splitlines()
    assert html.count("background: rgba") == 1


def test_no_colour_crosses_a_line():
    for line in highlighted(MODULE, "systemverilog"):
        assert line.count("<span") == line.count("</span>")


def test_kinds_are_told_apart():
    line = highlighted("  assign y = 3;  // three", "systemverilog")[0]
    for name in ("keyword", "number", "comment"):
        assert f"--jp-mirror-editor-{name}-color" in line


def test_without_pygments_the_lines_are_plain(monkeypatch):
    monkeypatch.setitem(listings.LANGUAGES, "systemverilog", ("no_such_module", "Lexer"))
    assert highlighted("a < b;\nc", "systemverilog") == ["a &lt; b;", "c"]


def test_printed_in_a_terminal(capsys):
    figures.listing("a\nb", "systemverilog", mark=2)
    assert capsys.readouterr().out == "    1 | a\n  > 2 | b\n"
