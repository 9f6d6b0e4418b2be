"""The kernel of lessons: ipykernel, without a port of this computer that strangers could use.

    python kernel.py -f CONNECTION_FILE

What a forked process prints comes back through a pipe of ZeroMQ. ipykernel binds it to a TCP port,
where any user of this computer could write: into the learner's cells, and into their memory. Here
it is one more socket file, beside those of the connection file. Where the kernel itself talks over
TCP, and where an ipykernel has another pipe, it stays as it was. JupyterLab's debugger is off, by
kernel.json: it would listen at a port that asks for no secret, and run what it is told. PyTorch's
compiler has a folder of the user's own (torch_cache.py).
"""

import os
import sys
from contextlib import suppress
from typing import Any

FORKS = "fork"  # where the names of a connection's five channels have a number


def through_a_file(usual: type) -> type:
    """ipykernel's thread for a kernel's output, whose pipe for forked processes is a file."""
    import zmq
    from zmq.eventloop.zmqstream import ZMQStream

    class IOPubThread(usual):
        _forks_at = ""

        def _setup_pipe_in(self) -> None:
            own = self.socket.getsockopt_string(zmq.LAST_ENDPOINT)  # ipc://FOLDER/kernel-ID-ipc-2
            if not own.startswith("ipc://"):
                return super()._setup_pipe_in()
            place = f"{own.rpartition('-')[0]}-{FORKS}"
            pipe = self.socket.context.socket(zmq.PULL)
            pipe.linger = 0
            try:
                pipe.bind(place)
            except zmq.ZMQError:
                pipe.close()
                return super()._setup_pipe_in()
            self._forks_at = place
            self._pipe_uuid = os.urandom(16)
            self._pipe_in = ZMQStream(pipe, self.io_loop)
            self._pipe_in.on_recv(self._handle_pipe_msg)

        def _setup_pipe_out(self) -> tuple[Any, Any]:
            if not self._forks_at:
                return super()._setup_pipe_out()
            context = zmq.Context()  # a new one, as a fork needs it
            pipe = context.socket(zmq.PUSH)
            pipe.linger = 3000  # ms
            pipe.connect(self._forks_at)
            return context, pipe

        def stop(self) -> None:
            super().stop()
            if self._forks_at and self._is_master_process():
                with suppress(OSError):
                    os.remove(self._forks_at.removeprefix("ipc://"))

    return IOPubThread


def main() -> None:
    """Becomes the kernel."""
    from ipykernel import kernelapp

    from labkit.torch_cache import name_folder

    name_folder()
    if hasattr(kernelapp, "IOPubThread"):
        kernelapp.IOPubThread = through_a_file(kernelapp.IOPubThread)
    kernelapp.launch_new_instance()


if __name__ == "__main__":
    here = os.path.dirname(os.path.realpath(__file__))
    # Its neighbours here are no modules for a lesson's `import`.
    sys.path = [path for path in sys.path if os.path.realpath(path) != here]
    main()
