"""A job of the accelerator followed through its pipeline: when each layer works, and when it ends.

    job_cycles(Folding(conv2=2), images=16)      # from the start command to the last logit
    timeline(Folding()).spans["conv2"]           # when conv2 works

Further images cost what the slowest of the layers and the stream needs (`accelerator_cycles`).
Before that the first image has to reach this layer, and after it the last one has to leave it.
`timeline` follows both, pixel by pixel, with the latencies that the headers of `rtl/` state; no
number in it comes from a simulation. Lesson folding_under_a_budget.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from labkit.fpga.convnet.accelerator_cycles import OUTPUTS, QUEUES, cycles_per_value, section_beats
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.fpga.convnet.accelerator_words import (
    BYTES,
    CONV2_CHANNEL_LANES,
    FC2_LANES,
    FC2_PRODUCTS,
)
from labkit.fpga.cycle_formulas import REQUANTIZE_LATENCY, SKID_BUFFERS, tree_levels
from labkit.provenance import Quantity, predicted


def job_cycles(
    folding: Folding,
    images: int = 1,
    shapes: Shapes | None = None,
    queues: dict[str, int] | None = None,
) -> Quantity:
    """Cycles of a job, as the register CYCLES counts them: from START to the last result."""
    cycles = timeline(folding, images, shapes, queues).cycles
    return predicted(cycles, "cycles", "the formulas of the accelerator's layers")


@dataclass(frozen=True)
class Timeline:
    """When each station works, in cycles from the start command.

    cycles   of the whole job
    spans    station -> (image, first cycle, cycle after the last) for each image; the station
             may wait in between. The image of the stream's first span is -1: it is the network
    """

    cycles: int
    spans: dict[str, list[tuple[int, int, int]]]


def timeline(
    folding: Folding,
    images: int = 1,
    shapes: Shapes | None = None,
    queues: dict[str, int] | None = None,
) -> Timeline:
    """Follows a job of `images` through the pipeline.

    A station begins a piece of work when three things have happened: it has ended the one before,
    the piece's input has come, and the queue behind it has room.

    queues   "ROW_QUEUE" and "VALUE_QUEUE", as the circuit's parameters

    Raises ValueError for no image.
    """
    if images < 1:
        raise ValueError(f"A job has at least one image, not {images}.")
    job = _Job(folding, shapes or Shapes(), images, QUEUES | (queues or {}))
    stations = [job.stream(), job.conv1(), job.conv2(), job.fc1()]
    while stations:
        stations = [station for station in stations if next(station, "ended") != "ended"]
    return Timeline(job.ended, job.spans)


class _Job:
    """The times of one job, each in the list of its event; a list grows in the order of events.

    Cycle 1 is the first after the start command. Each station is a generator that runs until it
    needs a time that another one has not found yet.
    """

    def __init__(self, folding: Folding, shapes: Shapes, images: int, queues: dict) -> None:
        self.folding = folding
        self.shapes = shapes
        self.images = images
        self.row_queue = queues["ROW_QUEUE"]
        self.value_queue = queues["VALUE_QUEUE"]
        self.beats = section_beats(folding, shapes)
        self.spans = {name: [] for name in ("stream", "conv1", "conv2", "fc1", "fc2")}
        self.ended = 0
        # Stream: when each image begins to come, and the weights of a section can be used.
        self.image_comes: list[int] = []
        self.conv1_ready: list[int] = []
        self.conv2_ready: list[int] = []
        self.fc1_ready: list[int] = []  # for each image, if they are streamed
        # Layers: for each pooled pixel when it can be taken and when it is.
        self.pooled: list[int] = []
        self.pooled_taken: list[int] = []
        self.values: list[tuple[int, int]] = []  # the first and the last group of a pixel
        self.values_taken: list[tuple[int, int]] = []
        self.weighed: list[int] = []  # when the last weight of fc2 has gone in, for each image

    def stream(self) -> Iterator[None]:
        """Section after section, one beat per cycle where nobody waits."""
        beats = self.beats
        # The first cycle resets the layers, and a beat passes a register. One of conv1's weights
        # goes in as two taps.
        now = 3 + beats["header"] + beats["conv1 parameters"] + 2 * beats["conv1 weights"]
        self.conv1_ready.append(now)
        self.image_comes.append(now)
        now += beats["image"] + beats["conv2 parameters"] + beats["conv2 weights"]
        self.conv2_ready.append(now)
        now += beats["fc1 parameters"] + beats["fc2 biases"]
        if self.folding.resident:
            # The store gives its first word 2 cycles after the last one came in; several beats
            # are first gathered to one word.
            now += beats["fc1 weights"]
            self.fc1_ready.append(now + 1 + (self._beats_per_word > 1))
            now += beats["fc2 weights"]
            self.spans["stream"].append((-1, 2, now))
        else:
            self.spans["stream"].append((-1, 2, now))
        for image in range(self.images):
            begin = now
            # Resident: there is room for one image, so that one comes as the one before is used.
            if image + 1 < self.images:
                self.image_comes.append(now)
                now += beats["image"]
            if not self.folding.resident:
                gathered = self._beats_per_word if self._beats_per_word > 1 else 0
                self.fc1_ready.append(now + gathered)
                while len(self.weighed) <= image:
                    yield
                now = self.weighed[image] + 1
            if now > begin:
                self.spans["stream"].append((image, begin, now))

    def conv1(self) -> Iterator[None]:
        """Windows of the image, until the row queue has a pooled pixel of all channels."""
        side = self.shapes.side
        fold = self.shapes.conv1 // self.folding.conv1
        latency = _steps_behind_window(3) + 1  # the register that gathers channels
        now = self.conv1_ready[0]
        room = 0  # when this register is free
        for image in range(self.images):
            while len(self.image_comes) <= image:
                yield
            # A pixel passes the queue of images and a register in 3 cycles; then one comes in each.
            now = max(now, self.image_comes[image] + 3)
            begin = now
            for row, col, window in _positions(side):
                if not window:
                    now += 1
                    continue
                if not _ends_square(row, col):
                    now += fold
                    continue
                now = max(now, room - latency) + fold
                comes = now + latency  # its last channels
                pixel = len(self.pooled)
                while pixel - self.row_queue >= len(self.pooled_taken):
                    yield
                if pixel >= self.row_queue:
                    comes = max(comes, self.pooled_taken[pixel - self.row_queue] + 1)
                room = comes
                self.pooled.append(comes + 1)  # the queue's own cycle
            self.spans["conv1"].append((image, begin, now))

    def conv2(self) -> Iterator[None]:
        """Windows of pooled pixels, until the value queue has a pooled pixel's values."""
        while not self.conv2_ready:
            yield
        side = self.shapes.side // 2
        step = self.shapes.conv1 // CONV2_CHANNEL_LANES  # cycles for a group of outputs
        fold = self.shapes.conv2 // self.folding.conv2 * step
        latency = _steps_behind_window(CONV2_CHANNEL_LANES)
        behind = self.value_queue // self.shapes.conv2  # pixels
        now = self.conv2_ready[0]
        for image in range(self.images):
            begin = None
            for row, col, window in _positions(side):
                if row < side and col < side:
                    pixel = image * side**2 + row * side + col
                    while len(self.pooled) <= pixel:
                        yield
                    now = max(now, self.pooled[pixel])
                    self.pooled_taken.append(now)
                begin = now if begin is None else begin
                if not window:
                    now += 1
                    continue
                if not _ends_square(row, col):
                    now += fold
                    continue
                first = now + step + latency
                last = now + fold + latency
                pixel = len(self.values)
                while pixel - behind >= len(self.values_taken):
                    yield
                if pixel >= behind:
                    freed = self.values_taken[pixel - behind]
                    first = max(first, freed[0])
                    last = max(last, first + fold - step, freed[1])
                now = last - latency
                self.values.append((first + 2, last + 2))  # the queue's own cycles
            self.spans["conv2"].append((image, begin, now))

    def fc1(self) -> Iterator[None]:
        """A pixel's values one by one, then the sums one by one, and fc2 behind them."""
        outputs = self.shapes.fc1
        lanes = self.folding.fc1
        per_value = cycles_per_value(self.folding, self.shapes)
        channels = self.shapes.conv2
        group = self.folding.conv2  # values that come at once
        pixels = (self.shapes.side // 4) ** 2
        now = 0
        fc2_free = 0
        for image in range(self.images):
            weights = 0 if self.folding.resident else image
            while len(self.fc1_ready) <= weights:
                yield
            now = max(now, self.fc1_ready[weights])
            begin = None
            for pixel in range(image * pixels, (image + 1) * pixels):
                while len(self.values) <= pixel:
                    yield
                first, last = self.values[pixel]
                now = max(now, first)
                begin = now if begin is None else begin
                taken = now + per_value
                now = max(now + channels * per_value, last + group * per_value)
                self.values_taken.append((taken, now))
            final = now - per_value  # when the last value begins
            # Three registers later its sums begin to go on, one per cycle. Three words of sums can
            # stand in these registers, so that the last weights go in before the last sums leave.
            now = max(now, final + outputs)
            weighed = max(final + per_value, final + 3 + outputs - 3 * lanes)
            # Four sums held, requantised, gathered and queued make an input of fc2, which takes 5
            # beats of weights.
            inputs = outputs // FC2_PRODUCTS
            beats_per_input = OUTPUTS // FC2_LANES
            first = final + 3 + (FC2_PRODUCTS - 1) + 1 + REQUANTIZE_LATENCY + 2
            last = first + (inputs - 1) * FC2_PRODUCTS
            begin2 = max(first, fc2_free, 0 if self.folding.resident else weighed)
            fc2_free = max(begin2 + inputs * beats_per_input, last + beats_per_input)
            self.weighed.append(fc2_free - 1)
            self.spans["fc1"].append((image, begin, final + per_value))
            self.spans["fc2"].append((image, begin2, fc2_free))
            # Operands, product, tree, sum; bias in two steps; the register before the output.
            self.ended = fc2_free - 1 + 3 + tree_levels(FC2_PRODUCTS) + 2 + 1

    @property
    def _beats_per_word(self) -> int:
        """Beats that make a word of fc1's weights."""
        return self.folding.fc1 // BYTES


def _positions(side: int) -> Iterator[tuple[int, int, bool]]:
    """(row, col, whether a window is complete) of an image with its border, in order."""
    for row in range(side + 1):
        for col in range(side + 1):
            yield row, col, row > 0 and col > 0


def _ends_square(row: int, col: int) -> bool:
    """Whether the window at this position, that around (row - 1, col - 1), ends a 2 x 2 square."""
    return row % 2 == 0 and col % 2 == 0


def _steps_behind_window(channels: int) -> int:
    """Registers from the end of a window to its pooled channels.

    Operands twice, product, tree, sum; `requantize` between skid buffers; those of the pool.
    """
    return 3 + tree_levels(9 * channels) + 1 + REQUANTIZE_LATENCY + SKID_BUFFERS + 2
