"""labkit: the small package that carries the course "Four Machines".

Public names load on first use, so `import labkit` costs next to nothing:

    from labkit import check, last_right, predict, hint, quiz, doctor

Modules (written by tools/modules.py):

__main__       `python -m labkit` is `labkit`.
cifar10_files  The embedded sample of CIFAR-10, and the full set as its makers publish it, read
               without trust.
cli            The command `labkit`.
convnet        The one network of the course: a small ConvNet that tells ten kinds of CIFAR-10
               pictures apart.
convolutions   Windows of a convolution: how many there are, all of them as rows, and sizes worth
               testing.
costs          What a network's layers cost: floating-point operations, and bytes to and from main
               memory.
datasets       CIFAR-10 for every lesson: the full set where it can be had, else the embedded real
               sample.
errors         Errors in sentences of ours: what an exception says, and what is wrong with what was
               given.
extras         What a chapter's lessons need beside labkit: the extra of its name, and what of it is
               missing.
files          Files of the learner's own: where they lie, and how nothing in them is lost.
gradcheck      Is a gradient right? Nudge every input a little both ways and see how the output
               moves.
hardware       The machines of the course and the roofline: how fast can a kernel run on a machine
               at best?
machine_probe  What this machine is, read from the system's files and tools: cheap, and imports no
               package.
machine_rates  How fast the machine at hand multiplies and copies, by the clock.
provenance     Where a number comes from, in five words that are used for nothing else.
reference      The layers of the course in float64 NumPy, each with its gradient, written to be
               read.
shapes         What fits what: the layers' arguments, read as float64 or refused in a sentence.
torch_cache    Where PyTorch's compiler keeps what it compiles, and loads again: in a folder of the
               user's own.
"""

import importlib

__version__ = "0.1.0"

# What is handed out here lives on higher floors; this page is the front door to all of them.
_HOMES = {
    "check": "labkit.checks.judge",
    "last_right": "labkit.checks.last_right",
    "predict": "labkit.checks.ask",
    "hint": "labkit.checks.ask",
    "quiz": "labkit.checks.ask",
    "doctor": "labkit.course.doctor",
}
__all__ = ["ROOMS", "__version__", *_HOMES]

# An id begins with a room, "gpu.matmul_tiled": a chapter's, or that of what joins the machines.
ROOMS = ("gpu", "tpu", "fpga", "distributed", "course")


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
