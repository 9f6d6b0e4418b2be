"""Tables: what a column shares stands in its head, and the plain text says what the HTML says."""

import re

import numpy as np
import pytest

from labkit import figures
from labkit.figures import tables
from labkit.provenance import compiled, counted, measured, predicted, published

TRAFFIC = [
    ["coalesced", counted(0.4, "FLOP/B", "the SIMT machine"), 2.0],
    ["tiled", counted(7.62, "FLOP/B", "the SIMT machine"), 2.0625],
]


def printed(capsys, *given, **named) -> list[str]:
    figures.table(*given, **named)
    return capsys.readouterr().out.splitlines()


def displayed(monkeypatch, *given, **named) -> dict[str, str]:
    """What a notebook gets: the forms of the table by their type."""
    shown = []
    monkeypatch.setattr(tables, "in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    figures.table(*given, **named)
    (data,) = shown
    return data


def test_unit_and_word_stand_once_in_the_head(capsys):
    lines = printed(capsys, ["kernel", "traffic", "passes"], TRAFFIC)
    assert [line.split() for line in lines] == [
        ["kernel", "traffic", "passes"],
        ["FLOP/B,", "counted"],
        ["coalesced", "0.4", "2"],
        ["tiled", "7.62", "2.06"],
        ["counted", "by", "the", "SIMT", "machine"],
    ]


def test_numbers_stand_at_the_right_and_words_at_the_left(capsys):
    head, *rows = printed(capsys, ["name", "cycles"], [["a", 7], ["longer", 12_345]])
    assert head == "name    cycles"
    assert rows == ["a            7", "longer  12,345"]


def test_where_words_or_sources_differ_each_cell_says_its_own(capsys):
    rows = [
        ["v2", published(625, "mm²", "one paper"), predicted(4.5e12, "FLOP/s", "its peak")],
        ["v3", published(700, "mm²", "another"), measured(1.2e14, "FLOP/s", "a v3")],
    ]
    said = "\n".join(printed(capsys, ["chip", "die", "speed"], rows))
    assert "mm², published" in said and "625 [1]" in said and "700 [2]" in said
    assert "4.5 TFLOP/s, predicted [3]" in said and "120 TFLOP/s, measured [4]" in said
    for line in ("[1] published in one paper", "[2] published in another"):
        assert line in said


def test_each_number_stands_in_the_table_and_below(capsys):
    rows = [
        ["v2", published(625, "mm²", "one paper"), predicted(0.1, "TFLOP/s/mm²", "peak over area")],
        ["v3", published(700, "mm²", "another"), predicted(0.2, "TFLOP/s/mm²", "peak over area")],
    ]
    lines = printed(capsys, ["chip", "die", "density"], rows)
    assert lines[-3:] == [
        "[1] published in one paper",
        "[2] published in another",
        "density: predicted by peak over area",
    ]


def test_columns_with_a_source_each_are_told_apart(capsys):
    rows = [["a", counted(1, "B", "us"), counted(2, "B", "us"), compiled(3, "cycles", "libtpu")]]
    lines = printed(capsys, ["layer", "read", "written", "cost"], rows)
    assert lines[-2:] == ["read, written: counted by us", "cost: compiled by libtpu"]


def test_a_shared_source_stands_below_without_a_number(capsys):
    rows = [["a", compiled(3, "cycles", "libtpu")], ["b", compiled(5000, "cycles", "libtpu")]]
    lines = printed(capsys, ["layer", "cost"], rows, note="Nothing has run.")
    assert lines[-2:] == ["compiled by libtpu", "Nothing has run."]
    assert lines[-3].split() == ["b", "5,000"]


def test_every_kind_of_cell(capsys):
    row = ["text", True, np.bool_(False), None, 1234567, np.int64(5), 0.123456, np.float32(2.5)]
    lines = printed(capsys, list("abcdefgh"), [row])
    assert lines[1].split() == ["text", "yes", "no", "-", "1,234,567", "5", "0.123", "2.5"]


def test_the_notebooks_html_has_the_same_words(monkeypatch):
    data = displayed(monkeypatch, ["kernel", "traffic", "passes"], TRAFFIC, note="Ours.")
    html = re.sub(r"<[^>]+>", " ", data["text/html"])
    assert sorted(html.split()) == sorted(data["text/plain"].split())
    assert data["text/html"].count('<th scope="row"') == 2


def test_html_is_escaped(monkeypatch):
    data = displayed(monkeypatch, ["a < b"], [["<script>"]], note="x & y")
    assert "<script>" not in data["text/html"] and "a &lt; b" in data["text/html"]
    assert "x &amp; y" in data["text/html"] and "<script>" in data["text/plain"]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="Row 2 of the table has 1 cells, and there are 2 heads"):
        figures.table(["a", "b"], [[1, 2], [3]])


def test_a_table_without_rows_has_its_heads(capsys):
    assert printed(capsys, ["a", "b"], []) == ["a  b"]
