"""What servers and workers say to each other, and who may begin or push when.

server.py and client.py, above, are the two ends.

Modules (written by tools/modules.py):

gate      Whose turn it is: who may begin a step, and in which order pulls and pushes are admitted.
limits    How long a training goes: a server grants steps until its limit is reached.
link      One connection to one server, made anew when it breaks.
requests  What each kind of request holds: a wrong one is refused before anything is done.
talk      What a server answers: the requests of one connection, each kind a method.
turns     A replayed order: whose pull or push is next.
wire      One frame over a socket: what servers and workers say to each other.
"""
