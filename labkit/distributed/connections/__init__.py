"""Connections that strangers cannot use, and tensors as bytes on them.

network.py, above, chooses what carries a message. Here are secrets, seals and doors of
connections, relays, and networks without a way out.
"""
