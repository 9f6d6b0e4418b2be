"""One launch, counted line by line.

profiler         the launch             counters  each with its unit and Nsight's name
profile_table    as text and as HTML
"""
