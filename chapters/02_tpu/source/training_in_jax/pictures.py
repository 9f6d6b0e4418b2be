"""Pictures of training in JAX: trees that are walked together, and who sees the batch.

Dense: a call draws one shape, and its arguments are places.
"""

from labkit.figures.shapes import arrow, bare, box, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, QUIET, SKY, canvas, show

LAYERS = ("conv1", "fc1")
LEAVES = ("weight", "bias")
SHARES = 8
FILL = "#f6d7ae"


def trees() -> None:
    """Three trees of one form, and the update that meets their leaves in threes."""
    figure, axes = canvas(7.5, 2.7)
    kinds = (("weights", SKY), ("velocities", FILL), ("gradients", "#dfe5ea"))
    for place, (kind, colour) in enumerate(kinds):
        left = 3.4 * place
        write(axes, left + 1.4, 0.15, kind, 10, weight="bold")
        for row, layer in enumerate(LAYERS):
            middle = left + 0.7 + 1.4 * row
            axes.plot([left + 1.4, middle], [0.45, 0.85], color=QUIET, linewidth=1)
            write(axes, middle, 1.05, layer, 9)
            for column, leaf in enumerate(LEAVES):
                x = middle - 0.62 + 0.64 * column
                axes.plot([middle, x + 0.3], [1.25, 1.6], color=QUIET, linewidth=1)
                box(axes, x, 1.6, 0.6, 0.45, colour, leaf, 7.5)
                marked = (layer, leaf) == ("fc1", "weight")
                if marked:
                    box(axes, x, 1.6, 0.6, 0.45, "none", edge=ORANGE, linewidth=2.2)
                    arrow(axes, (x + 0.3, 2.08), (4.8, 2.72), color=ORANGE, linewidth=1.4)
    said = "the function of jax.tree.map, for fc1's weight: w, v and g"
    write(axes, 4.8, 2.9, said, 9, color=INK)
    bare(axes, (-0.1, 9.8), (3.1, -0.1))
    show(
        figure,
        "Three trees of one form, weights, velocities and gradients: each has the branches conv1 "
        "and fc1, and each branch the leaves weight and bias. Orange arrows lead from fc1's weight "
        "of all three trees to one call of the function of jax.tree.map.",
    )


def two_views() -> None:
    """A program for each share and a sum between them; and one program that the compiler cuts."""
    figure, (left, right) = canvas(7.5, 2.9, columns=2)
    left.set_title("TensorFlow's strategy: written for a share", fontsize=10)
    right.set_title("jit: written for the whole batch", fontsize=10)
    for share in range(SHARES):
        box(left, share, 0, 0.9, 0.8, SKY, "8", 9)
        box(left, share, 1.5, 0.9, 0.9, BLUE, "step", 7.5, ink=CARD)
        arrow(left, (share + 0.45, 0.85), (share + 0.45, 1.45))
        box(right, share, 0, 0.9, 0.8, SKY, "8", 9)
    box(left, 0, 3.1, 7.9, 0.8, FILL, "the framework adds the gradients up", 8.5)
    for share in range(SHARES):
        arrow(left, (share + 0.45, 2.45), (share + 0.45, 3.05))
    box(right, 0, 1.5, 7.9, 0.9, BLUE, "one step of 64 images", 9, ink=CARD)
    box(right, 0, 3.1, 7.9, 0.8, FILL, "the compiler cuts it, and inserts the sums", 8.5)
    for share in range(SHARES):
        arrow(right, (share + 0.45, 0.85), (share + 0.45, 1.45))
    arrow(right, (3.95, 2.45), (3.95, 3.05))
    for axes in (left, right):
        bare(axes, (-0.1, 8.1), (4.1, -0.2))
    show(
        figure,
        "Left, TensorFlow's strategy: each of eight shares of 8 images goes through a step of its "
        "own, and the framework adds the gradients up. Right, jit: one step takes all 64 images, "
        "which lie in eight shares; the compiler cuts the step and inserts the sums.",
    )
