"""The picture of the ladder: drawn where Matplotlib is, told where it is not."""

import subprocess
import sys

from labkit.gpu.report import picture
from tests.gpu.report.made_up import made_up

SAID = "naive 8.0 % (estimate 12.5 %)"


def test_it_is_drawn_with_its_words(tmp_path):
    line = picture.draw(made_up(), tmp_path)
    assert line.endswith("](ladder.png)") and SAID in line
    data = (tmp_path / "ladder.png").read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) < 200_000
    assert str(tmp_path).encode() not in data


def test_without_estimates_there_is_none(tmp_path):
    assert picture.draw(made_up(dry=True), tmp_path) == ""
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    assert "Matplotlib is not installed" in picture.draw(made_up(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_module_loads_no_matplotlib():
    code = "import sys, labkit.gpu.report.picture; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
