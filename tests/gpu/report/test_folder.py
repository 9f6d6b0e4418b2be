"""The folder of a report: its form, and that nothing of the user's gets in."""

import json

import pytest

from labkit.course.pages import measured as measured_page
from labkit.gpu.report import folder
from labkit.gpu.report.page import page, table
from labkit.gpu.report.runner import SECTIONS
from labkit.provenance import measured
from tests.gpu.report.made_up import GPU, made_up, row

HOME = "/".join(["", "home", "ada"])  # no text of the course names a real one


def test_a_report_is_read_as_it_was_written(tmp_path):
    report = made_up()
    folder.write(report, page(report), tmp_path / "new" / "one")
    assert folder.read(tmp_path / "new" / "one") == report


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r | {"schema": 2}, "not of schema 1"),
        (lambda r: {key: r[key] for key in r if key != "versions"}, "lacks versions"),
        (lambda r: [], "not of schema 1"),
        (lambda r: r | {"sections": {"results": {}}}, "not of the form that labkit writes"),
        (lambda r: r | {"gpu": "NVIDIA"}, "not of the form that labkit writes"),
        (lambda r: r | {"dry": True}, "is a dry run and claims a measurement in results"),
    ],
)
def test_what_is_not_of_this_form_is_refused_in_a_sentence(tmp_path, change, said):
    (tmp_path / "report.json").write_text(json.dumps(change(made_up())))
    with pytest.raises(ValueError, match=said):
        folder.read(tmp_path)


def test_a_strangers_text_makes_no_line_and_no_tag_of_its_own(tmp_path):
    report = made_up()
    report["gpu"]["name"] = "A GPU\n\n# Proved <img src=x onerror=alert(1)>"
    report["sections"]["results"]["rows"][0]["says"] = "1 < 2 <b>"
    (tmp_path / "report.json").write_text(json.dumps(report))
    found = folder.read(tmp_path)
    assert found["gpu"]["name"] == "A GPU # Proved &lt;img src=x onerror=alert(1)>"
    assert found["sections"]["results"]["rows"][0]["says"] == "1 < 2 &lt;b>"


def test_a_number_of_no_known_origin_is_refused(tmp_path):
    report = made_up()
    report["sections"]["results"]["rows"][0]["numbers"]["worst error"]["word"] = "guessed"
    (tmp_path / "report.json").write_text(json.dumps(report))
    with pytest.raises(ValueError, match="no known origin in results"):
        folder.read(tmp_path)


def test_a_report_that_cannot_be_read_says_which(tmp_path):
    (tmp_path / "report.json").write_text("{")
    with pytest.raises(ValueError, match=f"{tmp_path.name}: report.json cannot be read"):
        folder.read(tmp_path)


def test_nothing_of_the_users_gets_in(monkeypatch):
    monkeypatch.setattr(folder.getpass, "getuser", lambda: "ada")
    monkeypatch.setattr(folder.socket, "gethostname", lambda: "engine-7.home.example")
    words = folder.private_words()
    said = {
        "why": f"File '{HOME}/course/labkit/gpu/x.py', line 3: engine-7 said no to ada",
        "rows": [
            {"says": r"at C:\Users\ada\x.py; ~/secret/place/kernel.py: 2 B/s, adamant", "n": 3}
        ],
    }
    found = json.dumps(folder.scrubbed(said, words), ensure_ascii=False)
    for private in ("ada/", "/home", "engine-7", "secret", "Users", "to ada"):
        assert private not in found, found
    assert "x.py', line 3" in found and "2 B/s, adamant" in found and '"n": 3' in found
    plain = "lives in root mean squares"
    assert folder.scrubbed(plain, ["ada"]) == plain


def test_common_names_are_left_alone(monkeypatch):
    monkeypatch.setattr(folder.getpass, "getuser", lambda: "root")
    monkeypatch.setattr(folder.socket, "gethostname", lambda: "localhost")
    assert folder.private_words() == []


def test_a_user_without_a_name(monkeypatch):
    def nobody():
        raise KeyError("uid not found")

    monkeypatch.setattr(folder.getpass, "getuser", nobody)
    monkeypatch.setattr(folder.socket, "gethostname", lambda: "box7")
    assert folder.private_words() == ["box7"]


def test_a_folder_is_named_by_its_gpu():
    assert folder.slug("NVIDIA H100 80GB HBM3") == "nvidia_h100_80gb_hbm3"
    assert folder.slug("NVIDIA GeForce RTX 4060 Ti (8 GB)") == "nvidia_geforce_rtx_4060_ti_8_gb"


def test_the_page_says_where_each_number_comes_from():
    said = page(made_up())
    assert "**measured** on NVIDIA H200" in said and "driver 580" in said
    assert (
        "| gpu.relu_kernel | 12 % of what is allowed | checked 10 cases (counted) | right |" in said
    )
    assert "| gpu.block_sum | not run |  | no GPU |" in said
    assert "triton not here" in said
    assert "**It died.** code -6" in said
    for name in SECTIONS:
        assert f"## {SECTIONS[name]['title']}" in said


def test_the_page_of_a_dry_run_claims_nothing():
    report = made_up(dry=True)
    said = page(report)
    assert "nothing in it was measured" in said and "**measured**" not in said
    assert "H200;" not in said


def test_what_is_not_as_it_should_be_stands_out():
    (line,) = table([row("tuned", ok=False, says="missed by 3")])[2:]
    assert line.endswith("| **missed by 3** |")
    (line,) = table([row("a | b", says="two\nlines")])[2:]
    assert "a \\| b" in line and "two lines" in line


def test_a_rate_stands_behind_its_time_and_a_lesson_behind_what_was_tried():
    numbers = {"result": measured(73, "% of cuBLAS", GPU), "ours": measured(3e-3, "s", GPU)}
    numbers |= {"ours, rate": measured(4e13, "FLOP/s", GPU), "cuBLAS": measured(2e-3, "s", GPU)}
    (line,) = table([row("tuned", numbers, lesson="what_limits_a_kernel")])[2:]
    said = "| 73 % of cuBLAS | ours 3 ms at 40 TFLOP/s; cuBLAS 2 ms |  |"
    assert line == f"| tuned (lesson *What limits a kernel*) {said}"


def test_a_report_reaches_the_chapters_page_and_readme(tmp_path):
    """Beside what the lessons predict, with the word, the GPU, and by how much they miss."""
    there = tmp_path / measured_page.REPORTS / "nvidia_h200"
    folder.write(made_up(), page(made_up()), there)
    found = measured_page.reports(tmp_path)
    said = measured_page.page(found)
    assert "**Measured** on 2026-11-28, driver 580" in said and f"## {GPU}" in said
    tiles = "the arithmetic that tiles alone leave | NVIDIA H200 | of the peak 15 %"
    assert tiles in said and "at most, in the lesson 12.5 % (predicted) | 17 % too low" in said
    assert "estimate 12.5 % (predicted) | 56 % too high" in said
    assert "Not as it should be, lessons: the arithmetic that tiles alone leave" in said
    assert "Section hazards: code -6" in said
    assert "measured on NVIDIA H200, 2026-11-28: 1 of 1 kernels right" in (
        measured_page.readme_state(found)
    )
