"""What a teacher hands to a class: notebooks, each complete in itself.

Modules (written by tools/modules.py):

command     `labkit handout`: notebooks for a class on Colab, each complete in itself, and what to
            do.
first_cell  The first cell of a handout: it takes labkit from the first place that has it, and says
            which.
pages       What lies in a handout: notebooks with a first cell of their own, and the page to start
            with.
payload     The course's two wheels, and what of them the first cell of a handout carries, as a
            text.
ready       What a handout's first cell does once labkit is there: packages, then data.
"""
