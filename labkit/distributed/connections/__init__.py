"""Connections that strangers cannot use, and tensors as bytes on them.

network.py, above, chooses what carries a message. Here are secrets, seals and doors of
connections, relays, and networks without a way out.

Modules (written by tools/modules.py):

closed_network  A network of a process's own, without a way out: for servers that would let anybody
                in.
door            A listener's door: callers prove the secret side by side, and idle strangers keep
                nobody out.
handshake       A connection's first bytes: each end proves, without telling it, that it holds the
                secret.
reads           Reads of a socket that come to an end: so many bytes, or fewer where it is closed,
                in time.
relay           A relay: a process that forwards connections, and holds each segment for alpha
                seconds.
seals           Seals: what the two ends of a connection say, and nobody in between has changed.
tensor_bytes    Tensors as bytes, and back; for those that go through the referee.
wires           Messages over connections of our own, one for each pair of ranks, each through a
                relay if asked.
"""
