"""The checks: `check`, `predict`, `hint`, `quiz`, and what an author writes for them.

An answer's way: judge.py finds the exercise (registry.py), runs the answer under watch (watch/),
compares (compare.py), diagnoses (diagnosis/diagnose.py) and says what was found (messages.py,
render.py).
"""
