"""Cookies of one lab do not open the next: another user might have caught them in between."""

import os

c.ServerApp.cookie_secret = os.urandom(32)  # noqa: F821  Jupyter's own name for its settings
