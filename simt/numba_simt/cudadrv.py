"""What scripts take from `numba.cuda.cudadrv`: classes of arrays and errors, no driver."""

from types import SimpleNamespace

from numba_simt.errors import CudaSupportError, KernelError, lacking
from numba_simt.launching import devices as _devices
from numba_simt.launching.arrays import (
    DeviceArray,
    MappedArray,
    device_array_like,
    is_cuda_array,
    to_device,
)


class _Names(SimpleNamespace):
    """A module of numba.cuda.cudadrv."""

    __getattr__ = lacking("cuda.cudadrv")


class CudaDriverError(KernelError):
    """What the driver says; there is none here."""


class CudaAPIError(CudaDriverError):
    """What a call of the driver says; none is made here."""


def is_cuda_ndarray(obj: object) -> bool:
    """Whether it is a device array of this machine."""
    return isinstance(obj, DeviceArray)


def auto_device(obj: object, stream: object = 0, copy: bool = True, **_: bool) -> tuple:
    """The array on the device, and whether it had to be brought there."""
    if is_cuda_array(obj):
        return obj, False
    return to_device(obj, stream, copy), True


devicearray = _Names(
    DeviceNDArray=DeviceArray,
    DeviceNDArrayBase=DeviceArray,
    MappedNDArray=MappedArray,
    auto_device=auto_device,
    from_array_like=device_array_like,
    is_cuda_ndarray=is_cuda_ndarray,
)
devices = _Names(
    gpus=_devices.gpus,
    get_context=_devices.current_context,
    reset=_devices.synchronize,
)
driver = _Names(
    CudaAPIError=CudaAPIError,
    CudaDriverError=CudaDriverError,
    CudaSupportError=CudaSupportError,
    Device=_devices.Device,
    Event=_devices.Event,
    Stream=_devices.Stream,
)
error = _Names(CudaSupportError=CudaSupportError, CudaDriverError=CudaDriverError)
runtime = _Names(Runtime=_devices.Runtime)
