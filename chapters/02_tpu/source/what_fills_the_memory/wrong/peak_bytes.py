"""Wrong ideas of tpu.peak_bytes: arguments [n], results [m], donated [n], temporary -> bytes.

Dense: each takes all arguments of the right one, and is a formula, to be held against it.
"""

import numpy as np


def shared(arguments, results, donated):
    """Bytes of the results that lie in the place of a donated argument."""
    total = 0
    for size in np.unique(results):
        places = np.sum(donated & (arguments == size))
        total += size * min(places, np.sum(results == size))
    return total


def never_shared(arguments, results, donated, temporary):
    """Donation changes nothing."""
    return int(arguments.sum() + results.sum() + temporary)


def all_donated(arguments, results, donated, temporary):
    """Each argument gives its place away."""
    everything = np.ones(len(arguments), bool)
    saved = shared(arguments, results, everything)
    return never_shared(arguments, results, donated, temporary) - int(saved)


def turned_round(arguments, results, donated, temporary):
    """Those that are not donated give theirs away."""
    saved = shared(arguments, results, ~donated)
    return never_shared(arguments, results, donated, temporary) - int(saved)


def donated_is_free(arguments, results, donated, temporary):
    """A donated argument takes no memory."""
    return int(arguments[~donated].sum() + results.sum() + temporary)


def place_for_many(arguments, results, donated, temporary):
    """All results of a size take the same place."""
    saved = results[np.isin(results, arguments[donated])].sum()
    return never_shared(arguments, results, donated, temporary) - int(saved)


def smaller_fits(arguments, results, donated, temporary):
    """A result also takes the place of a larger argument."""
    places = sorted(arguments[donated].tolist())
    saved = 0
    for size in sorted(results.tolist(), reverse=True):
        fitting = [place for place in places if place >= size]
        if fitting:
            places.remove(fitting[0])
            saved += size
    return never_shared(arguments, results, donated, temporary) - saved


def results_forgotten(arguments, results, donated, temporary):
    """The results need no memory."""
    return int(arguments.sum() + temporary)


def arguments_forgotten(arguments, results, donated, temporary):
    """Only what the program makes itself."""
    return int(results.sum() + temporary)


def temporary_forgotten(arguments, results, donated, temporary):
    """Without the temporary arrays."""
    return int(arguments.sum() + results.sum() - shared(arguments, results, donated))


def larger_of_both(arguments, results, donated, temporary):
    """Results take the place of arguments, as far as there are any."""
    return int(max(arguments.sum(), results.sum()) + temporary)


def whole_kib(arguments, results, donated, temporary):
    """Rounded down to a multiple of 1,024."""
    saved = shared(arguments, results, donated)
    return (never_shared(arguments, results, donated, temporary) - int(saved)) // 1024 * 1024
