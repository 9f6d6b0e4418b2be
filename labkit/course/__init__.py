"""The course room: how lessons are built, checked, verified, copied for the learner and opened.

Modules (written by tools/modules.py):

build          `labkit build`: of each source its two executed notebooks; of all CLAIMS.md and
               RULES.md.
catalogue      What there is to study: the four chapters, and the lessons that lie in them.
config         Where the course lies and where it is published: `[tool.labkit]` in pyproject.toml.
contents       JupyterLab's window on work/: a lesson that is asked for and not there yet is copied
               first.
copies         The learner's copies: made when a lesson is first opened, never overwritten, never
               removed.
doctor         `labkit doctor`: what this machine is, what each chapter runs on here, what to
               install for more.
execute        Runs a notebook in a fresh kernel and stores what it prints, but nothing that changes
               from run to run: no execution times, and one stream is one output, however the kernel
               happened to cut it.
folders        A lesson's folder: what must lie in it, and what its modules may import.
generated      A file that the course writes by itself, and whether it lies there as it should.
grading/       `labkit grade`: a folder of notebooks that nobody has read, each answer with a
               verdict.
handout/       What a teacher hands to a class: notebooks, each complete in itself.
items          A lesson's exercises and texts, read as `check` reads them: what it could not use is
               named.
kernel         The kernel of lessons: ipykernel, without a port of this computer that strangers
               could use.
kernel_files   Kernels that run lessons unseen: they talk through socket files that are their user's
               alone.
lab            `labkit lab`: JupyterLab on the learner's folder, opened at the start page, quiet
               offline.
lesson_rules/  What an author may write and a notebook may store: each rule yields sentences.
new            `labkit new`: the files of a lesson that is still to be written.
notebook       One notebook as plain JSON: read, cleared, sealed, written.
pages/         Pages and tables that the build writes from all lessons, or from reports of GPUs.
progress       `labkit progress`: what is solved, predicted and answered, lesson by lesson; where to
               go on.
source/        A lesson's source, and what is made from it: two notebooks, a module of solutions.
start          The start page: what there is to study, what is done, and what changed since it was
               opened.
teaching/      Pages for whoever teaches the course, made from the lessons themselves.
verify         `labkit build --check` and `labkit verify`: is everything stored as it should be?
"""

import tomllib
from pathlib import Path

TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))


class CourseError(Exception):
    """Something in the course is wrong; the message is a sentence: what, where, what to do."""
