"""`transformers serve` with an attention for machines without a GPU. Run as a program: the arguments are those of `transformers`.

Continuous batching puts the tokens of all requests into one row. Without FlashAttention (GPUs only), `transformers` then scores every
query against the keys of all requests and masks what is not its own: the work grows with the square of the requests in flight.
`ragged_attention` scores each request against its own keys. Same result; benchmarks/serving.py measures the gain.
"""

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS


def ragged_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Causal attention of requests that lie one after another in a row, each with its past before its new tokens.

    query: (1, heads, new tokens, width). key, value: (1, key heads, past and new tokens, width).
    options: `cu_seq_lens_q` and `cu_seq_lens_k`, (requests + 1,) integers, are where requests begin in query and key.
    Returns (1, new tokens, heads, width). Anything but plain causal attention over such a row is left to `transformers`.
    """
    begins_q, begins_k = options.get("cu_seq_lens_q"), options.get("cu_seq_lens_k")
    ragged = isinstance(begins_q, torch.Tensor) and isinstance(begins_k, torch.Tensor)
    window = getattr(module, "sliding_window", None) or options.get("sliding_window")  # models give it either way
    special = window or options.get("position_bias") is not None or options.get("softcap") is not None
    if not ragged or special or query.is_cuda or value.shape[3] != query.shape[3]:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    heads, key_heads, width = query.shape[1], key.shape[1], query.shape[3]
    result = torch.empty_like(query)
    ends_q, ends_k = begins_q.tolist(), begins_k.tolist()
    for q0, q1, k0, k1 in zip(ends_q, ends_q[1:], ends_k, ends_k[1:], strict=False):
        own_key, own_value, new = key[:, :, k0:k1], value[:, :, k0:k1], q1 - q0
        if new == 1:
            # The heads that share a key head become its queries: no key is copied.
            own = query[:, :, q0:q1].reshape(1, key_heads, heads // key_heads, width)
            part = scaled_dot_product_attention(own, own_key, own_value, scale=options.get("scaling"))
            result[:, :, q0:q1] = part.reshape(1, heads, 1, width)
        elif new:
            past = k1 - k0 - new
            mask = torch.ones(new, k1 - k0, dtype=torch.bool).tril(past) if past else None
            result[:, :, q0:q1] = scaled_dot_product_attention(
                query[:, :, q0:q1], own_key, own_value, mask, is_causal=not past, scale=options.get("scaling"), enable_gqa=True
            )
    return result.transpose(1, 2).contiguous(), None


def main() -> None:
    from transformers.cli.transformers import main as transformers

    ALL_ATTENTION_FUNCTIONS.register("sdpa", ragged_attention)
    transformers()


if __name__ == "__main__":
    main()
