"""Why an answer is wrong: common slips tried on the oracle, then common patterns.

judge.py, above, asks diagnose.py.

Modules (written by tools/modules.py):

array_changes  Changes of one array that a slip amounts to: an axis turned round, one entry left
               out, shifted.
borders        Wrong values behind a border: of a limit that is missing, or of another array's
               length.
call_causes    Causes that only several calls show: chance, and what is kept from one call to the
               next.
case_features  What can be said of a case, and which of it tells the right cases from the wrong
               ones.
causes         The likely cause of wrong values, for every exercise alike: common slips, then common
               patterns.
chunks         Ranks that each hand on a chunk: what a rank's wrong chunks still hold.
diagnose       From the problems of the cases to the first one, where it shows, and its likely
               cause.
finer_causes   Causes that are tried behind the common slips: what few make, and what a factor may
               explain.
places         What the places of the wrong values have in common: one end of an axis, or one kind
               of value.
proportions    A factor, or a distance, that is the same for all values of a case: 2 times, too
               large by 1.
slips          Slips that any exercise can suffer: a change of what goes into the oracle, or of what
               comes out.
trials         What a learner's function gave in each case, and whether a supposed cause explains
               it.
"""
