"""Wrong ideas that take more than a lambda: one module for each exercise, named as in its id.

What several exercises of a lesson share lies in a module of the lesson's name. No oracle is here.
"""
