"""Two wheels as small as can be, in which a first cell finds what it looks for."""

import zipfile
from pathlib import Path

INDEX = """\
[gpu]
"labkit_lessons.gpu.tiny" = ["gpu.add"]
"labkit_lessons.gpu.used" = ["gpu.shared"]
"labkit_lessons.gpu.other" = ["gpu.alone"]
"""
LABKIT = {
    "labkit/__init__.py": "",
    "labkit/hardware.py": 'def runs_on(room):\n    print("Runs on:", room)\n',
    "labkit/course/handout/ready.py": "def ready(*what):\n    print(*what[:3])\n",
    "labkit/checks/lesson_index.toml": INDEX,
    "labkit/data/convnet.safetensors": "weights",
    "labkit/data/cifar10/train.png": "photographs",
    "labkit/data/cifar10/index.json": "{}",
    "labkit-1.data/data/share/labkit/train.py": "print('a program')",
    "labkit-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: labkit\nVersion: 1\n",
    "labkit-1.dist-info/RECORD": "",
    "labkit_lessons/gpu/tiny/lesson.py": "the solution",
    "labkit_lessons/gpu/tiny/solutions.py": 'used = "gpu.shared"\n',
    "labkit_lessons/gpu/used/texts.toml": "",
    "labkit_lessons/gpu/other/solutions.py": "",
}
SIMT = {"numba_simt/__init__.py": ""}


def make_wheels(folder: Path) -> list[Path]:
    """numba-simt's and labkit's, into a folder that may be missing."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, files in (("numba_simt", SIMT), ("labkit", LABKIT)):
        path = folder / f"{name}-1-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for place, text in files.items():
                wheel.writestr(zipfile.ZipInfo(place), text)
        made.append(path)
    return made
