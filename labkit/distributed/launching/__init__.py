"""What carries out `launch`: ranks as processes, what they print, and why one failed.

launch.py, above, begins and ends it. Here are a rank's process and its results, backends and
torchrun, the ledger of calls, and the sentences for a launch that did not end well.
"""
