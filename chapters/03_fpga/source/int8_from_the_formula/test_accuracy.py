"""accuracy.py: the float network's classes, and what the log says."""

import json

import numpy as np

from labkit import convnet
from labkit.datasets import cifar10
from labkit_lessons.fpga.int8_from_the_formula import accuracy


def test_the_classes_are_those_of_the_float_network_in_order(monkeypatch):
    monkeypatch.setattr(accuracy, "BATCH", 3)
    weights, images = convnet.load_weights(), cifar10("sample").test.images[:8]
    expected = convnet.forward(weights, convnet.normalise(images)).argmax(axis=1)
    np.testing.assert_array_equal(accuracy.float_classes(weights, images), expected)


def test_the_log_is_read_from_its_file(tmp_path, monkeypatch):
    records = [{"test_images": 40}, {"percentile": 100}]
    records.append({"float32_test_images_right": 30, "test_images_right": 29})
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, records)) + "\n")
    monkeypatch.setattr(accuracy, "LOG", log)
    assert accuracy.logged() == (40, 30, 29)
