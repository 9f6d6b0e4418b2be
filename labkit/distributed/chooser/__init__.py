"""The chooser: which hardware for a model, how many, how fast, how dear, and by which formula.

    from labkit.distributed.chooser import Limits, choose, serve, show
    show(choose(serve("llama31_8b", "bf16", batch=8, context=4096), Limits(seconds=0.02)))

reckoning    a number together with the sum that gives it
need         what a task needs, and a plan of so many machines
serving, training, images, models, formats      the tasks
even, links, board                              how machines do it
limits, offers, fits, answer, changes           what is asked for, and what comes out
wording, report, formulas, pictures, command    how it is shown, and `labkit choose`

All results are predicted: times are the roofline of the machine times an efficiency. Lesson
choosing_hardware.
"""

from labkit.distributed.chooser.answer import Answer, choose
from labkit.distributed.chooser.changes import changes
from labkit.distributed.chooser.formulas import formulas
from labkit.distributed.chooser.images import image, train_convnet
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.models import model_of, own_model
from labkit.distributed.chooser.report import show
from labkit.distributed.chooser.serving import serve
from labkit.distributed.chooser.training import train

__all__ = [
    "Answer",
    "Limits",
    "changes",
    "choose",
    "formulas",
    "image",
    "model_of",
    "own_model",
    "serve",
    "show",
    "train",
    "train_convnet",
]
