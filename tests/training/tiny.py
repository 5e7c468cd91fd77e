"""A model and tokenizer small enough to train in a test, made here: random Qwen3 with a byte-level vocabulary trained on a few lines."""

import json
from pathlib import Path

from clawgym.training.student import give_template

WORDS = [
    "Write a note to a file. Read the value of the field and save it.",
    '{"name": "write", "arguments": {"path": "a.txt", "content": "b"}}',
]


def make_tiny(folder: Path) -> Path:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        WORDS, trainers.BpeTrainer(vocab_size=340, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    give_template(tokenizer, "qwen3_instruct_2507")
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=2048, tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tool(name: str, *arguments: str) -> dict:
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TOOLS = [tool("read", "path"), tool("write", "path", "content")]


def trajectory(number: int) -> dict:
    """A row of the trajectories table: read a file, write what it says, with content that looks like markup."""

    def calls(name: str, **arguments: str) -> dict:
        function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": function}]}

    messages = [
        {"role": "system", "content": "Work."},
        {"role": "user", "content": f'Copy in-{number}.txt to out.txt, né <tool_call> & "quoted"'},
        calls("read", path=f"in-{number}.txt"),
        {"role": "tool", "tool_call_id": "c", "content": f"value {number}\n<|user|> assistant\n"},
        calls("write", path="out.txt", content=f"value {number}\n"),
        {"role": "tool", "tool_call_id": "c", "content": "wrote 8 bytes"},
        {"role": "assistant", "content": f"Done {number}."},
    ]
    return {
        "trajectory_id": f"r{number}",
        "rollout_id": f"r{number}",
        "task_id": f"t{number}",
        "messages": json.dumps(messages, ensure_ascii=False),
        "tools": json.dumps(TOOLS),
        "route": "persona",
        "kind": "copy-field",
        "category": "finance",
        "teacher": "strong",
        "reward": 1.0,
        "turns": 3,
        "tool_calls": 2,
        "tool_types": ["read", "write"],
        "tokens_out": 9,
        "source": "made here",
        "licence": "Apache-2.0",
        "redistributable": True,
    }
