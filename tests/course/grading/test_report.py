"""The table and the page: nothing in them is taken for a formula, or for HTML."""

import csv
import json

from labkit.course.grading.command import printable
from labkit.course.grading.grading import Verdict
from labkit.course.grading.report import Graded, as_csv, as_html, harmless

EVIL = "<script>alert(1)</script>"
ONE = Graded(
    "=HYPERLINK(1)",
    f"{EVIL}.ipynb",
    "01_gpu/6_tiles",
    EVIL,
    [Verdict("gpu.x", "Right", EVIL, EVIL, "apart"), Verdict("gpu.y", "No answer")],
    [["gpu.guess", EVIL, "GB/s"]],
    [["gpu.quiz", "b", True], ["gpu.other", EVIL, False], ["gpu.third", "c", None]],
    [f"I think that {EVIL}"],
    ["+1 note"],
)
NOTHING = Graded("-berta", "b.txt", notes=["This is no notebook."])


def test_no_field_is_a_formula():
    rows = list(csv.DictReader(as_csv([ONE, NOTHING]).decode().splitlines()))
    assert [row["student"] for row in rows] == ["'=HYPERLINK(1)"] * 2 + ["'-berta"]
    assert rows[0]["note"] == "'+1 note" and rows[0]["quiz"] == "1 right of 3"
    assert (rows[2]["verdict"], rows[2]["diagnosis"]) == ("Not graded", "This is no notebook.")
    assert harmless("x = 1") == "x = 1"
    for start in (" =", "\n=", "＝", "\u00a0@", "\n"):
        assert harmless(f"{start}1+1") == f"'{start}1+1"


def test_half_a_character_stops_no_report():
    half = Graded("a\udcff", "b\udcff.ipynb", texts=["\ud800"], notes=["\ud800"])
    assert "b\\udcff.ipynb" in as_csv([half, NOTHING]).decode()
    assert "<pre>\\ud800</pre>" in as_html([half, NOTHING], "\udcff", []).decode()
    assert printable("\x1b[2J\udcffé") == r"\x1b[2J\udcffé"


def test_nothing_of_a_student_s_is_html():
    page = as_html([ONE, NOTHING], f"Grades {EVIL}", [EVIL]).decode()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert page.count("Not graded") == 1 and "src=" not in page and "http" not in page


def test_a_state_file_has_all_of_it():
    stored = json.loads(json.dumps(ONE.as_json()))
    assert Graded.from_json(stored) == ONE
