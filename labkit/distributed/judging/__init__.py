"""Exercises whose answer runs in ranks: a referee carries each message, and a judge tells.

Lessons call rank_exercise.py; what it starts is labkit.distributed.launching's.

Modules (written by tools/modules.py):

carried_in_turn       In a check: all-reduces that a thread would carry are carried when somebody
                      waits for one.
posts                 What a rank and the referee say to each other: what it posts, where, and how
                      it ended.
rank_exercise         Exercises whose answer runs in real rank processes: `f(rank, ranks, x)`, as
                      `launch` runs it.
rank_judge            The judge of an exercise in ranks: runs a learner's function in processes, and
                      compares.
rank_results          What the ranks returned, as arrays that the checks can compare: one for each
                      rank and result.
referee               The referee: carries all that ranks send, counts it, and knows when nothing
                      can go on.
referee_line          The line of one rank process to the referee: it posts, waits, and asks.
refereed_collectives  torch.distributed's collectives, through the referee: same names, same
                      parameters.
refereed_messages     torch.distributed's sends and receives, through the referee: same names, same
                      parameters.
refereed_rank         What runs in each rank process of a check: the learner's function, watched,
                      among other ranks.
refereed_run          The rank processes of one case, and the referee between them.
refereed_torch        What takes the place of torch.distributed's functions in an exercise's rank
                      processes.
refereed_work         An operation that a rank has begun at the referee, as torch.distributed's
                      `Work`.
traffic               What went between the ranks in one case of an exercise, counted by the
                      referee.
verdicts              What a case in rank processes is told, in sentences: who waits where for whom,
                      and why in vain.
"""
