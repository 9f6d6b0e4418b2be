"""CUDA kernels under `@cuda.jit`, run and counted without a GPU: README.md tells how.

`cuda` is a module with the names of `numba.cuda`; `profile` launches a kernel, and counts.

Modules (written by tools/modules.py):

__main__       `python -m numba_simt` is `numba-simt`.
callables/     What a kernel may call, and what compiles it: the middle layers of the compiler.
command/       The command `numba-simt`: any script on the machine, its launches watched, and what
               was found.
cuda           What `numba.cuda` offers, on the SIMT machine: this module stands in for it without a
               GPU.
cudadrv        What scripts take from `numba.cuda.cudadrv`: classes of arrays and errors, no driver.
cupy           A small stand-in for CuPy, over NumPy, so that scripts which hold their arrays in it
               run at all.
errors         The errors of the SIMT machine, and what says that a name is missing.
execution/     The machine: how memory lies, the C core in c/, and what that counted and found.
extending      What stands for `numba.cuda.extending`: overloads that are Python, for kernels.
extensions/    Functions for kernels that Numba has not: for a GPU, too, once it is taught them.
in_kernel      The names of `numba.cuda` that mean something inside kernels only, and those of its
               types.
instructions/  The lower half of the compiler: what expressions become, as instructions and
               registers.
launching/     The host's side of a launch.
libraries/     What Numba's CUDA target brings besides kernels: reductions, ufuncs, generalised
               ufuncs.
ops            The instruction set of the SIMT machine: one row for each instruction, read by both
               sides.
owned_files    Folders for what is compiled once and then loaded: nobody else may have put anything
               there.
profiling/     One launch, counted line by line.
program        A compiled kernel: what the front end makes and the machine runs.
random         `numba.cuda.random`: the generator xoroshiro128+, with a state for each thread;
               Numba's own bits.
reading/       A kernel before it is translated: what its source says, and what its types are.
reports/       What a session showed, for people and for programs: each module writes one form of a
               `Summary`.
translation/   The upper half of the compiler: from a whole function to a program.
values         What the expressions of a kernel become: numbers, tuples, views of arrays, objects.
watching/      Who looks on at a program's launches, and what they showed.
"""

from numba_simt.libraries.gufuncs import guvectorize
from numba_simt.libraries.ufuncs import vectorize
from numba_simt.profiling.profiler import profile

__all__ = ["__version__", "guvectorize", "profile", "vectorize"]
__version__ = "0.1.0"
