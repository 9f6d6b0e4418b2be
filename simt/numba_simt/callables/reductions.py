"""What NumPy computes of all elements of an array: sums, means, extremes, tests.

The compiler inlines them, so they are written as kernels are. The order, the types and what becomes
of a NaN are those of Numba's own.
"""


def summed(a, zero):
    """a.sum(); `zero` has the type of the sum"""
    total = zero
    for v in a.flat:
        total += v
    return total


def multiplied(a, one):
    """a.prod()"""
    product = one
    for v in a.flat:
        product *= v
    return product


def mean(a, zero):
    """a.mean()"""
    return summed(a, zero) / a.size


def variance(a, zero):
    """a.var() of real numbers"""
    m = mean(a, zero)
    squares = 0
    for v in a.flat:
        d = v - m
        squares += d * d
    return squares / a.size


def deviation(a, zero):
    """a.std() of real numbers"""
    return variance(a, zero) ** 0.5


def every(a):
    """a.all()"""
    found = True
    for v in a.flat:
        if not v:
            found = False
            break
    return found


def some(a):
    """a.any()"""
    found = False
    for v in a.flat:
        if v:
            found = True
            break
    return found


def nonzeros(a):
    """np.count_nonzero(a)"""
    count = 0
    for v in a.flat:
        if v != 0:
            count += 1
    return count


def least(a):
    """a.min(): the first NaN, if there is one"""
    return extreme(a, argleast, "zero-size array to reduction operation minimum")


def greatest(a):
    """a.max(): the first NaN, if there is one"""
    return extreme(a, arggreatest, "zero-size array to reduction operation maximum")


def extreme(a, place, said):
    """The element of the place that `place(a)` finds; ValueError where there is none."""
    if a.size == 0:
        raise ValueError(said)
    return a.flat[place(a)]


def argleast(a):
    """a.argmin()"""
    if a.size == 0:
        raise ValueError("attempt to get argmin of an empty sequence")
    at = 0
    best = a.flat[0]
    for i, v in enumerate(a.flat):
        if v != v:
            at = i
            break
        if v < best:
            best = v
            at = i
    return at


def arggreatest(a):
    """a.argmax()"""
    if a.size == 0:
        raise ValueError("attempt to get argmax of an empty sequence")
    at = 0
    best = a.flat[0]
    for i, v in enumerate(a.flat):
        if v != v:
            at = i
            break
        if v > best:
            best = v
            at = i
    return at


def sum_of_numbers(a, zero):
    """np.nansum(a)"""
    total = zero
    for v in a.flat:
        if v == v:
            total += v
    return total


def product_of_numbers(a, one):
    """np.nanprod(a)"""
    product = one
    for v in a.flat:
        if v == v:
            product *= v
    return product


def mean_of_numbers(a):
    """np.nanmean(a)"""
    total = 0.0
    count = 0
    for v in a.flat:
        if v == v:
            total += v
            count += 1
    return total / count


def variance_of_numbers(a):
    """np.nanvar(a)"""
    m = mean_of_numbers(a)
    squares = 0.0
    count = 0
    for v in a.flat:
        if v == v:
            d = v - m
            squares += d * d
            count += 1
    return squares / count


def deviation_of_numbers(a):
    """np.nanstd(a)"""
    return variance_of_numbers(a) ** 0.5


def least_number(a):
    """np.nanmin(a)"""
    if a.size == 0:
        raise ValueError("np.nanmin on an empty array")
    best = a.flat[0]
    for v in a.flat:
        if v < best or best != best:
            best = v
    return best


def greatest_number(a):
    """np.nanmax(a)"""
    if a.size == 0:
        raise ValueError("np.nanmax on an empty array")
    best = a.flat[0]
    for v in a.flat:
        if v > best or best != best:
            best = v
    return best
