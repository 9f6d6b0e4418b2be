"""The lessons' solutions, written by `labkit build` from their sources (labkit/course/solutions.py)."""
