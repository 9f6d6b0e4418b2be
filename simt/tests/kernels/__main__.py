"""Numba's simulator as a process: pickled launches on stdin, the arrays afterwards on stdout.

Started as `python -m kernels` with NUMBA_ENABLE_CUDASIM=1.  A launch is (module or path
of a Python file, kernel, grid, block, bytes of shared memory, arguments); the answer is what the
arguments are afterwards, or the sentence of an exception.
"""

import importlib
import importlib.util
import pickle
import sys
import warnings
from pathlib import Path


def load(name: str) -> object:
    """The module of that name, or the one in the file of that path; once."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    if name not in sys.modules:
        specification = importlib.util.spec_from_file_location(Path(name).stem, name)
        sys.modules[name] = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def serve() -> None:
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    warnings.simplefilter("ignore")  # wrapping integers, divisions by zero
    while True:
        try:
            module, kernel, grid, block, shared, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            getattr(load(module), kernel)[grid, block, 0, shared](*arguments)
            answer = arguments
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve()
