"""Wrong ideas of tpu.throughput: cycles [n], images of a device, devices, Hz -> images/s.

They may raise, as a learner's would.
"""

import numpy as np


def seconds(cycles, batch, devices, clock):
    """A step's."""
    return cycles.sum() / clock


def seconds_per_image(cycles, batch, devices, clock):
    """One over the rate."""
    images = batch * devices
    return seconds(cycles, batch, devices, clock) / images


def upside_down(cycles, batch, devices, clock):
    """Times the seconds."""
    images = batch * devices
    return images * cycles.sum() / clock


def whole_steps(cycles, batch, devices, clock):
    """Only steps that end within a second."""
    steps = clock // cycles.sum()
    return steps * batch * devices


def equal_ones_once(cycles, batch, devices, clock):
    """A set of numbers has each of them once."""
    different = np.unique(cycles)
    images = batch * devices
    return images * clock / different.sum()


def in_32_bits(cycles, batch, devices, clock):
    """The sum overflows."""
    total = cycles.astype(np.int32).sum(dtype=np.int32)
    images = batch * devices
    return images * clock / total


def longest(cycles, batch, devices, clock):
    """As if all operations began together."""
    images = batch * devices
    cycles_of_step = cycles.max()
    return images * clock / cycles_of_step


def shortest(cycles, batch, devices, clock):
    """As if a step were its shortest operation."""
    images = batch * devices
    cycles_of_step = cycles.min()
    return images * clock / cycles_of_step


def mean(cycles, batch, devices, clock):
    """As if a step were an average operation."""
    images = batch * devices
    cycles_of_step = cycles.mean()
    return images * clock / cycles_of_step


def one_for_each(cycles, batch, devices, clock):
    """As if each operation were a step."""
    images = batch * devices
    return images * clock / cycles


def rates_added(cycles, batch, devices, clock):
    """The sum of the rates of the operations."""
    rates = one_for_each(cycles, batch, devices, clock)
    return rates.sum()


def one_device(cycles, batch, devices, clock):
    """The devices are forgotten."""
    return batch * clock / cycles.sum()


def shared_batch(cycles, batch, devices, clock):
    """The devices share one batch."""
    own = batch / devices
    return own * clock / cycles.sum()


def no_batch(cycles, batch, devices, clock):
    """The images are forgotten."""
    return devices * clock / cycles.sum()


def steps(cycles, batch, devices, clock):
    """Devices and images are forgotten."""
    return clock / cycles.sum()
