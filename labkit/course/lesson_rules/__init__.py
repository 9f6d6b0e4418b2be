"""What an author may write and a notebook may store: each rule yields sentences.

verify.py, above, asks all of them.

Modules (written by tools/modules.py):

links         Links of notebooks and pages: which relative ones are dead.
output_rules  The rules for what a notebook stores of its last run: counts, outputs, pictures,
              timings.
prose         What a markdown text holds: words, headings, links and anchors.
rules         The rules every stored notebook obeys.
sentences     Markdown with one sentence on one line: where a text is not so, and how it would be.
source_rules  The rules for what an author writes: it is finished, one sentence is one line, no
              block is wide.
"""
