"""What others published about training on TPUs. Lesson what a training step costs.

DAWNBENCH   two logs of ResNet-50 on a Cloud TPU v2-8, eight cores, 1,024 images in a step
MLPERF      a TPU v4 against an A100, as Google measured them
V5E_LINKS   the bandwidth between a v5e and its neighbours
"""

from typing import NamedTuple

from labkit.provenance import Quantity, predicted, published

IMAGENET = 1_281_167  # images of an epoch


class Log(NamedTuple):
    """A published log of a training, from the first epoch that it has to the last."""

    software: str
    epochs: int
    hours: float
    source: str

    @property
    def speed(self) -> Quantity:
        """Images per second, from the log's epochs and hours."""
        rate = self.epochs * IMAGENET / (3600 * self.hours)
        return published(rate, "images/s", self.source)


_ENTRY = "DAWNBench, google_resnet50_tpu_tensorflow"
DAWNBENCH = [
    Log("TensorFlow 1.8, April 2018", 89, 9.7469, f"{_ENTRY}18: 89 epochs in 9.75 h"),
    Log("TensorFlow 1.11, September 2018", 90, 7.9952, f"{_ENTRY}111: 90 epochs in 8.00 h"),
]


class Pair(NamedTuple):
    """A benchmark of MLPerf on 64 chips of each kind: a v4's speed over an A100's, and power."""

    benchmark: str
    speed_ratio: float
    watts_v4: float
    watts_a100: float

    @property
    def work_ratio(self) -> Quantity:
        """The work of a v4 for each joule, over that of an A100: speed by power."""
        ratio = self.speed_ratio * self.watts_a100 / self.watts_v4
        return predicted(ratio, "times", "speed over power")


MLPERF_SOURCE = "Jouppi et al., TPU v4, 2023, section 6 and table 6"
MLPERF = [Pair("BERT", 1.15, 197, 380), Pair("ResNet-50", 1.67, 206, 273)]

V5E_LINKS = published(  # "Bidirectional inter-chip interconnect (ICI) bandwidth (per chip)"
    400e9, "B/s", "Google Cloud TPU v5e documentation, https://docs.cloud.google.com/tpu/docs/v5e"
)
