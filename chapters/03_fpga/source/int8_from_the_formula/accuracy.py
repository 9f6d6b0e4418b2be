"""How many images the network gets right: in integers, and with its float32 weights.

names = float_classes(weights, images)       the classes by float arithmetic, without torch
logged()                                     the 10,000 test images, by tools/quantize_convnet.py
"""

import json

import numpy as np

from labkit import convnet

LOG = convnet.TRAINED.with_name("convnet.int8.log.jsonl")
BATCH = 100  # images whose activations are held at once


def float_classes(weights: dict[str, np.ndarray], images: np.ndarray) -> np.ndarray:
    """The class of each of the uint8 images[N,3,32,32], int64[N], without a rounded weight."""
    found = []
    for start in range(0, len(images), BATCH):
        batch = convnet.normalise(images[start : start + BATCH])
        found.append(convnet.forward(weights, batch).argmax(axis=1))
    return np.concatenate(found)


def logged() -> tuple[int, int, int]:
    """Test images of the full CIFAR-10, and how many of them float32 and int8 get right."""
    records = [json.loads(line) for line in LOG.read_text("utf-8").splitlines()]
    run, *_, result = records
    by_float32, by_int8 = result["float32_test_images_right"], result["test_images_right"]
    return run["test_images"], by_float32, by_int8
