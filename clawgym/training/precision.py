"""Which number type the machine computes fast."""

import torch


def use_bf16(setting: str) -> bool:
    """Autocast to bfloat16? `auto`: only where the hardware has it; a CPU without it emulates it several times slower than float32."""
    if setting != "auto":
        return setting == "bfloat16"
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
