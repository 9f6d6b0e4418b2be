"""Tensor parallel: every layer of the small GPT split over ranks, by hand and by PyTorch.

    def program(rank, ranks):
        model = split_model(GPT(), tensor_group())      # this rank's part
        return train(model, emma().train, Plan())       # the same losses as in one process

Lesson tensor_parallel.
"""
