"""How `tpu.sgd_update` is judged: three vectors become trees, and the trees that come back vectors.

A tree, as in JAX, is an array, or a dict or a list of trees; its arrays are its leaves.

Dense: a tree is walked in one expression for each of its kinds, as it is written.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from labkit.checks.items import Refused, refuse_no_function

FORMS = {  # the leaves by their number
    "one leaf": {"weight": 0},
    "two leaves": {"weight": 1, "bias": 0},
    "flat": {"conv1.weight": 2, "conv1.bias": 0, "fc1.weight": 3, "fc1.bias": 1},
    "layers": {"conv1": {"weight": 2, "bias": 0}, "fc1": {"weight": 3, "bias": 1}},
    "list": [1, 0, 2],
    "deep": {"body": [{"norm": {"scale": 0, "offset": 1}, "weight": 4}, {"weight": 3}], "head": 2},
}


def leaves_of(tree: object) -> list:
    """The leaves, from left to right."""
    if isinstance(tree, dict | list):
        below = tree.values() if isinstance(tree, dict) else tree
        return [leaf for one in below for leaf in leaves_of(one)]
    return [tree]


def grown(form: object, leaves: list[np.ndarray]) -> object:
    """The form with an array in the place of each number."""
    if isinstance(form, dict):
        return {name: grown(one, leaves) for name, one in form.items()}
    if isinstance(form, list):
        return [grown(one, leaves) for one in form]
    return leaves[form]


def cut(vector: np.ndarray, count: int) -> list[np.ndarray]:
    """Views of the vector, each longer than the one before; those of even length are matrices."""
    whole = count * (count + 1) // 2
    ends = [len(vector) * k * (k + 1) // 2 // whole for k in range(count + 1)]
    parts = [vector[start:end] for start, end in pairwise(ends)]
    return [part if len(part) % 2 else part.reshape(-1, 2) for part in parts]


def on_trees(answer: Callable) -> Callable:
    """The learner's function of trees as one of vectors."""
    refuse_no_function(answer)

    def update(
        weights: np.ndarray,
        velocities: np.ndarray,
        gradients: np.ndarray,
        rate: float,
        momentum: float,
        form: str,
    ) -> tuple[np.ndarray, np.ndarray]:
        count = len(leaves_of(FORMS[form]))
        parts = [cut(vector, count) for vector in (weights, velocities, gradients)]
        trees = [grown(FORMS[form], leaves) for leaves in parts]
        returned = answer(*trees, rate, momentum)
        for name, leaves, tree in zip(("weights", "velocities"), parts, trees, strict=False):
            if {*map(id, leaves)} != {*map(id, leaves_of(tree))}:
                said = "other arrays lie in the tree after the call. Make a new tree"
                raise Refused(f"The function changes its input `{name}`: {said}.")
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise Refused("Two trees are asked for: return new weights, new velocities.")
        new = [
            flat(FORMS[form], tree, parts[0], name)
            for name, tree in zip(("weights", "velocities"), returned, strict=True)
        ]
        return tuple(np.concatenate(leaves) for leaves in new)

    return update


def flat(form: object, tree: object, parts: list[np.ndarray], name: str) -> list[np.ndarray]:
    """The leaves of a returned tree in the order of their numbers, each as a vector."""
    found = {}
    collect(form, tree, parts, name, found)
    return [found[number] for number in sorted(found)]


def collect(form: object, tree: object, parts: list, name: str, found: dict) -> None:
    """Fills in found[number]; Refused where the tree has not the form of the one that came in."""
    if isinstance(form, dict | list):
        names = form if isinstance(form, dict) else range(len(form))
        same = type(tree) is type(form) and len(tree) == len(form)
        if not same or (isinstance(form, dict) and set(tree) != set(form)):
            had = f"a {type(form).__name__} with {', '.join(map(str, names))}"
            said = f"the tree that came in has {had} here"
            raise Refused(f"`{name}` is no tree of the form that came in: {said}.")
        for one in names:
            collect(form[one], tree[one], parts, f"{name}[{one!r}]", found)
        return
    leaf = np.asarray(tree)
    if leaf.dtype == object or leaf.shape != parts[form].shape:
        got = "no array of numbers" if leaf.dtype == object else f"of shape {leaf.shape}"
        raise Refused(f"`{name}` is {got}; it should be of shape {parts[form].shape}.")
    found[form] = leaf.ravel()


def updated(weights, velocities, gradients, rate, momentum):
    """The course's own version of tpu.sgd_update, until yours is right."""
    import jax

    new = jax.tree.map(lambda v, g: momentum * v - rate * g, velocities, gradients)
    return jax.tree.map(lambda w, v: w + v, weights, new), new
