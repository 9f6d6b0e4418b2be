"""What scripts take from `numba.cuda.cudadrv`: classes of arrays and errors, no driver."""

from types import SimpleNamespace

from numba_simt.errors import CudaSupportError, KernelError
from numba_simt.launching import devices as _devices
from numba_simt.launching.arrays import DeviceArray, MappedArray


class CudaDriverError(KernelError):
    """What the driver says; there is none here."""


class CudaAPIError(CudaDriverError):
    """What a call of the driver says; none is made here."""


def is_cuda_ndarray(obj: object) -> bool:
    """Whether it is a device array of this machine."""
    return isinstance(obj, DeviceArray)


devicearray = SimpleNamespace(
    DeviceNDArray=DeviceArray,
    DeviceNDArrayBase=DeviceArray,
    MappedNDArray=MappedArray,
    is_cuda_ndarray=is_cuda_ndarray,
)
devices = SimpleNamespace(
    gpus=_devices.gpus,
    get_context=_devices.current_context,
    reset=_devices.synchronize,
)
driver = SimpleNamespace(
    CudaAPIError=CudaAPIError,
    CudaDriverError=CudaDriverError,
    CudaSupportError=CudaSupportError,
    Device=_devices.Device,
    Event=_devices.Event,
    Stream=_devices.Stream,
)
error = SimpleNamespace(CudaSupportError=CudaSupportError, CudaDriverError=CudaDriverError)
runtime = SimpleNamespace(Runtime=_devices.Runtime)
