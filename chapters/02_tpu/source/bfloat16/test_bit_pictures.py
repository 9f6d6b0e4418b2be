"""The picture of bits shows every bit, and says it in its alt text."""

import numpy as np

from labkit_lessons.tpu.bfloat16 import bit_pictures


def test_halves(monkeypatch):
    found = []
    monkeypatch.setattr(bit_pictures, "show", lambda figure, alt: found.append((figure, alt)))
    bit_pictures.halves([257, -0.1])
    (figure, alt), *_ = found
    drawn = [text.get_text() for text in figure.axes[0].texts]
    for number, value in ((257, "256"), (-0.1, "-0.1000977")):
        word = f"{int(np.float32(number).view(np.uint32)):032b}"
        assert f"{number:g} is {word} and becomes {value}" in alt
        assert f"becomes {value}" in drawn
    assert sum(text in ("0", "1") for text in drawn) == 64
