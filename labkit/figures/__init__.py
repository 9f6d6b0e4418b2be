"""The course's pictures: one restrained style, an alt text for every figure.

style     the palette, `canvas(width, height)` and `show(fig, alt)`
charts    roofline, guesses against results, a grid of images
layers    how a convolution reads its input, im2col, and which windows share a pixel
"""

from labkit.figures.charts import guesses, image_grid, roofline
from labkit.figures.layers import convolution, im2col, overlap
from labkit.figures.style import canvas, show

__all__ = ["canvas", "convolution", "guesses", "im2col", "image_grid", "overlap", "roofline"]
__all__ += ["show"]
