"""Lines of a module below a message: which ones, and as code when `check` shows them."""

import json
from pathlib import Path

import pytest

from labkit.checks.items import Refused
from labkit.checks.render import Code, Message
from labkit.fpga.errors import RTLError
from labkit.fpga.judging.demands import refused_by_tools
from labkit.fpga.source_view import excerpt, paragraphs, show
from labkit.fpga.sources import RTL, read_sources

TEXT = "\nmodule m (input logic a, output logic y);\n  assign y = ~a;\nendmodule\n"


def test_the_line_and_its_neighbours():
    assert excerpt(TEXT, 3).splitlines() == [
        "    2 | module m (input logic a, output logic y);",
        "  > 3 |   assign y = ~a;",
        "    4 | endmodule",
    ]


def test_at_both_ends():
    assert excerpt(TEXT, 2).splitlines()[0].startswith("  > 2 | module m")
    assert excerpt(TEXT, 4).splitlines()[-1] == "  > 4 | endmodule"


@pytest.mark.parametrize("number", [-1, 0, 5, 99])
def test_no_such_line(number):
    assert excerpt(TEXT, number) == ""


def test_a_message_is_taken_apart():
    lines = excerpt(TEXT, 3)
    assert paragraphs(f"m.sv, line 3: so.\n{lines}\nAnd on.") == [
        "m.sv, line 3: so.",
        Code(lines, "systemverilog"),
        "And on.",
    ]
    assert paragraphs("No line.") == ["No line."]


def test_a_refusal_shows_the_lines_as_code():
    sources = read_sources(TEXT, "m")
    with pytest.raises(Refused) as refused, refused_by_tools():
        raise RTLError("m.sv, line 3: so." + sources.quoted("m.sv", 3), 3)
    assert str(refused.value) == "m.sv, line 3: so."
    message = Message("Look again", str(refused.value), refused.value.details)
    assert "  > 3 |   assign y = ~a;" in str(message)
    assert "background: rgba" in message.html()


def test_a_file_is_shown_whole(capsys):
    show(RTL / "mac.sv")
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == len((RTL / "mac.sv").read_text("utf-8").splitlines())


def test_a_line_has_the_same_number_in_its_cell():
    """JupyterLab numbers the lines of a cell: its first one is that of the opening quotes."""
    chapter = Path(__file__).parents[2] / "chapters" / "03_fpga"
    modules = 0
    for path in chapter.glob("*.ipynb"):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            lines = "".join(cell["source"]).splitlines()
            tags = cell["metadata"].get("tags", [])
            if any(tag.startswith("exercise:") for tag in tags) and "endmodule" in lines:
                assert lines[0].endswith('= r"""') and lines[1].startswith("module")
                modules += 1
    assert modules > 5
