"""Wrong ideas that take more than a lambda: one module for each lesson, of the lesson's name."""
