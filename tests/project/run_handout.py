"""Runs a handout to its end, in the environment of the Python that runs this, as Colab would.

    python run_handout.py NOTEBOOK

Prints what its cells print, and how long the first one took; the exit code is 1, and the cell is
named, when one raises. The first cell of code finds a stand-in for google.colab, with a dialog in
which nobody chooses a file; the others do not, for JAX would ask it for more than it has.
"""

import json
import sys
import time
import types
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

colab = types.ModuleType("google.colab")
colab.files = types.SimpleNamespace(upload=dict)
colab.drive = types.SimpleNamespace(mount=lambda place: None)
sys.modules["google.colab"] = colab

start = time.perf_counter()
shell = InteractiveShell.instance()
content = json.loads(Path(sys.argv[1]).read_text("utf-8"))
for number, cell in enumerate(content["cells"], 1):
    if cell["cell_type"] == "code":
        done = shell.run_cell("".join(cell["source"]))
        if not done.success:
            sys.exit(f"cell {number} of {sys.argv[1]} raised")
        if sys.modules.pop("google.colab", None):
            print(f"The first cell took {time.perf_counter() - start:.0f} s.", flush=True)
