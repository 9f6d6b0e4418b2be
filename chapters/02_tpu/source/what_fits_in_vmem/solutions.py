"""The solutions of lesson 02_tpu/7_what_fits_in_vmem. Written by `labkit build` from

chapters/02_tpu/source/what_fits_in_vmem/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""


def double(x):
    """x [n] -> y [n]: y = 2 x, float64"""
    y = 2 * x
    return y


SOLUTIONS = {
    "tpu.what_fits_in_vmem_double": double,
}
