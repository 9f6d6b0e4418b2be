"""What an author may write and a notebook may store: each rule yields sentences.

verify.py, above, asks all of them.
"""
