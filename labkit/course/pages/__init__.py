"""Pages and tables that the build writes from all lessons, or from reports of GPUs.

build.py, above, writes them, and verify.py compares.
"""
