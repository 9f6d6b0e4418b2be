"""No folder is so full that nobody sees what is in it: at most 20 modules lie flat in one."""

from tests.project.test_floors import ROOT

MOST = 20
APART = ("__init__.py", "__main__.py", "conftest.py")
FOLDERS = ("simt", "labkit", "tests", "tools", "benchmarks")


def test_no_folder_is_too_full():
    counts = {}
    for name in FOLDERS:
        for path in (ROOT / name).rglob("*.py"):
            if path.name not in APART:
                folder = path.parent.relative_to(ROOT).as_posix()
                counts[folder] = counts.get(folder, 0) + 1
    full = [
        f"{folder} has {count} modules flat, more than {MOST}: give those of one idea a room."
        for folder, count in sorted(counts.items())
        if count > MOST
    ]
    assert full == []
