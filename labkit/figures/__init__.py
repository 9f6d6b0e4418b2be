"""The course's pictures: one restrained style, an alt text for every figure.

Modules (written by tools/modules.py):

charts     Charts used by every chapter: guesses against results, bars in pairs, a grid of images.
climbs     The climb of a kernel's steps towards the roofline of a machine.
grids      Grids of numbers side by side, some cells shaded: what the pictures of layers are drawn
           with.
layers     Pictures of one convolution: which cells feed an output, a row of im2col, or a gradient.
listings   Lines of a program with their numbers, one of them marked, in the colours of the reader's
           theme.
rooflines  The roofline of a machine, with layers on it.
shapes     What pictures are put together from: boxes, bars, arrows, texts, keys, and their axes.
style      One style for every figure of the course, and the one way to show it.
tables     The one way to show a table: rows under heads, with units and provenance said once.
timelines  A timeline: who works when.
"""

from labkit.figures.charts import guesses, image_grid, pairs
from labkit.figures.climbs import climb
from labkit.figures.layers import convolution, im2col, overlap, pixels_of_tap, three_sums
from labkit.figures.listings import listing
from labkit.figures.rooflines import roofline
from labkit.figures.style import canvas, show
from labkit.figures.tables import table
from labkit.figures.timelines import pipeline, timeline

__all__ = [
    "canvas",
    "climb",
    "convolution",
    "guesses",
    "im2col",
    "image_grid",
    "listing",
    "overlap",
    "pairs",
    "pipeline",
    "pixels_of_tap",
    "roofline",
    "show",
    "table",
    "three_sums",
    "timeline",
]
