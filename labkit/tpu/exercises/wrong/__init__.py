"""The wrong ideas of chapter 02_tpu, a module for each lesson: what they compute.

What they are told stands in the lesson's file of texts, under the names of the tables here.
"""
