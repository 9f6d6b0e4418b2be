"""The checks: `check`, `predict`, `hint`, `quiz`, and what an author writes for them.

An answer's way: judge.py finds the exercise (registry.py), runs the answer under watch (watch/),
compares (compare.py), diagnoses (diagnosis/diagnose.py) and says what was found (messages.py,
render.py).

Modules (written by tools/modules.py):

ask             `predict`, `hint` and `quiz`: each looks its item up, says one message and never
                raises.
compare         Compares what one call of a learner's function did with what was expected of it.
course_version  What `check` hands on when an answer is wrong: the course's own version of the
                function.
diagnosis/      Why an answer is wrong: common slips tried on the oracle, then common patterns.
equality        What counts as an array of numbers, and when two of them are equal.
expected        What a function should have returned: the oracle's results, as arrays.
items           What an author writes: an exercise, a prediction or a quiz.
judge           `check`: is the function right? In five steps: find, run, compare, diagnose, say.
last_right      `last_right`: the learner's last right answer to an exercise, or ours, and whose it
                is.
lesson_files    What an author writes for a lesson: functions in a module, and texts in a file
                beside it.
messages        The messages of `check`: one function for each way a check can end.
phrasing        Shapes, numbers, cases, lines and errors as a reader wants them.
problem         A `Problem`: what is wrong with an answer, in sentences.
record          What the learner has done so far, in a file that survives crashes and two notebooks
                at once.
registry        Finds an exercise, a prediction or a quiz by its id: "gpu.linear_backward".
render          How the checks speak: one Message, shown as plain text or as HTML.
untouched       Whether an answer is still what its lesson's notebook had at first: then nobody has
                tried yet.
values          Compares one returned value with the expected one: type, shape, dtype, NaN, values.
watch/          What guards a check against an answer that nobody has read: it may hang, cheat or
                crash.
"""
