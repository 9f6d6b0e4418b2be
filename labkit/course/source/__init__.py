"""A lesson's source, and what is made from it: two notebooks, a module of solutions.

build.py, above, writes what draft.py says.
"""
