"""Chapter 01's page of what GPUs said, and README's row, from faked reports."""

import ast
import copy
import json
from pathlib import Path

import pytest

from labkit.course import CourseError
from labkit.course.build import build
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.lesson_rules import links
from labkit.course.pages import measured
from labkit.course.verify import refusals
from labkit.gpu.report import folder
from labkit.provenance import counted, predicted
from labkit.provenance import measured as read_off

ROOT = Path(__file__).parents[3]
GPU = "NVIDIA Faked 1"
README = "# A course\n\n| what | state |\n|---|---|\n| an NVIDIA GPU | old |\n| a TPU | not run |\n"


def number(quantity):
    """As report.json has it."""
    return {
        "value": float(quantity),
        "unit": quantity.unit,
        "word": quantity.word,
        "source": quantity.source,
    }


def row(what, *, ok=None, says="", lesson="", state="done", **numbers):
    """A row of a section; `numbers` by their names, with _ for a space."""
    named = {name.replace("_", " "): number(n) for name, n in numbers.items()}
    found = {"what": what, "state": state, "numbers": named, "ok": ok, "says": says}
    return found | ({"lesson": lesson} if lesson else {})


def section(*rows, state="done", why=""):
    return {"state": state, "why": why, "seconds": 1.0, "rows": list(rows)}


TILES = row(
    "tiles, beside coalesced",
    lesson="tiles",
    says="the published | number is close",
    here=read_off(2.0, "times as fast", GPU),
    in_the_lesson=predicted(1.5, "times as fast", "somebody"),
)
REPORT = {
    "schema": folder.SCHEMA,
    "dry": False,
    "date": "2026-12-01",
    "gpu": {"name": GPU, "driver": "580.1"},
    "system": "linux 6.1, x86_64",
    "versions": {"numba": "0.62", "triton": None},
    "tools": {"ncu": None},
    "seconds": 400.0,
    "sections": {
        "results": section(row("gpu.im2col", ok=True), row("gpu.tiled", ok=False, says="WRONG")),
        "speeds": section(row("matmul: naive", ok=True), row("copy", state="not here", says="no")),
        "counters": section(row("row sum", state="failed", says="ncu is old")),
        "hazards": section(state="stopped", why="It did not end within 130 seconds."),
        "lessons": section(
            TILES, row("case 2", state="not reached", lesson="what_limits_a_kernel")
        ),
    },
}


def put(course, name="nvidia_faked_1", page="# A report\n", **changes):
    """A report in the course's folder for them."""
    there = course / measured.REPORTS / name
    folder.write(copy.deepcopy(REPORT) | changes, page, there)
    return there


@pytest.fixture
def course(course):
    """A built course that has a README and a folder of results, with no report in it."""
    (course / measured.RESULTS).mkdir(parents=True)
    (course / "README.md").write_text(README)
    return course


def files(course):
    """The page and README as they should be."""
    page, readme = measured.files(config(course))
    return page.data.decode(), readme.data.decode()


def test_a_course_without_results_has_no_such_page(bare_course):
    assert measured.files(config(bare_course)) == []


def test_without_a_report_the_page_says_so_which_command_makes_one_and_how_to_send_it(course):
    page, readme = files(course)
    assert "Nothing of this chapter was measured yet" in page and "`make gpu-report`" in page
    assert page.count("Not yet measured.") == len(measured.LESSONS)
    for step in ("benchmarks/results/gpu/<device>/", "`labkit build`", "pull request"):
        assert step in page
    assert "| an NVIDIA GPU | not run: no kernel" in readme and f"({measured.PAGE}) |" in readme
    assert readme.endswith("| a TPU | not run |\n") and "old" not in readme


def test_a_report_stands_beside_the_predictions_with_the_word_and_the_device(course):
    put(course)
    page, readme = files(course)
    assert "was measured yet" not in page
    assert f"## {GPU}\n\n**Measured** on 2026-12-01, driver 580.1, numba 0.62: " in page
    beside = "here 2 times as fast | in the lesson 1.5 times as fast (predicted) | 25 % too low"
    assert f"| tiles, beside coalesced | {GPU} | {beside} | the published \\| number is" in page
    assert f"| case 2 | {GPU} | not reached |" in page
    assert page.count("Not yet measured.") == len(measured.LESSONS) - 2
    short = "1 of 2 kernels right, 1 of 1 goals of speed reached, 0 of 1 kernels counted alike"
    assert f"| an NVIDIA GPU | measured on {GPU}, 2026-12-01: {short}" in readme
    assert "hazards not run" in readme


def test_nothing_that_went_wrong_is_hidden(course):
    put(course)
    page, _ = files(course)
    assert "- Not as it should be, results: gpu.tiled: WRONG" in page
    assert "- Not as it should be, counters: row sum: ncu is old" in page
    assert "- Not as it should be, lessons: case 2: not reached" in page
    assert "- Section hazards: It did not end within 130 seconds." in page
    assert "\n\n\n" not in page
    assert "copy: no" not in page, "what could not run here is in the report's own page"


def test_several_reports_stand_one_below_the_other(course):
    put(course, "a")
    put(course, "b", gpu={"name": "Other GPU"})
    page, readme = files(course)
    assert page.index(f"## {GPU}") < page.index(
        "## Other GPU\n\n**Measured** on 2026-12-01, driver"
    )
    assert "driver unknown" in page and page.count("| tiles, beside coalesced |") == 2
    assert f"measured on {GPU}, " in readme and "; on Other GPU, 2026-12-01: " in readme


@pytest.mark.parametrize(
    ("said", "here", "words"),
    [
        (2.0, 2.0, "equal"),
        (3.0, 2.0, "50 % too high"),
        (1.0, 4.0, "75 % too low"),
        (1.001, 1.0, "less than 1 % too high"),
        (1.0, 0.0, "nothing was measured to compare with"),
    ],
)
def test_a_miss_is_said_in_percent(said, here, words):
    assert measured.gap("x", predicted(said, "s", "us"), read_off(here, "s", GPU)) == words


def test_a_bound_holds_or_is_passed():
    bound = predicted(10.0, "%", "us")
    assert measured.gap("at most", bound, read_off(8.0, "%", GPU)) == "the bound holds"
    assert measured.gap("at most", bound, read_off(20.0, "%", GPU)) == "50 % too low"


def test_numbers_of_different_units_are_not_compared():
    numbers = {
        "here": read_off(3.0, "times as fast", GPU),
        "counted": counted(9, "times less", "us"),
    }
    assert measured.beside(row("x", **numbers))[2] == ""


def test_of_two_predictions_each_is_compared_by_its_name():
    numbers = {"L2": read_off(2.0, "B", GPU), "least": counted(1, "B", "us")}
    numbers["most"] = counted(4, "B", "us")
    assert measured.beside(row("x", **numbers))[2] == "least: 50 % too low; most: 100 % too high"


def spoil_json(there):
    (there / "report.json").write_text("{")


def other_schema(there):
    (there / "report.json").write_text(json.dumps(REPORT | {"schema": 2}))


def no_page(there):
    (there / "report.md").unlink()


def no_report(there):
    (there / "report.json").unlink()


def unknown_lesson(there):
    found = copy.deepcopy(REPORT)
    found["sections"]["lessons"]["rows"][0]["lesson"] = "knitting"
    (there / "report.json").write_text(json.dumps(found))


def dry(there):
    found = copy.deepcopy(REPORT) | {"dry": True}
    found["sections"] = {}
    (there / "report.json").write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_json, "report.json cannot be read"),
        (no_report, "report.json cannot be read"),
        (other_schema, "report.json is not of schema 1"),
        (no_page, "has no report.md"),
        (unknown_lesson, "names the lesson 'knitting'"),
        (dry, "is of a dry run, which measures nothing"),
    ],
)
def test_what_is_no_report_of_a_gpu_is_refused_by_its_name(course, spoil, words):
    spoil(put(course))
    with pytest.raises(CourseError) as caught:
        measured.files(config(course))
    assert str(caught.value).startswith("benchmarks/results/gpu/nvidia_faked_1")
    assert words in str(caught.value)
    assert [str(caught.value)] == refusals([], Course(config(course)))


def test_a_readme_without_the_row_is_told_what_to_write(course):
    (course / "README.md").write_text("# A course\n")
    with pytest.raises(CourseError, match=r"README\.md has 0 rows"):
        measured.files(config(course))


def test_a_build_writes_both_and_a_check_refuses_what_is_stale(course, no_kernel, capsys):
    stale = [
        f"{name} is not what the reports of GPUs say: run `labkit build`."
        for name in (measured.PAGE, "README.md")
    ]
    assert refusals([], Course(config(course))) == stale
    assert build(config(course)) == 0
    assert f"{measured.PAGE}: written\nREADME.md: written" in capsys.readouterr().out
    assert refusals([], Course(config(course))) == []
    put(course)
    assert refusals([], Course(config(course))) == stale
    build(config(course))
    assert GPU in (course / measured.PAGE).read_text()
    assert GPU in (course / "README.md").read_text()
    (course / measured.PAGE).write_text("by hand")
    assert refusals([], Course(config(course))) == stale[:1]


def test_the_links_of_the_courses_own_page_lead_somewhere():
    here = config(ROOT)
    page = ROOT / measured.PAGE
    assert links.dead(page, page.read_text(), here) == []
    target = f"{measured.UP}{measured.REPORTS}/any/report.md"
    assert (page.parent / target).resolve() == ROOT / measured.REPORTS / "any" / "report.md"


def test_every_lesson_that_a_row_of_the_report_names_has_its_place_on_the_page():
    lessons = {lesson.plain_name for lesson in Course(config(ROOT)).lessons("01_gpu")}
    named = set()
    for path in (ROOT / "labkit/gpu/report/sections").glob("*.py"):
        if path.stem == "results":  # which goes through the exercises of all lessons
            continue
        nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
        sources = {node.args[0] for node in nodes if of_a_lesson(node)}  # of kernels, not of rows
        others = [node for node in nodes if isinstance(node, ast.Constant) and node not in sources]
        named |= {node.value for node in others} & lessons
    assert named and named <= measured.LESSONS.keys()


def of_a_lesson(node):
    """Whether this is a call of `module_of`, which hands out a lesson's module."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "module_of"
