"""The upper half of the compiler: from a whole function to a program.

assignments   to variables and elements      statements  branches, and what ends a function
loops         `while`, and `for` over range   frontend    the way in
"""
