"""The small GPT cut into stages of whole blocks, one rank for each: pipeline parallelism.

Modules (written by tools/modules.py):

emulated     Stages that only sleep, for as long as you say: emulated compute for pipelines.
predictions  When each stage does what, if messages take no time, or all the same; and the two
             formulas.
runner       One step of a pipeline by hand: each rank carries out its stage's order of work.
schedules    Schedules: for each stage, in which order it works on the micro-batches.
stages       Stages: a GPT cut into p parts of whole blocks.
"""
