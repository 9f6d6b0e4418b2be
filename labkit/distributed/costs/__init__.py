"""Seconds and bytes by formula: messages, models, layouts, steps; clusters by name.

The chooser, above, asks them. What others have published lies beside them.

Modules (written by tools/modules.py):

clusters           Clusters by name: which machine, how many in a node, and what a message costs on
                   each link.
cost_model         The alpha-beta model: what a message costs, a collective, and a program that is
                   part serial.
inference_costs    What inference with a language model costs on a machine, at best: prefill,
                   decode, the roofline.
language_models    Sizes of language models, and what follows from them: parameters, FLOPs and
                   bytes.
layouts            How a training is laid out over ranks: data x tensor x pipeline, and how its
                   batch is cut.
memory_model       Bytes of one rank of a training: state by ZeRO's table, activations by what each
                   block keeps.
published_scaling  What others have published of large clusters, beside the step model and beside a
                   constant.
step_model         Seconds of one training step, term by term: a language model, a cluster and a
                   layout.
"""
