"""The course's network as an accelerator: its jobs, words, cycles and gates.

Its circuits are in rtl/, above; so is what simulates and synthesizes any module.

Modules (written by tools/modules.py):

accelerator             The accelerator in simulation: its registers, its streams, and whole jobs.
accelerator_cycles      Clock cycles of the accelerator by formula: of each layer and of the stream.
accelerator_parameters  The accelerator's parameters: its knobs, and the shapes of the network that
                        it is built for.
accelerator_report      What the accelerator takes on the XC7Z020, for some foldings, as Yosys
                        reported it once.
accelerator_words       A network and its images as the one stream of 64-bit beats that the
                        accelerator takes.
budget                  The budget of the XC7Z020: what it has, what each cell takes of it, and a
                        picture of both.
hls                     Layer conv1 by hls4ml: what its C simulation gave for one image, and how to
                        make it again.
own_modules             The learner's own modules in the accelerator: which there are, and how each
                        one gets in.
pipeline_runs           The accelerator watched from inside: which layer works in which cycle.
published               What others published of networks on the Pynq boards, and what ours would
                        reach there.
"""
