"""A learner's first minutes, in a real browser: start page, lesson, Run All, no error."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import pytest

from labkit.course.catalogue import CHAPTERS, readable
from labkit.course.config import config
from labkit.distributed.tensorflow.turns import free_ports

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
TOKEN = "a-token-for-the-test"
PATIENCE = 600  # seconds for whatever is waited for: it only ends a hang
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser: none of {', '.join(BROWSERS)} in PATH"
)


@contextmanager
def server(work, log):
    """`labkit lab` on a work folder of its own; ended when the test is over."""
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed")
    port = next(free_ports())
    command = [sys.executable, "-m", "labkit", "lab", "--no-browser", f"--port={port}"]
    command += [f"--IdentityProvider.token={TOKEN}", "--ServerApp.port_retries=0"]
    environment = {**os.environ, "LABKIT_WORK": str(work), "LABKIT_PROGRESS": "off"}
    environment |= {"JUPYTER_RUNTIME_DIR": str(work.parent / "run"), "LABKIT_OFFLINE": "1"}
    with open(log, "w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        wait_for(port, process, log)
        yield f"http://127.0.0.1:{port}/?token={TOKEN}"
    finally:
        process.terminate()  # JupyterLab ends its kernels, then itself
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(port, process, log):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=PATIENCE):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@pytest.fixture
def page():
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=BROWSER, args=FLAGS, timeout=1000 * PATIENCE
        )
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(1000 * PATIENCE)
        yield page
        browser.close()


def menu(page, title, command):
    page.get_by_role("menuitem", name=title, exact=True).click()
    page.locator(f'.lm-Menu [data-command="{command}"]').first.click()


def wait_for_idle(page):
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()


def run_all(page, path):
    """Run all, save until every cell of the copy has a count; the copy's code cells."""
    wait_for_idle(page)
    menu(page, "Run", "runmenu:run-all")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        page.wait_for_timeout(1000)
        menu(page, "File", "docmanager:save")
        page.wait_for_timeout(500)
        cells = stored(path)
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        if code and all(cell["execution_count"] for cell in code):
            wait_for_idle(page)
            return code
    pytest.fail(f"The lesson did not run to its end in {PATIENCE} s.")


def stored(path):
    """The cells of a notebook; none while JupyterLab is writing it."""
    try:
        return json.loads(path.read_text())["cells"]
    except json.JSONDecodeError:
        return []


@pytest.mark.night(instead="tests/course/test_copies.py::test_jupyter_gets_a_copy_of_the_lesson")
def test_the_lesson_opens_from_the_start_page_and_runs_to_its_end(page, tmp_path):
    lesson, work = readable(config(), CHAPTERS[0])[0][0], tmp_path / "work"
    original, mine = lesson.notebook("learner"), work / f"{lesson.name}.ipynb"
    stored = original.read_bytes()
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    with server(work, tmp_path / "lab.log") as url:
        page.goto(url)
        link = page.locator(".jp-MarkdownViewer").get_by_role("link", name=lesson.title)
        link.wait_for()
        assert not mine.exists()
        link.click()
        code = run_all(page, mine)
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs and not [o for o in outputs if o["output_type"] == "error"]
    assert original.read_bytes() == stored
    assert not [url for url in requests if url.startswith("http") and "127.0.0.1" not in url]
