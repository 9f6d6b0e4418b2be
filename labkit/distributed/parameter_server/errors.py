"""What goes wrong between servers and workers."""


class WireError(ConnectionError):
    """Bytes that are no frame of ours, or that end in the middle of one; the text says which."""


class ServerError(RuntimeError):
    """A server that refuses, or does not answer in time; the text says who waited for what."""
