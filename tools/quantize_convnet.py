"""Judge int8 on the full CIFAR-10: python tools/quantize_convnet.py --out runs/int8

Calibrates the trained network on 500 training images of the embedded sample, once for each
percentile; the accuracy on other training images picks one. Only then the 10,000 test
images are looked at, once, by that one and by the float32 network. The folder --out gets
convnet.int8.log.jsonl, one JSON object per line: the run, every percentile, the result with the
SHA-256 over the integers that it holds for.
"""

import argparse
import hashlib
import json
import os
import platform
import sys
from pathlib import Path

import numpy as np
import torch

import labkit
from labkit import convnet
from labkit.datasets import Cifar10, Split, cifar10
from labkit.fpga.quantize import QuantizedConvNet, quantize

PERCENTILES = (100, 99.999, 99.99, 99.9, 99)  # the first of the best is taken
CALIBRATION = 500  # the first training images of the embedded sample
JUDGES = 5000  # the last training images of the full set; the sample has none of them
LOG = "convnet.int8.log.jsonl"


def right_by_int8(quantized: QuantizedConvNet, split: Split) -> int:
    """How many images the integer network gets right."""
    return int((quantized.predict(split.images) == split.labels).sum())


def right_by_float32(weights: dict[str, np.ndarray], split: Split) -> int:
    """How many images the float32 network gets right, in PyTorch."""
    model = convnet.torch_model(weights)
    right = 0
    for start in range(0, len(split), 500):
        images = torch.from_numpy(convnet.normalise(split.images[start : start + 500]))
        with torch.no_grad():
            guesses = model(images).argmax(1).numpy()
        right += int((guesses == split.labels[start : start + 500]).sum())
    return right


def digest(quantized: QuantizedConvNet) -> str:
    """SHA-256 over every integer of the network, layer by layer."""
    sha = hashlib.sha256()
    for layer in quantized.layers:
        sha.update(layer.weights.astype("<i1").tobytes())
        sha.update(layer.bias.astype("<i4").tobytes())
        if layer.multiplier is not None:
            sha.update(layer.multiplier.astype("<i4").tobytes())
            sha.update(str(layer.shift).encode())
    return sha.hexdigest()


def judge(data: Cifar10, calibration: np.ndarray, judges: int = JUDGES) -> list[dict]:
    """The records of the log: the run, a line for each percentile, and the result."""
    weights = convnet.load_weights()
    other = Split(data.train.images[-judges:], data.train.labels[-judges:])
    records = [
        {
            "data": data.source,
            "calibration_images": len(calibration),
            "judged_on_training_images": len(other),
            "test_images": len(data.test),
            "weights_sha256": hashlib.sha256(convnet.TRAINED.read_bytes()).hexdigest(),
            "versions": {
                "torch": torch.__version__,
                "numpy": np.__version__,
                "labkit": labkit.__version__,
                "python": platform.python_version(),
            },
        }
    ]
    best_right, best_percentile = -1, None
    for percentile in PERCENTILES:
        right = right_by_int8(quantize(weights, calibration, percentile), other)
        records.append({"percentile": percentile, "training_images_right": right})
        print(json.dumps(records[-1]), flush=True)
        if right > best_right:
            best_right, best_percentile = right, percentile
    chosen = quantize(weights, calibration, best_percentile)
    records.append(
        {
            "result": "int8",
            "percentile": best_percentile,
            "sha256": digest(chosen),
            "test_images_right": right_by_int8(chosen, data.test),
            "float32_test_images_right": right_by_float32(weights, data.test),
            "float32_training_images_right": right_by_float32(weights, other),
        }
    )
    return records


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Judge int8 on the full CIFAR-10.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the log")
    given = parser.parse_args(words)
    try:
        data = cifar10("full")
        given.out.mkdir(parents=True, exist_ok=True)
        calibration = cifar10("sample").train.images[:CALIBRATION]
        records = judge(data, calibration)
        unfinished = given.out / f"{LOG}.unfinished"
        unfinished.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        os.replace(unfinished, given.out / LOG)
    except (ValueError, OSError) as problem:
        print(f"quantize_convnet: {problem}", file=sys.stderr)
        return 2
    result = records[-1]
    print(
        f"int8 is right on {result['test_images_right']:,} of {len(data.test):,} test images, "
        f"float32 on {result['float32_test_images_right']:,}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
