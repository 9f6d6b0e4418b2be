"""The chooser: which hardware for a model, how many, how fast, how dear, and by which formula.

    from labkit.distributed.chooser import Limits, choose, serve, show
    show(choose(serve("llama31_8b", "bf16", batch=8, context=4096), Limits(seconds=0.02)))

All results are predicted: times are the roofline of the machine times an efficiency. Lesson
choosing_hardware.

Modules (written by tools/modules.py):

answer      The answer: every machine with its plan, and which one is cheapest and which one
            fastest.
board       The FPGA board: it has no roofline of its own, but the accelerator that chapter 3 built.
changes     What would change the cheapest: the same request with one thing different, answered
            again.
command     The command `labkit choose`: from its options to a workload, and the answer printed.
derivation  A number together with the sum that gives it: the printed formula cannot say another
            number.
even        Work that machines share evenly: each holds, reads and computes its part of every layer.
fits        Which machines can do a task, and how many it takes: format, operators, memory, time
            limit.
formats     Bytes of a number in each format of the table of machines.
formulas    Every number of an answer with the sum that gives it: for people, or as JSON.
images      What the course's ConvNet needs: one image, or a training, by the rules of
            `labkit.costs`.
limits      What a request allows: seconds, money, how many machines; and what of them it counts on.
models      The language model that a request names, or one from your own sizes.
offers      Machines with your own prices, machines of your own, and the links that join several of
            a kind.
pictures    Time and price of every machine that can do the task, as a picture.
report      The answer as it is shown: sentences, a table (HTML in a notebook, plain text
            elsewhere), notes.
serving     What serving a language model needs: `serve("llama31_8b", "bf16", batch=8,
            context=4096)`.
training    What training a language model needs: `train("llama31_8b", "bf16", tokens=1e9)`.
wording     The answer in sentences, with numbers as people write them.
workload    What a task needs, whatever the machine, and how so many machines of a kind would do it.
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
