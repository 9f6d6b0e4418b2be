"""Pages for whoever teaches the course, made from the lessons themselves.

What a lesson's header, text, exercises and stored outputs say is all that these pages know, so a
lesson that is written again brings its own. `labkit handout` lays them into the teacher's folder.

Modules (written by tools/modules.py):

paths  Which lessons fit into an afternoon, a day, a week or a term: from the headers' minutes
       alone.
plans  The teacher's pages of a handout: PATHS.md, and a plan for each lesson.
"""
