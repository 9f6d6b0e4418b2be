"""A port that stays with its user's programs, also while none of them listens there.

    held = held_port()                        # a socket that is bound, and does not listen
    Server(secret, port=held.getsockname()[1], held=True)

When a server has died, its port would be free to every user of the computer: a stranger there could
be silent, and workers would wait for it. While it is held, who calls is refused as at a free port,
and the same user's servers may bind it again. Both ends set SO_REUSEPORT: the system lets nobody
but that user share the port then. SO_REUSEADDR on the holder would let in everybody who sets it.
"""

import socket


def held_port(host: str = "127.0.0.1") -> socket.socket:
    """Holds a free port of this machine until the socket is closed."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind((host, 0))
    return holder
