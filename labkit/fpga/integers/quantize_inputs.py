"""What `quantize` is given: weights and images that fit the network, or a sentence on why not."""

from collections.abc import Mapping

import numpy as np

from labkit import convnet
from labkit.shapes import described

LIMIT = 10  # normalised pixels lie between -2 and 2.2; with noise added, still far below


def network_weights(model: object) -> dict[str, np.ndarray]:
    """float32 weights named as in `convnet.SHAPES`, from a mapping or a PyTorch module.

    Raises ValueError for anything else, and for weights that do not fit or are not finite.
    """
    if hasattr(model, "state_dict"):
        model = {name: w.detach().cpu().numpy() for name, w in model.state_dict().items()}
    if not isinstance(model, Mapping):
        kind = type(model).__name__
        raise ValueError(
            f"quantize: the model is of type {kind}; give it convnet.load_weights(), or a PyTorch "
            "module of the same network."
        )
    weights = {}
    for name, weight in convnet.checked(model, "quantize").items():
        weight = np.asarray(weight)
        if weight.dtype.kind not in "iuf":
            raise ValueError(f"quantize: {name} holds {weight.dtype}; it must hold real numbers.")
        if not np.isfinite(weight).all():
            raise ValueError(
                f"quantize: {name} holds a number that is not finite (NaN or infinity)."
            )
        weights[name] = weight.astype(np.float32)
    return weights


def image_batch(name: str, images: np.ndarray) -> np.ndarray:
    """The images as an array [N,3,32,32], N at least 1; ValueError where they are none."""
    images = np.asarray(images)
    if images.shape[1:] == (3, 32, 32) and len(images):
        return images
    here = described("images", images)
    if images.shape[1:] == (3, 32, 32):
        hint = "at least one image is needed"
    elif images.shape[1:] == (32, 32, 3):
        hint = "the colours come before rows and columns: images.transpose(0, 3, 1, 2)"
    elif images.shape == (3, 32, 32):
        hint = "one image is a batch of one: images[None]"
    else:
        hint = "[N,3,32,32] is expected"
    raise ValueError(f"{name}: {here} does not fit: {hint}.")


def normalised_images(name: str, images: np.ndarray) -> np.ndarray:
    """uint8 pixels[N,3,32,32], or what `convnet.normalise` made of them -> normalised floats.

    Raises ValueError for other types and shapes, and for floats that are no normalised pixels.
    """
    images = image_batch(name, images)
    if images.dtype == np.uint8:
        return convnet.normalise(images)
    way_out = "give uint8 pixels, or convnet.normalise(pixels)"
    if images.dtype.kind != "f":
        raise ValueError(f"{name}: the images hold {images.dtype}: {way_out}.")
    if not np.isfinite(images).all():
        place = int(np.flatnonzero(~np.isfinite(images).all(axis=(1, 2, 3)))[0])
        raise ValueError(f"{name}: image {place} holds a number that is not finite: {way_out}.")
    largest = float(np.abs(images).max())
    if largest > LIMIT:
        raise ValueError(
            f"{name}: the images reach {largest:.4g}, but normalised ones lie between -2 and 2.2: "
            f"{way_out}."
        )
    return images


def image_peak() -> float:
    """The largest magnitude of a normalised pixel: that of black or white in some colour."""
    black_and_white = np.zeros((2, 3, 1, 1), np.uint8)
    black_and_white[1] = 255
    return float(np.abs(convnet.normalise(black_and_white)).max())
