"""The command `numba-simt`: any script on the machine, its launches watched, and what was found.

`main` runs it; `pytest_plugin` does the same for a project's tests.

Modules (written by tools/modules.py):

comparison     The same program on Numba's own simulator: where its output and exit code differ.
main           `numba-simt`: from the command line to the exit code.
notebooks      A notebook as a program: its code cells in their order, without the magics.
options        The command line of `numba-simt`: its options, then a script, module or notebook of
               its own.
pytest_plugin  `pytest --simt`: a project's tests, with the SIMT machine as numba.cuda and launches
               watched.
running        Runs a script, a module or a notebook in this process, as Python would, and says how
               it ended.
stand_in       The SIMT machine in place of `numba.cuda`, for programs that import the real one.
surroundings   What lies around a run: the GPU that is meant, one that is there, and child
               processes.
"""
