"""The attention of the student server gives what `transformers` gives, request by request and all at once."""

import types

import pytest
import torch
from transformers.generation.continuous_batching.utils import build_attention_mask
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from clawgym.client.serve import ragged_attention

HEADS, KEY_HEADS, WIDTH = 6, 2, 8


def row(news: list[int], pasts: list[int]):
    """Random query, key and value of requests in one row, the mask of `transformers` for it, and where requests begin."""
    generator = torch.Generator().manual_seed(3)
    begins_q = torch.tensor([0, *news]).cumsum(0).int()
    begins_k = torch.tensor([0, *(a + b for a, b in zip(news, pasts, strict=True))]).cumsum(0).int()
    query = torch.randn(1, HEADS, begins_q[-1], WIDTH, generator=generator)
    key, value = torch.randn(2, 1, KEY_HEADS, begins_k[-1], WIDTH, generator=generator)
    mask = torch.full((1, 1, int(begins_q[-1]), int(begins_k[-1])), torch.finfo(torch.float32).min)
    build_attention_mask(mask, begins_q.tolist(), begins_k.tolist())
    return query, key, value, mask, {"cu_seq_lens_q": begins_q, "cu_seq_lens_k": begins_k}


MODULE = types.SimpleNamespace(num_key_value_groups=HEADS // KEY_HEADS, is_causal=True)


@pytest.mark.parametrize(
    ("news", "pasts"),
    [([5], [0]), ([1], [9]), ([1, 1, 1], [3, 11, 7]), ([4, 1, 7, 1], [0, 6, 5, 0]), ([3, 0, 2], [2, 4, 0])],
    ids=["prompt", "next token", "next tokens", "mixed", "an empty request between"],
)
def test_requests_in_one_row_see_their_own_tokens_only(news, pasts):
    query, key, value, mask, begins = row(news, pasts)
    expected, _ = sdpa_attention_forward(MODULE, query, key, value, mask, scaling=0.3)
    result, _ = ragged_attention(MODULE, query, key, value, mask, scaling=0.3, **begins)
    assert result.shape == (1, sum(news), HEADS, WIDTH)
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)


def test_what_is_not_plain_causal_attention_over_a_row_is_left_to_transformers():
    query, key, value, mask, begins = row([4, 1], [2, 6])
    expected, _ = sdpa_attention_forward(MODULE, query, key, value, mask, scaling=0.3)
    windowed = types.SimpleNamespace(num_key_value_groups=HEADS // KEY_HEADS, is_causal=True, sliding_window=2)
    nothing = {"cu_seq_lens_q": None, "cu_seq_lens_k": None}
    for module, options in [(MODULE, {}), (windowed, begins), (MODULE, begins | {"sliding_window": 2}), (MODULE, nothing)]:
        assert torch.equal(ragged_attention(module, query, key, value, mask, scaling=0.3, **options)[0], expected)
    wide = torch.cat([value, value], dim=3)  # values wider than keys
    expected, _ = sdpa_attention_forward(MODULE, query, key, wide, mask, scaling=0.3)
    assert torch.equal(ragged_attention(MODULE, query, key, wide, mask, scaling=0.3, **begins)[0], expected)
