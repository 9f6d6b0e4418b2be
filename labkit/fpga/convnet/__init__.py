"""The course's network as an accelerator: its jobs, words, cycles and gates.

Its circuits are in rtl/, above; so is what simulates and synthesizes any module.
"""
