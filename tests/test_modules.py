"""labkit/README.md says what is where, in the modules' own words."""

import pytest

from tools import modules


@pytest.fixture
def package(tmp_path):
    """A package with a module on the ground floor, and one in a room."""
    (tmp_path / "gpu").mkdir()
    files = {
        "shapes.py": '"""What fits what: sizes\nand their names. More follows."""',
        "gpu/device.py": '"""What is here."""',
    }
    for name, code in files.items():
        (tmp_path / name).write_text(code)
    return tmp_path


def test_the_readme_is_what_the_modules_say():
    written = modules.README.read_text(encoding="utf-8")
    assert written == modules.text(), "run: python tools/modules.py"


def test_each_module_stands_there_with_its_first_sentence(package):
    lines = modules.text(package).splitlines()
    assert "| [shapes.py](shapes.py) | What fits what: sizes and their names. |" in lines
    assert "| [gpu/device.py](gpu/device.py) | What is here. |" in lines


def test_a_module_without_a_docstring_is_told(package):
    (package / "gpu/device.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"device.py has no docstring\. Begin it with a sentence"):
        modules.text(package)


def test_every_room_is_there():
    rooms = {path.parent.name for path in modules.PACKAGE.glob("*/__init__.py")}
    assert rooms <= set(modules.ROOMS)
