"""Lint."""
def lint(sources, parameters): pass
