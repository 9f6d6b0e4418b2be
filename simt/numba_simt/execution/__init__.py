"""The machine: how memory lies, the C core in c/, and what that counted and found.

machine    a launch of a program          hazards   what is wrong, as sentences
layout     where its arrays lie           waiting   deadlock, or an endless loop
structs    what C and Python share        places    names of lines, threads, elements
tables     the instruction set for C      counting  counters by line
native     compiles the C core once
"""
