"""Who looks on at a program's launches, and what they showed.

A `Session` watches the first launches of each kind and keeps `Finding`s; a `Summary` puts them in
order. The command, `pytest --simt` and whoever else has launches to look at share these.

Modules (written by tools/modules.py):

endings    How a program ended: its exit code, and what it raised.
findings   A finding: what is wrong in a kernel, wherever and however often the launches showed it.
session    A session: looks on at launches, watches the first of each kind, and keeps what they
           show.
silencing  Findings that are known: silenced by a comment in their line, or by a file of rules.
sources    The source of a kernel, line by line, with the lines of device functions that it calls.
summary    What a session showed, put in order: what is told, what is silenced, and the exit code.
"""
