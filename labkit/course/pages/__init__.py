"""Pages and tables that the build writes from all lessons, or from reports of GPUs.

build.py, above, writes them, and verify.py compares.

Modules (written by tools/modules.py):

claims         CLAIMS.md: every claim that a lesson puts on trial, with its verdict and a link to
               the cell.
lesson_index   The index in which `check` finds a lesson: labkit/checks/lesson_index.toml, written
               by the build.
lesson_rows    The rows of lessons in README.md and in the pages of chapters: what the lessons'
               headers say.
measured       What GPUs said of chapter 01: its page measured.md and a row of README, from the
               stored reports.
rules_to_keep  RULES.md: the rule to keep of every lesson, by chapter, with a link to the lesson.
stubs          The digests of what learners find at first: labkit/checks/stubs.toml, written by the
               build.
"""
