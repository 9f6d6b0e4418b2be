"""`labkit grade`: a folder of notebooks that nobody has read, each answer with a verdict.

A submission's way: submissions.py reads its file as data, slices.py finds the statements that its
answers need, and grading.py brings two closed processes together (closed_process.py,
closed_room.py). In one the student's statements run (answers.py, student_process.py); it has no
answers of the course. In the other the verdict is found (judge_process.py). They say to each other
what data.py can write: numbers and texts, and no pickle of the student's.

Modules (written by tools/modules.py):

answer_keys      What grading knows of a lesson: its exercises, the course's own answers, and where
                 those lie.
answers          The answers of one submission, kept and called in a student's process
                 (student_process.py).
calls            A function that runs in another process, called as if it were here: for judges that
                 call it.
closed_process   Starts a program in a closed room (closed_room.py), asks it, and ends it: it may
                 not be trusted.
closed_room      A closed room for a program that may not be trusted: no network, no files of
                 others, few rights.
command          `labkit grade DIR`: a verdict for each exercise of each notebook in a folder.
data             What two processes say to each other, where one may not be trusted: JSON and
                 arrays, no pickle.
grading          One submission's verdicts: its statements run in one closed room, and are judged
                 from another.
judge_process    The process that finds verdicts: it has the course's answers, and draws the cases.
kernels          A student's kernel as text and numbers, and made anew from these in another
                 process.
report           What a grading found, as a table for a spreadsheet and as a page that needs no
                 other file.
rooms            What a closed room shows: Python, the course's package and its lessons, and nothing
                 else.
slices           Which statements of a notebook its answers need: found in the text, by the names
                 that they use.
student_process  The process in which a student's statements run: it keeps their answers, and calls
                 them.
submissions      A submitted notebook as data: whose it is, of which lesson, its cells, guesses and
                 free answers.
"""
