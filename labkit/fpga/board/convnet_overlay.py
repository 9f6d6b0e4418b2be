"""`ConvNetOverlay`: photographs through the accelerator on a board, real or virtual.

    network = ConvNetOverlay(bitstream, quantized)
    network.predict(images), network.cycles

It is made of plain calls of pynq: a register to start, and a DMA for the job and its results.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.fpga.board.accelerator_registers import KIND, driver_type
from labkit.fpga.board.errors import BoardError
from labkit.fpga.convnet.accelerator_words import (
    BYTES,
    WORDS_PER_IMAGE,
    images_per_job,
    job_words,
    logits,
)
from labkit.provenance import Quantity, counted

if TYPE_CHECKING:
    from labkit.fpga.quantize import QuantizedConvNet

DMA_KIND = "xilinx.com:ip:axi_dma"
DMA_RESET = 4  # bit of DMACR: both channels
JOB_BYTES = 16 << 20  # of a stream: far below what the DMA and a board's memory allow


class ConvNetOverlay:
    """The quantised network on the board.

    overlay     a pynq `Overlay` with the accelerator and an AXI DMA, or the path of its .bit
    network     from `quantize`; it has to have the shapes that the accelerator was built for
    job_bytes   the longest stream of one job; the DMA's own limit counts, too

    folding     the accelerator's knobs, read from its register FOLDING
    jobs        how many jobs the latest call took
    cycles      what they took together, counted by the register CYCLES

    Raises BoardError for an overlay without the two, ValueError for a network of other shapes and
    for jobs too small for one image.
    """

    def __init__(
        self, overlay: Any, network: "QuantizedConvNet", job_bytes: int = JOB_BYTES
    ) -> None:
        driver = driver_type()  # before an Overlay is made: then it binds this driver
        if isinstance(overlay, str | Path):
            from pynq import Overlay

            overlay = Overlay(str(overlay))
        self._overlay = overlay
        self._network = network
        name = _only(overlay, KIND)
        bound = getattr(overlay, name)
        self.accelerator = bound if isinstance(bound, driver) else driver(overlay.ip_dict[name])
        self._dma = getattr(overlay, _only(overlay, DMA_KIND))
        self.folding = self.accelerator.folding
        self._shapes = self.accelerator.shapes
        most = min(job_bytes, self._dma.buffer_max_size)
        self._images = images_per_job(network.layers, self.folding, self._shapes, most)
        self.jobs = 0
        self.cycles: Quantity = _counted(0)

    def logits(self, images: np.ndarray) -> np.ndarray:
        """int32[N,10] of uint8 photographs[N,3,32,32], or of what `network.to_int8` makes of them.

        Raises ValueError for other images, and BoardError for a job that the accelerator refuses.
        """
        images = np.asarray(images)
        if images.dtype not in (np.uint8, np.int8):
            raise ValueError(
                f"ConvNetOverlay: the images hold {images.dtype}: give uint8 pixels, or int8 as "
                "network.to_int8(pixels) gives them."
            )
        images = self._network.to_int8(images)
        self._make_ready()
        results = []
        cycles = 0
        self.jobs = 0
        self.cycles = _counted(0)
        for first in range(0, len(images), self._images):
            results.append(self._job(images[first : first + self._images]))
            cycles += int(self.accelerator.cycles)
            self.jobs += 1
        self.cycles = _counted(cycles)
        return np.concatenate(results)

    def predict(self, images: np.ndarray) -> np.ndarray:
        """The class of each image, int64[N]: the place of its largest logit. Raises as `logits`."""
        return self.logits(images).argmax(axis=1)

    def _make_ready(self) -> None:
        """Somebody may have loaded a bitstream since: the same one, or another."""
        accelerator = self.accelerator
        if (accelerator.folding, accelerator.shapes) != (self.folding, self._shapes):
            raise BoardError(
                "The accelerator on the board has another folding or other shapes than before: "
                "another bitstream was loaded meanwhile. Make a new ConvNetOverlay."
            )
        for channel in (self._dma.sendchannel, self._dma.recvchannel):
            if not channel.running:
                channel.start()

    def _job(self, images: np.ndarray) -> np.ndarray:
        """One job: int8 images[n,3,H,W] -> int32[n,10]."""
        words = job_words(self._network.layers, images, self.folding, self._shapes)
        send, receive = self._dma.sendchannel, self._dma.recvchannel
        with self._buffer(len(words)) as job, self._buffer(WORDS_PER_IMAGE * len(images)) as result:
            job[:] = words
            self.accelerator.start(len(images))
            try:
                receive.transfer(result)
                send.transfer(job)
                send.wait()
                receive.wait()
                self.accelerator.refuse_faults()
            except BaseException:
                self._abandon()
                raise
            if receive.transferred != result.nbytes:
                raise BoardError(
                    f"The accelerator gave {receive.transferred:,} bytes for {len(images):,} "
                    f"images, not {result.nbytes:,}."
                )
            return logits(np.array(result))

    @contextmanager
    def _buffer(self, words: int) -> Iterator[Any]:
        """So many 64-bit words of the board's memory."""
        from pynq import allocate

        buffer = allocate(words, f"u{BYTES}", target=self._overlay.device)
        try:
            yield buffer
        finally:
            buffer.freebuffer()

    def _abandon(self) -> None:
        """After an error or an interruption: makes both ready for the next job, if they answer."""
        with suppress(Exception):  # the first error is the one to tell
            self.accelerator.reset()
            self._dma.write(0, DMA_RESET)
            self._dma.sendchannel.start()
            self._dma.recvchannel.start()


def _only(overlay: Any, kind: str) -> str:
    """The name of the overlay's one IP of a kind; raises BoardError where there is not one."""
    kinds = {name: str(entry.get("type", "")) for name, entry in overlay.ip_dict.items()}
    found = [name for name, its in kinds.items() if its.rpartition(":")[0] == kind]
    if len(found) != 1:
        there = ", ".join(f"{name} ({its})" for name, its in kinds.items()) or "nothing"
        raise BoardError(
            f"ConvNetOverlay needs exactly one IP {kind}, and this overlay has {len(found)}. "
            f"It has {there}."
        )
    return found[0]


def _counted(cycles: int) -> Quantity:
    return counted(cycles, "cycles", "the register of the accelerator")
