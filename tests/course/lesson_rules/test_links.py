"""Relative links and anchors of pages; external links against a server of our own."""

import http.server
import importlib.util
import threading
from pathlib import Path

import pytest

from labkit.course.config import config
from labkit.course.lesson_rules import links

TOOL = Path(__file__).resolve().parents[3] / "tools" / "links.py"
spec = importlib.util.spec_from_file_location("asked", TOOL)
asked = importlib.util.module_from_spec(spec)
spec.loader.exec_module(asked)


def dead(course, text, page="README.md"):
    (course / page).write_text(text)
    return links.dead(course / page, text, config(course))


@pytest.mark.parametrize(
    "text",
    [
        "[a](pyproject.toml) [b](chapters/01_gpu/README.md) [c](chapters/)",
        "# Some `code`, and more!\n[a](#some-code-and-more)",
        "# Twice\n# Twice\n[a](#twice) [b](#twice-1)",
        '<a id="here"></a>\n[a](#here) [b](README.md#here "a title")',
        "[claim](chapters/01_gpu/1_tiny.ipynb#C02)",
        "[heading](chapters/01_gpu/1_tiny.ipynb#what-you-will-be-able-to-do)",
        "[as JupyterLab](chapters/01_gpu/1_tiny.ipynb#What-you-will-be-able-to-do)",
        "![picture](pyproject.toml)  [mail](mailto:a@b.c) [web](https://example.org/none)",
        "```\n[code](none.md)\n```\n`[more](none.md)`",
        "[ref][r]\n\n[r]: pyproject.toml",
        "[with space](<with%20space.md>)",
    ],
)
def test_live_links(course, text):
    (course / "with space.md").write_text("# x")
    assert dead(course, text) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a](none.md)", "no such file"),
        ("![a](none.png)", "no such file"),
        ('<img src="none.png" alt="x">', "no such file"),
        ("[ref][r]\n\n[r]: none.md", "no such file"),
        ("[a](#nowhere)", "no anchor `nowhere`"),
        ("# Title\n[a](#Title)", "no anchor `Title`"),
        ("[a](chapters/01_gpu/1_tiny.ipynb#C03)", "no anchor `C03`"),
        ("[a](pyproject.toml#x)", "only pages and notebooks"),
        ("[a](/etc/passwd)", "out of the repository"),
        ("[![badge](none.svg)](pyproject.toml)", "none.svg"),
        ("[a](chapters/01_gpu/broken.ipynb#C03)", "not valid JSON"),
    ],
)
def test_dead_links(course, text, words):
    (course / "chapters/01_gpu/broken.ipynb").write_text("{")
    found = dead(course, text)
    assert len(found) == 1 and found[0].startswith("README.md links to ") and words in found[0]


def test_pages_are_the_top_level_and_the_chapters(course):
    (course / "README.md").write_text("# Hi")
    assert [config(course).relative(path) for path in links.pages(config(course))] == [
        "CLAIMS.md",
        "README.md",
        "chapters/01_gpu/README.md",
    ]


@pytest.fixture
def server():
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response({"/gone": 404, "/away": 410, "/moody": 500}.get(self.path, 200))
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_address[1]}"
        served.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("paths", "code", "words"),
    [
        (["/fine"], 0, "1 external links: 0 gone, 0 without an answer."),
        (["/fine", "/gone", "/away"], 1, "3 external links: 2 gone"),
        (["/moody"], 0, "0 gone"),
    ],
)
def test_external_links_are_asked_for(course, server, capsys, paths, code, words):
    text = " ".join(f"[a]({server}{path}#part)" for path in paths)
    (course / "README.md").write_text(text)
    assert asked.ask_all(config(course)) == code
    printed = capsys.readouterr().out
    assert words in printed and "(README.md)" in printed


def test_no_network_is_said_and_is_no_failure(course, capsys):
    (course / "README.md").write_text("[a](http://127.0.0.1:9/none)")
    assert asked.ask_all(config(course)) == 0
    assert "no network" in capsys.readouterr().out
