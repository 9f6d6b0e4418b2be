"""Why an answer is wrong: common slips tried on the oracle, then common patterns.

judge.py, above, asks diagnose.py.
"""
