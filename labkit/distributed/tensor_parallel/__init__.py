"""Tensor parallel: every layer of the small GPT split over ranks, by hand and by PyTorch.

    def program(rank, ranks):
        model = split_model(GPT(), tensor_group())      # this rank's part
        return train(model, emma().train, Plan())       # the same losses as in one process

Lesson tensor_parallel.

Modules (written by tools/modules.py):

counting    Every collective and message of PyTorch's that a rank really begins, with its bytes.
dtensor     The same split by PyTorch: DTensor and `parallelize_module`.
group       The ranks that share every layer of one model, and how they add up what each has
            computed.
layers      Attention and MLP of which each rank has a part: columns first, then rows, and one sum.
model       The small GPT of which each rank has a part; the rest of its code does not know.
operations  The two conjugate operations: each is in the forward what the other is in the backward.
split       A GPT's weights cut for the ranks, and the parts joined again, equal to the original in
            each bit.
"""
