"""Exercises whose answer is a module, or a function that drives a board: what refuses it.

Lessons call rtl_exercise.py and board_exercise.py.
"""
