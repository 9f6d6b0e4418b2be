"""Wrong ideas that take more than a lambda: one module for each exercise, named as in its id."""
