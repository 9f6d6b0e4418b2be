"""The small GPT beside PyTorch's own layers, and its bad inputs."""

import pytest
import torch

from labkit.distributed.gpt.model import GPT, Attention, Config, loss_of

SMALL = Config(vocabulary=11, context=6, width=8, heads=2, layers=2)


def test_attention_equals_that_of_pytorch():
    attention = Attention(SMALL).double()
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).double()
    with torch.no_grad():
        parts = (attention.query, attention.key, attention.value)
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.load_state_dict(attention.output.state_dict())
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected, _ = theirs(x, x, x, attn_mask=later, need_weights=False)
    assert torch.allclose(attention(x), expected, atol=1e-12)


def test_a_token_does_not_see_what_follows():
    model = GPT(SMALL).double()
    tokens = torch.arange(6).reshape(1, 6)
    changed = tokens.clone()
    changed[0, 4] = 10
    before, after = model(tokens), model(changed)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_the_embedded_size_has_830_208_weights():
    assert sum(weight.numel() for weight in GPT().parameters()) == 830_208


def test_equal_seeds_give_equal_weights_whatever_was_drawn_before():
    torch.manual_seed(1)
    first = GPT(SMALL, seed=3).state_dict()
    torch.rand(7)
    second = GPT(SMALL, seed=3).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    other = GPT(SMALL, seed=4).state_dict()
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_a_fresh_model_knows_nothing():
    model = GPT()
    tokens = torch.arange(64).reshape(2, 32)
    loss = loss_of(model(tokens), tokens)
    assert abs(loss.item() - torch.log(torch.tensor(80.0))) < 0.1


def test_more_tokens_than_the_context_are_refused():
    with pytest.raises(ValueError, match="7 tokens do not fit into a context of 6"):
        GPT(SMALL)(torch.zeros(1, 7, dtype=torch.int64))


@pytest.mark.parametrize("bad", [{"heads": 3}, {"layers": 0}, {"width": 8.0}])
def test_sizes_that_make_no_model_are_refused(bad):
    with pytest.raises(ValueError, match="Config"):
        Config(**bad)
