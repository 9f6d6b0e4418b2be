"""Modules: README has their own words; none is long, or dense without a reason."""

import ast

import pytest

from tests.project.test_floors import LESSONS, MODULES, ROOT
from tools import modules
from tools.lines import size_of

MOST_LINES = 300
MOST_TOKENS = 11  # on a line
REASON = "Dense: "  # begins the paragraph of a module's docstring that says why


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module on the ground floor, and a room with one."""
    (tmp_path / "gpu").mkdir()
    files = {
        "__init__.py": '"""The ground."""',
        "shapes.py": '"""What fits what: sizes\nand their names. More follows."""',
        "gpu/__init__.py": '"""The room. It is small."""\n\nx = 1\n',
        "gpu/device.py": '"""What is here."""',
    }
    for name, code in files.items():
        (tmp_path / name).write_text(code)
    monkeypatch.setattr(modules, "FLOORS", {".": "The ground", "gpu": "A machine"})
    return tmp_path


def test_the_map_is_what_the_modules_say():
    stale = [path for path, new in modules.written().items() if path.read_text("utf-8") != new]
    assert not stale, "run: python tools/modules.py"


def test_the_readme_has_each_room_and_a_room_each_module(package):
    lines = modules.text(package).splitlines()
    assert "| [labkit](.) | The ground. |" in lines and "| [gpu](gpu) | The room. |" in lines
    ground = modules.with_modules(package)
    assert ground.splitlines()[-2:] == ["shapes  What fits what: sizes and their names.", '"""']
    room = modules.with_modules(package / "gpu")
    assert room.startswith('"""The room. It is small.\n') and room.endswith('"""\n\nx = 1\n')
    assert "\ndevice  What is here.\n" in room
    (package / "gpu/__init__.py").write_text(room)
    assert modules.with_modules(package / "gpu") == room, "written twice, it is listed once"


def test_a_module_without_a_docstring_is_told(package):
    (package / "gpu/device.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"device.py has no docstring\. Begin it with a sentence"):
        modules.written(package)


def test_every_floor_is_there():
    floors = {path.parent.name for path in modules.PACKAGE.glob("*/__init__.py")}
    assert floors <= set(modules.FLOORS)
    assert len(modules.README.read_text("utf-8").splitlines()) <= 110, "two screens"


def too_much(name: str, text: str) -> list[str]:
    """A sentence where a module is long, and where it is dense and does not say why."""
    found = []
    if (lines := len(text.splitlines())) > MOST_LINES:
        found.append(f"{name} has {lines} lines, more than {MOST_LINES}: split it by idea.")
    density = size_of(text).density
    if density > MOST_TOKENS and f"\n{REASON}" not in (ast.get_docstring(ast.parse(text)) or ""):
        do = f"put one idea on a line, or say why in its docstring, after {REASON.strip()!r}"
        found.append(f"{name} has {density:.1f} tokens a line, more than {MOST_TOKENS}: {do}.")
    return found


def test_no_module_is_long_or_dense_without_a_reason():
    found = []
    simt = (ROOT / "simt" / "numba_simt").rglob("*.py")
    for path in (*MODULES, *simt, *LESSONS):
        if path.name != "solutions.py":  # generated; the lessons have their lines
            found += too_much(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    assert found == []


def test_a_long_and_a_dense_module_are_told():
    dense = "x = [[a, b], [c, d]], (e, f)\n"
    (said,) = too_much("a.py", f'"""A table."""\n\n{dense}')
    assert said.startswith("a.py has 21.0 tokens a line, more than 11: put one idea on a line")
    assert too_much("a.py", f'"""A table.\n\n{REASON}rows are compared.\n"""\n\n{dense}') == []
    (said,) = too_much("b.py", "x = 1\n" * (MOST_LINES + 1))
    assert said == "b.py has 301 lines, more than 300: split it by idea."
