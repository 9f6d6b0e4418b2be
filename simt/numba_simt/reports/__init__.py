"""What a session showed, for people and for programs: each module writes one form of a `Summary`.

Modules (written by tools/modules.py):

json_report  The report as JSON; docs/races.md says what each key means.
page         The report as one HTML file: source with counters line by line, findings at their
             lines.
sarif        The report as SARIF 2.1.0 (OASIS), which code hosts show beside the lines of a change.
terminal     The report as text for a terminal: the verdict first, each finding with both of its
             lines.
"""
