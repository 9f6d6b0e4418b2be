"""Servers and workers as processes of one cluster: started, ordered, watched, ended.

What runs in them, server.py and worker.py, lies above.
"""
