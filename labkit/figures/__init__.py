"""The course's pictures: one restrained style, an alt text for every figure.

style      the palette, `canvas(width, height)` and `show(fig, alt)`
rooflines  the roofline of a machine
climbs     the climb of steps towards a roofline
charts     guesses against results, bars before and after, a grid of images
layers     how a convolution reads its input, im2col, and what its gradients add up
grids      grids of numbers side by side, which those are drawn with
shapes     boxes, bars, arrows, texts and keys, which pictures are put together from
timelines  who works when, recorded or predicted
tables     rows under heads, with units and provenance
listings   lines of a program with their numbers
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
