"""The small GPT of which each rank has a part; the rest of its code does not know.

model = split_model(GPT(seed=0), tensor_group())
train(model, emma().train, Plan())      # gpt.training's, unchanged, in every rank
"""

from labkit.distributed.gpt.model import GPT
from labkit.distributed.tensor_parallel.group import TensorGroup
from labkit.distributed.tensor_parallel.layers import SplitAttention, SplitMLP
from labkit.distributed.tensor_parallel.split import split_state


def split_model(model: GPT, group: TensorGroup) -> GPT:
    """The same model object, with this rank's part in place of each attention and each MLP.

    All ranks give it equal weights, and feed it equal tokens: then all get the same logits, and
    each the gradients of its own part. 2L all-reduces of [N,T,D] in a forward and 2L in a backward.
    Raises ValueError where the ranks cannot share the heads evenly.
    """
    part = split_state(model.state_dict(), model.config, group.rank, group.ranks)
    like = model.head.weight
    for block in model.blocks:
        block.attention = SplitAttention(model.config, group).to(
            like.device,
            like.dtype,
        )
        block.mlp = SplitMLP(model.config, group).to(like.device, like.dtype)
    model.load_state_dict(part)
    return model
