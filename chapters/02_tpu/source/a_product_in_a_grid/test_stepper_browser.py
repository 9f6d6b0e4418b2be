"""The stepper in a real browser: in a saved page without a kernel, and in JupyterLab."""

from datetime import datetime

import nbformat
import numpy as np
import pytest

from labkit.tpu.matrix_unit.pictures import numbering
from labkit.tpu.matrix_unit.systolic import SystolicArray
from labkit_lessons.tpu.a_product_in_a_grid.stepper import Stepper
from tests.notebooks import test_browser as course

pytestmark = pytest.mark.skipif(
    course.BROWSER is None, reason=f"no browser: none of {', '.join(course.BROWSERS)} in PATH"
)
page = course.page

MINE = """\
import numpy as np
from labkit.tpu import SystolicArray
from labkit_lessons.tpu.a_product_in_a_grid.stepper import Stepper

a = np.array([[1, -2, 3], [4, 5, -6]], np.int8)
b = np.array([[7, 8], [-9, 10], [11, -12]], np.int8)
Stepper(SystolicArray(3, 2).matmul(a, b, trace=True))
"""
ACTIVE = ".jp-Notebook .jp-Cell.jp-mod-active .cm-content"
REGISTERS = (
    """pes => pes.map(pe => [...pe.querySelectorAll("span")].map(value => value.textContent))"""
)
LUMINANCES = """pes => pes.map(pe => {
  const style = getComputedStyle(pe);
  return [style.color, style.backgroundColor].map(colour => {
    const parts = colour.match(/[0-9]+/g).slice(0, 3).map(Number).map(part => part / 255);
    const linear = parts.map(c => c > .04045 ? ((c + .055) / 1.055) ** 2.4 : c / 12.92);
    return .2126 * linear[0] + .7152 * linear[1] + .0722 * linear[2];
  });
})"""


def matmul(M, K, N, rows, cols, **options):
    rng = np.random.default_rng(M + K + N)
    a, b = (rng.integers(-9, 10, shape).astype(np.int8) for shape in ((M, K), (K, N)))
    return SystolicArray(rows, cols).matmul(a, b, trace=True, **options)


def mine():
    scope = {}
    exec(MINE.replace("\nStepper(", "\nstepper = Stepper("), scope)
    return scope["stepper"].run


def expected(run, t):
    """What the elements show in cycle t: an empty text where no number came along."""
    cycle = run.trace[numbering(run).index(t)]
    moving = {"ws": ["a", "psum"], "is": ["b", "psum"], "os": ["a", "b"]}[run.dataflow]
    there = cycle.active | cycle.passing
    registers = ["a", "b", "psum", *["spare"] * run.double_buffer]
    return [
        [str(getattr(cycle, r)[at]) if r not in moving or there[at] else "" for r in registers]
        for at in np.ndindex(there.shape)
    ]


def shows(frame, run, t):
    """The frame shows cycle t: its number, its registers, who computes, and the result so far.

    Framed stand the numbers that enter and leave in this very cycle, as in the still picture.
    """
    numbers = numbering(run)
    place = numbers.index(t)
    cycle = run.trace[place]
    limits = f"{numbers[0]} to {numbers[-1]}"
    assert frame.inner_text("#status").startswith(f"cycle {t} of {limits}: {cycle.phase}")
    left_now = [value for *_, value in cycle.leaves.values()]
    moving = [*cycle.left.values(), *cycle.top.values(), *left_now]
    framed = frame.locator(".wait.now").all_inner_texts()
    assert sorted(framed) == sorted(str(value) for value in moving)
    assert frame.input_value("#slider") == str(t)
    assert frame.eval_on_selector_all(".pe", REGISTERS) == expected(run, t)
    kinds = frame.eval_on_selector_all(".pe", "pes => pes.map(pe => pe.className.split(' ')[1])")
    assert [kind == "computing" for kind in kinds] == cycle.active.ravel().tolist()
    so_far = np.zeros(run.result.shape, int)
    until_now = run.trace[: place + 1]
    for before in until_now:
        for i, j, value in before.leaves.values():
            so_far[i, j] += value
    left = {(i, j) for before in until_now for i, j, _ in before.leaves.values()}
    texts = [str(so_far[at]) if at in left else "·" for at in np.ndindex(so_far.shape)]
    assert frame.locator("#result span").all_inner_texts() == texts


def click_slider(page, frame, run, t):
    """With the mouse, where the thumb would stand in cycle t."""
    box = frame.locator("#slider").bounding_box()
    place = numbering(run).index(t)
    x = box["x"] + 8 + (box["width"] - 16) * place / (len(run.trace) - 1)
    page.mouse.click(x, box["y"] + box["height"] / 2)


def opened(page, path, runs):
    """A saved page with a stepper for each run, opened offline; its frames."""
    exporter = pytest.importorskip("nbconvert", reason="nbconvert is not installed").HTMLExporter()
    made = nbformat.v4.new_notebook()
    for run in runs:
        bundle = Stepper(run)._repr_mimebundle_()
        output = nbformat.v4.new_output("execute_result", bundle, execution_count=1)
        made.cells.append(nbformat.v4.new_code_cell("Stepper(run)", outputs=[output]))
    path.write_text(exporter.from_notebook_node(made)[0], "utf-8")
    page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
    page.goto(path.as_uri())
    frames = [found.content_frame() for found in page.locator("iframe").element_handles()]
    assert len(frames) == len(runs)
    for frame in frames:
        frame.wait_for_selector("#status:not(:empty)")
    return frames


RUNS = [
    matmul(3, 4, 2, 4, 2),
    matmul(3, 4, 2, 4, 3, dataflow="is"),
    matmul(2, 5, 4, 3, 3, dataflow="os"),
    matmul(4, 5, 5, 3, 4, double_buffer=True),
]


def test_a_saved_page_steps_through_every_cycle_of_each_dataflow(page, tmp_path):
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    for frame, run in zip(opened(page, tmp_path / "saved.html", RUNS), RUNS, strict=True):
        frame.focus("#slider")
        first, *others = numbering(run)
        shows(frame, run, first)
        for t in others:
            page.keyboard.press("ArrowRight")
            shows(frame, run, t)
        page.keyboard.press("ArrowRight")  # there is no cycle after the last
        shows(frame, run, others[-1])
    assert not errors


@pytest.mark.night(
    instead="chapters/02_tpu/source/a_product_in_a_grid/test_stepper_browser.py::test_a_saved_page_steps_through_every_cycle_of_each_dataflow"
)
def test_mouse_keys_and_buttons_move_one_stepper_and_not_the_other(page, tmp_path):
    run, other = RUNS[0], RUNS[2]
    frame, untouched = opened(page, tmp_path / "saved.html", [run, other])
    first, second, third, *_, last = numbering(run)
    for t in (last, first, 0, second):
        click_slider(page, frame, run, t)
        shows(frame, run, t)
    for key, t in (("End", last), ("ArrowLeft", last - 1), ("Home", first), ("PageDown", second)):
        page.keyboard.press(key)
        shows(frame, run, t)
    for name, t in (("Next", third), ("Last", last), ("Back", last - 1), ("First", first)):
        frame.get_by_role("button", name=name, exact=True).click()
        shows(frame, run, t)
    shows(untouched, other, 0)  # its sums stay: nothing is loaded before
    untouched.get_by_role("button", name="Next", exact=True).click()
    shows(untouched, other, 1)
    shows(frame, run, first)


@pytest.mark.night(
    instead="chapters/02_tpu/source/a_product_in_a_grid/test_stepper_browser.py::test_a_saved_page_steps_through_every_cycle_of_each_dataflow"
)
def test_space_plays_to_the_end_and_pauses(page, tmp_path):
    """On the browser's clock, which the test moves: a step is due every 700 ms."""
    run = RUNS[0]
    page.clock.install(time=datetime(2026, 1, 1))
    (frame,) = opened(page, tmp_path / "saved.html", [run])
    page.clock.pause_at(datetime(2026, 1, 2))
    frame.focus("#slider")
    page.keyboard.press("Space")
    page.clock.run_for(2 * 700)
    third = numbering(run)[2]
    shows(frame, run, third)
    page.keyboard.press("Space")
    page.clock.run_for(10 * 700)
    shows(frame, run, third)
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    assert frame.inner_text("#play") == "Pause"
    page.clock.run_for(2 * 700)  # to the last cycle, and to the end
    assert frame.inner_text("#play") == "Play"
    shows(frame, run, numbering(run)[-1])


@pytest.mark.night(
    instead="chapters/02_tpu/source/a_product_in_a_grid/test_stepper_browser.py::test_a_saved_page_steps_through_every_cycle_of_each_dataflow"
)
def test_an_element_is_read_under_the_mouse_and_with_the_keyboard(page, tmp_path):
    run = matmul(4, 3, 3, 3, 3)
    (frame,) = opened(page, tmp_path / "saved.html", [run])
    cycles = dict(zip(numbering(run), run.trace, strict=True))
    t = next(t for t, cycle in cycles.items() if cycle.active[1, 1])
    click_slider(page, frame, run, t)

    def reads(i, j):
        said = frame.inner_text("#reading")
        assert said.startswith(f"Row {i}, column {j}:")
        cycle = cycles[t]
        if cycle.active[i, j]:
            above = cycles[t - 1].psum[i - 1, j] if i else 0
            a, b = cycle.a[i, j], cycle.b[i, j]
            product = f"{a} × ({b})" if b < 0 else f"{a} × {b}"
            assert f"{above} + {product} = {cycle.psum[i, j]}" in said

    frame.locator(".pe").nth(4).hover()
    reads(1, 1)
    frame.focus("#slider")
    page.keyboard.press("Tab")  # one stop for the whole array
    reads(1, 1)
    for key, (i, j) in (("ArrowUp", (0, 1)), ("ArrowLeft", (0, 0)), ("ArrowLeft", (0, 0))):
        page.keyboard.press(key)
        reads(i, j)
    page.keyboard.press("ArrowDown")
    reads(1, 0)
    assert frame.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Row 1")
    shows(frame, run, t)
    t += 1
    page.keyboard.press("PageDown")
    shows(frame, run, t)
    reads(1, 0)


@pytest.mark.night(
    instead="chapters/02_tpu/source/a_product_in_a_grid/test_stepper_browser.py::test_a_saved_page_steps_through_every_cycle_of_each_dataflow"
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_stand_out_and_all_fits_the_frame(page, tmp_path, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 1000, "height": 900})
    runs = [*RUNS, matmul(9, 8, 7, 7, 7)]  # the last with the legend below the array
    for frame, run in zip(opened(page, tmp_path / "saved.html", runs), runs, strict=True):
        for t in numbering(run)[::3]:
            click_slider(page, frame, run, t)
            for pair in frame.eval_on_selector_all(".pe, #legend b", LUMINANCES):
                low, high = sorted(pair)
                assert (high + 0.05) / (low + 0.05) >= 4.5
        size = "document.documentElement"
        assert frame.evaluate(f"{size}.scrollHeight <= {size}.clientHeight")
        assert frame.evaluate(f"{size}.scrollWidth <= {size}.clientWidth")


@pytest.mark.night(
    instead="chapters/02_tpu/source/a_product_in_a_grid/test_stepper_browser.py::test_a_saved_page_steps_through_every_cycle_of_each_dataflow"
)
def test_jupyterlab_steps_through_the_learners_own_matrices(page, tmp_path):
    work, run = tmp_path / "work", mine()
    work.mkdir()
    stored = nbformat.v4.new_output("display_data", Stepper(run)._repr_mimebundle_())
    cells = [nbformat.v4.new_code_cell(MINE, outputs=[stored])]
    cells.append(nbformat.v4.new_code_cell("after = 1"))
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(made, work / "mine.ipynb")
    with course.server(work, tmp_path / "lab.log") as url:
        page.goto(url.replace("/?", "/lab/tree/mine.ipynb?"))
        # JupyterLab takes frames out of outputs that it did not make itself, and says instead:
        page.get_by_text("Run this cell, and you can step through").wait_for()
        course.run_all(page, work / "mine.ipynb")
        frame = page.wait_for_selector("iframe[sandbox='allow-scripts']").content_frame()
        frame.wait_for_selector("#status:not(:empty)")
        active = page.locator(ACTIVE).inner_text()
        first, second, *_ = numbering(run)
        click_slider(page, frame, run, 1)
        shows(frame, run, 1)
        for key, t in (("ArrowRight", 2), ("ArrowUp", 3), ("ArrowDown", 2), ("Home", first)):
            page.keyboard.press(key)
            shows(frame, run, t)
        page.keyboard.press("Space")
        frame.wait_for_function(f"document.getElementById('slider').value >= {second}")
        # The keys went to the stepper, not to the notebook around it.
        assert page.locator(ACTIVE).inner_text() == active
