"""The course's pictures: one restrained style, an alt text for every figure.

style     the palette, `canvas(width, height)` and `show(fig, alt)`
charts    roofline, a climb on it, guesses against results, bars before and after, a grid of images
layers    how a convolution reads its input, im2col, and what its gradients add up
timeline  who works when, recorded or predicted
"""

from labkit.figures.charts import climb, guesses, image_grid, pairs, roofline
from labkit.figures.layers import convolution, im2col, overlap, pixels_of_tap, three_sums
from labkit.figures.style import canvas, show
from labkit.figures.timeline import pipeline, timeline

__all__ = ["canvas", "climb", "convolution", "guesses", "im2col", "image_grid", "overlap"]
__all__ += ["pairs", "pipeline", "pixels_of_tap", "roofline", "show", "three_sums"]
__all__ += ["timeline"]
