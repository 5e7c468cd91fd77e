"""Loss falls on what the model said and its end of turn, token for token; joined batches train the same as separate sequences."""

import json

import pyarrow as pa
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from clawgym.errors import UserError
from clawgym.training import batches
from clawgym.training.rows import build_rows, is_eval
from clawgym.training.sft import dataset
from tests.training.tiny import trajectory


@pytest.fixture(scope="module")
def tokenizer(tiny):
    return AutoTokenizer.from_pretrained(tiny)


def spoken(row, tokenizer):
    """The decoded runs of trained tokens."""
    runs, last = [], 0
    for token, trained in zip(row["input_ids"], row["assistant_masks"], strict=True):
        if trained:
            runs = [*runs, []] if not last else runs
            runs[-1].append(token)
        last = trained
    return [tokenizer.decode(run) for run in runs]


def test_loss_tokens_are_the_models_turns_with_their_end_and_nothing_else(tokenizer):
    (row,) = build_rows([trajectory(1)], tokenizer, 1024, 0.0)
    assert spoken(row, tokenizer) == [
        '<tool_call>\n{"name": "read", "arguments": {"path": "in-1.txt"}}\n</tool_call><|im_end|>',
        '<tool_call>\n{"name": "write", "arguments": {"path": "out.txt", "content": "value 1\\n"}}\n</tool_call><|im_end|>',
        "Done 1.<|im_end|>",
    ]
    assert row["n_loss_tokens"] == sum(row["assistant_masks"]) and not row["truncated"]


def test_the_row_is_the_text_the_server_would_render(tokenizer):
    (row,) = build_rows([trajectory(1)], tokenizer, 1024, 0.0)
    source = trajectory(1)
    messages = json.loads(source["messages"])
    for message in messages:
        for call in message.get("tool_calls", []):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])  # as `transformers serve` does
    assert tokenizer.decode(row["input_ids"]) == tokenizer.apply_chat_template(messages, tools=json.loads(source["tools"]), tokenize=False)


def test_arguments_survive_a_table_without_nulls(tokenizer, tmp_path):
    """Arrow gives every struct of a column the keys of all others, filled with nulls; JSON text keeps each call's own."""
    table = pa.Table.from_pylist([trajectory(number) for number in range(3)])
    rows = build_rows(table.to_pylist(), tokenizer, 1024, 0.0)
    text = tokenizer.decode(rows[0]["input_ids"])
    assert "null" not in text and "None" not in text
    assert '{"name": "read", "arguments": {"path": "in-0.txt"}}' in text


def test_long_rows_are_cut_flagged_and_not_trained_on(tokenizer):
    whole = build_rows([trajectory(1)], tokenizer, 1024, 0.0)[0]
    long = trajectory(2) | {"messages": trajectory(2)["messages"].replace("wrote 8 bytes", "wrote 8 bytes " * 40)}
    rows = build_rows([trajectory(1), long], tokenizer, len(whole["input_ids"]), 0.0)
    assert [row["truncated"] for row in rows] == [False, True]
    assert len(rows[1]["input_ids"]) == len(whole["input_ids"]) and len(dataset(rows, "train")) == 1
    with pytest.raises(UserError, match="max_length"):
        build_rows([long], tokenizer, 64, 0.0)


def test_a_task_stays_on_its_side_of_the_evaluation_split():
    chosen = [name for name in map(str, range(2000)) if is_eval(name, 0.1)]
    assert 150 < len(chosen) < 250 and all(is_eval(name, 0.2) for name in chosen)
    assert not is_eval("x", 0.0)


def test_a_joined_batch_has_the_loss_and_gradient_of_separate_sequences(tiny, tokenizer):
    rows = build_rows([trajectory(number) for number in (1, 22, 333)], tokenizer, 1024, 0.0)
    examples = [dict(example) for example in dataset(rows, "train")]
    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float64)

    def gradient(inputs_list):
        model.zero_grad()
        for inputs in inputs_list:
            labels = inputs.pop("labels")[:, 1:]
            logits = model(**inputs).logits[:, :-1]
            torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum").backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    joined = batches.collate(examples, tokenizer.pad_token_id)
    assert joined["input_ids"].shape[0] == 1
    assert joined["input_ids"].shape[1] < 0.75 * sum(len(example["input_ids"]) for example in examples)
    separate = gradient([batches.collate([example], tokenizer.pad_token_id) for example in examples])
    torch.testing.assert_close(gradient([joined]), separate)


def test_a_batch_that_would_be_too_long_to_join_is_padded(tokenizer, monkeypatch):
    monkeypatch.setattr(batches, "MAX_JOINED", 10)
    rows = build_rows([trajectory(number) for number in (1, 22)], tokenizer, 1024, 0.0)
    padded = batches.collate([dict(example) for example in dataset(rows, "train")], tokenizer.pad_token_id)
    assert (
        padded["input_ids"].shape[0] == 2
        and (padded["attention_mask"].sum(1) == torch.tensor([len(row["input_ids"]) for row in rows])).all()
    )
    assert ((padded["labels"] != -100).sum(1) == torch.tensor([row["n_loss_tokens"] for row in rows])).all()
